"""Data files are read where they say what they are, and written so that nobody misreads them."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from openmirror.columnar.data_files import NotForHere, read_data_file, write_data_file
from openmirror.columnar.statistics import Statistics
from openmirror.ports.new_files import Codec
from openmirror.protocol.schema import Column, ColumnType, TableSchema

KINDS = ("long", "string", "date", "timestamp", "timestamp_ntz", "decimal(9,2)", "double")
SCHEMA = TableSchema(tuple(Column(f"a {kind}", ColumnType(kind)) for kind in KINDS))
MOST = 1 << 20
OF_SPARK = {"org.apache.spark.version": "4.2.0"}
FOLDER_GOES = "gone"


def of_spark(path: Path, table: pa.Table, about: dict[str, str], **options: Any) -> Path:
    with pq.ParquetWriter(path, table.schema, store_schema=False, **options) as to:
        to.write_table(table)
        to.add_key_value_metadata(about)
    return path


def column(kind: str, *values: Any) -> TableSchema:
    return TableSchema((Column("v", ColumnType(kind)),))


@pytest.mark.parametrize("codec", list(Codec))
def test_what_is_written_is_read_again(tmp_path: Path, codec: Codec) -> None:
    rows = pa.table(
        {
            "c0": pa.array([1, None], pa.int64()),
            "c1": pa.array(["a", None]),
            "c2": pa.array([date(1, 1, 1), None]),
            "c3": pa.array([datetime(1500, 1, 1, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
            "c4": pa.array([datetime(9999, 12, 31), None], pa.timestamp("us")),  # noqa: DTZ001
            "c5": pa.array([None, None], pa.decimal128(9, 2)),
            "c6": pa.array([float("nan"), -0.0]),
        }
    )
    new = write_data_file(rows, SCHEMA, codec, tmp_path / "f.parquet")
    assert (new.rows, new.bytes) == (2, (tmp_path / "f.parquet").stat().st_size)
    found = read_data_file(tmp_path / "f.parquet", SCHEMA, MOST)
    assert str(found.to_pydict()) == str(rows.to_pydict())


@pytest.mark.parametrize("kind", ["double", "float"])
def test_a_file_has_no_bounds_of_numbers_among_which_nan_may_be(tmp_path: Path, kind: str) -> None:
    """NaN is the largest number to Spark, and Arrow leaves it out of the bounds in a footer."""
    schema = TableSchema((Column("n.v", ColumnType(kind)), Column("id", ColumnType("long"))))
    values = pa.array([1.0, float("nan")], pa.float64() if kind == "double" else pa.float32())
    rows = pa.table({"c0": values, "c1": pa.array([1, 2], pa.int64())})
    write_data_file(rows, schema, Codec.SNAPPY, tmp_path / "f")
    of_value, of_id = (pq.read_metadata(tmp_path / "f").row_group(0).column(at) for at in (0, 1))
    assert of_value.statistics is None
    assert (of_id.statistics.min, of_id.statistics.max) == (1, 2)
    alone = TableSchema(schema.columns[:1])
    write_data_file(rows.select(["c0"]), alone, Codec.SNAPPY, tmp_path / "g")
    assert pq.read_metadata(tmp_path / "g").row_group(0).column(0).statistics is None


def test_of_no_rows_there_is_no_file(tmp_path: Path) -> None:
    rows = pa.table({f"c{at}": pa.array([]) for at in range(len(KINDS))})
    assert write_data_file(rows, SCHEMA, Codec.SNAPPY, tmp_path / "f.parquet").rows == 0
    assert not list(tmp_path.iterdir())


def test_a_folder_that_has_gone_is_not_made(tmp_path: Path) -> None:
    rows = pa.table({"c0": [1]})
    with pytest.raises(FileNotFoundError):
        write_data_file(rows, column("long"), Codec.SNAPPY, tmp_path / FOLDER_GOES / "f.parquet")
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_finished_is_not_left(tmp_path: Path, full: Any) -> None:
    with pytest.raises(OSError, match="No space left"):
        write_data_file(pa.table({"c0": [1]}), column("long"), Codec.SNAPPY, tmp_path / "f.parquet")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "add_key_value_metadata", write)


@pytest.mark.parametrize(
    ("about", "is_read"),
    [
        (OF_SPARK, True),
        ({"org.apache.spark.version": "3.1.0"}, True),
        # Times of INT96 were counted by the other calendar until then, and days until 3.0.
        ({"org.apache.spark.version": "3.0.3"}, False),
        ({"org.apache.spark.version": "2.4.8"}, False),
        ({}, False),
        (OF_SPARK | {"org.apache.spark.legacyDateTime": ""}, False),
        (OF_SPARK | {"org.apache.spark.legacyINT96": ""}, False),
    ],
)
def test_only_files_that_count_days_as_we_do_are_read(
    tmp_path: Path, about: dict[str, str], is_read: bool
) -> None:
    path = of_spark(tmp_path / "f.parquet", pa.table({"v": [date(1500, 1, 1)]}), about)
    if is_read:
        assert read_data_file(path, column("date"), MOST).to_pydict() == {"c0": [date(1500, 1, 1)]}
    else:
        with pytest.raises(NotForHere):
            read_data_file(path, column("date"), MOST)


def test_a_time_of_int96_is_the_time_that_spark_wrote(tmp_path: Path) -> None:
    times = [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)]
    table = pa.table({"v": pa.array(times[1:], pa.timestamp("us", "UTC"))})
    path = of_spark(
        tmp_path / "f.parquet", table.slice(0, 0), OF_SPARK, use_deprecated_int96_timestamps=True
    )
    assert read_data_file(path, column("timestamp"), MOST).num_rows == 0
    near = pa.table({"v": pa.array([datetime(2026, 1, 1, 0, 0, 0, 1, UTC)], pa.timestamp("us"))})
    path = of_spark(path, near, OF_SPARK, use_deprecated_int96_timestamps=True)
    found = read_data_file(path, column("timestamp"), MOST).to_pydict()
    assert found == {"c0": [datetime(2026, 1, 1, 0, 0, 0, 1, UTC)]}


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"V": [1]}),
        pa.table({"v": [1], "more": [1]}),
        pa.table({"v": pa.array([1], pa.int32())}),
        pa.table({"v": [[1]]}),
        pa.table({"v": ["x" * MOST]}),
    ],
    ids=["another case", "another column", "another type", "nested", "large"],
)
def test_what_is_more_or_other_than_the_table_has_is_left_to_spark(
    tmp_path: Path, table: pa.Table
) -> None:
    path = of_spark(tmp_path / "f.parquet", table, OF_SPARK)
    kind = "string" if table.schema[0].type == pa.string() else "long"
    with pytest.raises(NotForHere):
        read_data_file(path, column(kind), MOST)


def test_a_column_that_came_later_is_null(tmp_path: Path) -> None:
    path = of_spark(tmp_path / "f.parquet", pa.table({"w": [1]}), OF_SPARK)
    schema = TableSchema((Column("v", ColumnType("string")), Column("w", ColumnType("long"))))
    assert read_data_file(path, schema, MOST).to_pydict() == {"c0": [None], "c1": [1]}


def of(values: list[Any], kind: pa.DataType) -> tuple[Any, Any]:
    rows = pa.table({"v": pa.array(values, kind)})
    whole, parts = Statistics(), Statistics()
    whole.add(rows)
    for at in range(len(rows)):
        parts.add(rows.slice(at, 1))
    assert parts.as_json() == whole.as_json()
    found = json.loads(whole.as_json())
    return found["minValues"].get("v"), found["maxValues"].get("v")


def not_text(*values: bytes) -> pa.Array:
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values, pa.binary()).buffers())


@pytest.mark.parametrize(
    ("values", "kind", "least", "most"),
    [
        ([3, None, -1], pa.int64(), -1, 3),
        ([None], pa.int64(), None, None),
        ([1.5], pa.float64(), None, None),
        ([True], pa.bool_(), None, None),
        ([b"a"], pa.binary(), None, None),
        (["b", "a"], pa.string(), "a", "b"),
        (["", "a" * 32], pa.string(), "", "a" * 32),
        (["b" * 33, "a" * 33], pa.string(), "a" * 32, None),
        ([date(1, 1, 1), date(9999, 12, 31)], pa.date32(), "0001-01-01", "9999-12-31"),
        ([-800_000], pa.date32(), None, None),
        ([1_999, 2_001], pa.timestamp("us", "UTC"), "1970-01-01T00:00:00.001Z",
         "1970-01-01T00:00:00.003Z"),
        ([-1], pa.timestamp("us", "UTC"), "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z"),
        ([1_500], pa.timestamp("us"), "1970-01-01T00:00:00.001", "1970-01-01T00:00:00.002"),
        ([253_402_300_799_999_999], pa.timestamp("us", "UTC"), "9999-12-31T23:59:59.999Z", None),
        ([1 << 62], pa.timestamp("us", "UTC"), None, None),
    ],
)  # fmt: skip
def test_a_bound_is_never_narrower_than_the_values(
    values: list[Any], kind: pa.DataType, least: Any, most: Any
) -> None:
    assert of(values, kind) == (least, most)


def test_text_that_is_none_has_no_bound(tmp_path: Path) -> None:
    rows = pa.table({"c0": not_text(b"a", b"\xff")})
    new = write_data_file(rows, column("string"), Codec.SNAPPY, tmp_path / "f.parquet")
    found = json.loads(new.statistics)
    assert (found["minValues"], found["maxValues"], found["nullCount"]) == (
        {"v": "a"}, {}, {"v": 0}
    )  # fmt: skip


def test_statistics_are_kept_of_the_first_columns_alone() -> None:
    kept = Statistics()
    kept.add(pa.table({f"v.{at}": [at] for at in range(40)}))
    found = json.loads(kept.as_json())
    assert list(found["nullCount"]) == [f"v.{at}" for at in range(32)]
    assert list(found["maxValues"]) == list(found["nullCount"])
    assert found["numRecords"] == 1
