"""Whatever a Parquet writer can write is mirrored as PROTOCOL §6.5 says, or refused by name.

One file a writer, with a column of each type that it has; the values that were handed to the writer
are the oracle, and the reader of the tables is neither Spark nor the writer.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import deltalake
import duckdb
import fastparquet
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pandas.errors import Pandas4Warning
from pyspark.sql import SparkSession

from openmirror.plan.decisions import Idle, Pause
from openmirror.protocol.rules import Code
from tests.harness.publishing import file_name
from tests.zone import Mirror, Zone

Column = tuple[str, str, list[Any]]
"""A name, the table's type, and the values that must be in the table, row by row."""

AT = datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=UTC)
LOCAL = AT.replace(tzinfo=None)
SECOND = AT.replace(microsecond=0)
DAY = date(1582, 10, 4)
NOON = time(12, 34, 56)
UID = UUID("01234567-89ab-cdef-0123-456789abcdef")
U64 = Decimal(2**64 - 1)
D38 = Decimal("123456789012345678901234567890.12345678")


@dataclass(frozen=True)
class Written:
    """What a writer made, and the table that must come of it."""

    data: bytes
    columns: list[Column]


def by_pyarrow(spark: SparkSession, folder: Path) -> Written:
    """Every type that Arrow can put into Parquet."""
    struct = pa.struct([("a", pa.int32()), ("b.c", pa.list_(pa.string()))])
    made: list[tuple[str, pa.Array, str, list[Any]]] = [
        ("bool", pa.array([True, None]), "boolean", [True, None]),
        ("i8", pa.array([-128, None], pa.int8()), "byte", [-128, None]),
        ("i16", pa.array([-(2**15), None], pa.int16()), "short", [-(2**15), None]),
        ("i32", pa.array([-(2**31), None], pa.int32()), "integer", [-(2**31), None]),
        ("i64", pa.array([-(2**63), None]), "long", [-(2**63), None]),
        ("u8", pa.array([2**8 - 1, None], pa.uint8()), "short", [2**8 - 1, None]),
        ("u16", pa.array([2**16 - 1, None], pa.uint16()), "integer", [2**16 - 1, None]),
        ("u32", pa.array([2**32 - 1, None], pa.uint32()), "long", [2**32 - 1, None]),
        (
            "u64",
            pa.array([2**64 - 1, 0], pa.uint64()),
            "decimal(20,0)",
            [U64, Decimal(0)],
        ),
        ("f16", pa.array([0.5, None], pa.float16()), "float", [0.5, None]),
        ("f32", pa.array([0.25, None], pa.float32()), "float", [0.25, None]),
        ("f64", pa.array([0.1, None]), "double", [0.1, None]),
        (
            "d32",
            pa.array([Decimal("1.25"), None], pa.decimal32(9, 2)),
            "decimal(9,2)",
            [Decimal("1.25"), None],
        ),
        (
            "d64",
            pa.array([Decimal("1.25"), None], pa.decimal64(18, 2)),
            "decimal(18,2)",
            [Decimal("1.25"), None],
        ),
        ("d128", pa.array([D38, None], pa.decimal128(38, 8)), "decimal(38,8)", [D38, None]),
        ("d256", pa.array([D38, None], pa.decimal256(38, 8)), "decimal(38,8)", [D38, None]),
        ("s", pa.array(["ü", None]), "string", ["ü", None]),
        ("ls", pa.array(["", None], pa.large_string()), "string", ["", None]),
        ("sv", pa.array(["view", None], pa.string_view()), "string", ["view", None]),
        ("cat", pa.array(["x", None]).dictionary_encode(), "string", ["x", None]),
        ("json", pa.array(['{"a": 1}', None], pa.json_()), "string", ['{"a": 1}', None]),
        ("bin", pa.array([b"\xff", None]), "binary", [b"\xff", None]),
        ("lb", pa.array([b"", None], pa.large_binary()), "binary", [b"", None]),
        ("bv", pa.array([b"v", None], pa.binary_view()), "binary", [b"v", None]),
        ("fixed", pa.array([b"ab", None], pa.binary(2)), "binary", [b"ab", None]),
        ("uuid", pa.array([UID.bytes, None], pa.uuid()), "string", [str(UID), None]),
        ("date", pa.array([DAY, None]), "date", [DAY, None]),
        ("date64", pa.array([DAY, None], pa.date64()), "date", [DAY, None]),
        ("t_s", pa.array([NOON, None], pa.time32("s")), "string", ["12:34:56", None]),
        ("t_ms", pa.array([NOON, None], pa.time32("ms")), "string", ["12:34:56", None]),
        ("t_us", pa.array([1, None], pa.time64("us")), "string", ["00:00:00.000001", None]),
        ("t_ns", pa.array([1000, None], pa.time64("ns")), "string", ["00:00:00.000001", None]),
        ("dur", pa.array([5, None], pa.duration("us")), "long", [5, None]),
        ("list", pa.array([[1, None], None]), "string", ["[1,null]", None]),
        ("large", pa.array([[1], None], pa.large_list(pa.int8())), "string", ["[1]", None]),
        ("two", pa.array([[1, 2], None], pa.list_(pa.int8(), 2)), "string", ["[1,2]", None]),
        (
            "struct",
            pa.array([{"a": 1, "b.c": ["x"]}, None], struct),
            "string",
            ['{"a":1,"b.c":["x"]}', None],
        ),
        (
            "map",
            pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int8())),
            "string",
            ['{"k":1}', None],
        ),
    ]
    for unit in ("s", "ms", "us", "ns"):
        for name, zone in ((f"zoned_{unit}", "Asia/Tokyo"), (f"local_{unit}", None)):
            moments = pa.array([SECOND.replace(tzinfo=None), None], pa.timestamp(unit, zone))
            made.append((name, moments, "timestamp", [SECOND, None]))
    table = pa.table({name: array for name, array, _, _ in made} | {"none": pa.nulls(2)})
    return Written(parquet(table), [(name, kind, seen) for name, _, kind, seen in made])


def parquet(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def by_pandas(spark: SparkSession, folder: Path) -> Written:
    """What a frame can hold, nanoseconds and an index without a name among it."""
    frame = pd.DataFrame(
        {
            "i": pd.array([1, None], dtype="Int16"),
            "u": np.array([1, 2], dtype="uint32"),
            "f": np.array([0.5, float("nan")], dtype="float16"),
            "d": [0.1, None],
            "b": pd.array([True, None], dtype="boolean"),
            "s": ["ü", None],
            "o": [b"\xff", None],
            "c": pd.Categorical(["x", None]),
            "ns": pd.Series([LOCAL, None], dtype="datetime64[ns]"),
            "us": pd.Series([LOCAL, None], dtype="datetime64[us]"),
            "tz": pd.Series([AT, None], dtype="datetime64[ns, Europe/Oslo]"),
            "td": pd.Series([timedelta(microseconds=5), None], dtype="timedelta64[us]"),
            "day": [DAY, None],
            "noon": [NOON, None],
            "dec": [Decimal("1.50"), None],
            "list": [[1, 2], None],
            "dict": [{"a": 1}, None],
            "month": pd.Series(pd.PeriodIndex(["2024-02", None], freq="M")),
            "between": pd.Series(pd.arrays.IntervalArray.from_tuples([(0, 1), (1, 2)])),
        }
    )
    frame.index = pd.Index([5, 7])
    sink = io.BytesIO()
    frame.to_parquet(sink)
    return Written(
        sink.getvalue(),
        [
            ("i", "short", [1, None]),
            ("u", "long", [1, 2]),
            ("f", "float", [0.5, None]),
            ("d", "double", [0.1, None]),
            ("b", "boolean", [True, None]),
            ("s", "string", ["ü", None]),
            ("o", "binary", [b"\xff", None]),
            ("c", "string", ["x", None]),
            ("ns", "timestamp", [AT, None]),
            ("us", "timestamp", [AT, None]),
            ("tz", "timestamp", [AT, None]),
            ("td", "long", [5, None]),
            ("day", "date", [DAY, None]),
            ("noon", "string", ["12:34:56", None]),
            ("dec", "decimal(3,2)", [Decimal("1.50"), None]),
            ("list", "string", ["[1,2]", None]),
            ("dict", "string", ['{"a":1}', None]),
            ("month", "long", [649, None]),
            ("between", "string", ['{"left":0,"right":1}', '{"left":1,"right":2}']),
            ("__index_level_0__", "long", [5, 7]),
        ],
    )


def _fastparquet_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "i8": np.array([-128, 127], dtype="int8"),
            "u16": np.array([0, 65535], dtype="uint16"),
            "i64": np.array([-(2**63), 2**63 - 1]),
            "f32": np.array([0.5, -0.5], dtype="float32"),
            "f64": [0.1, None],
            "b": [True, False],
            "s": ["ü", None],
            "o": [b"\xff", None],
            "c": pd.Categorical(["x", "y"]),
            "ns": pd.Series([LOCAL, None], dtype="datetime64[ns]"),
        }
    )


_FASTPARQUET: list[Column] = [
    ("i8", "byte", [-128, 127]),
    ("u16", "integer", [0, 65535]),
    ("i64", "long", [-(2**63), 2**63 - 1]),
    ("f32", "float", [0.5, -0.5]),
    ("f64", "double", [0.1, None]),
    ("b", "boolean", [True, False]),
    ("s", "string", ["ü", None]),
    ("o", "binary", [b"\xff", None]),
    ("c", "string", ["x", "y"]),
    ("ns", "timestamp", [AT, None]),
]


def by_fastparquet(spark: SparkSession, folder: Path) -> Written:
    """Its own way of the same: nanoseconds, old converted types, plain lists of its own."""
    fastparquet.write(str(folder / "f"), _fastparquet_frame(), object_encoding=_OBJECTS)
    return Written((folder / "f").read_bytes(), _FASTPARQUET)


def by_fastparquet_int96(spark: SparkSession, folder: Path) -> Written:
    """As it writes for Spark, and as .NET's writers do by default."""
    frame = _fastparquet_frame()
    fastparquet.write(str(folder / "f"), frame, times="int96", object_encoding=_OBJECTS)
    return Written((folder / "f").read_bytes(), _FASTPARQUET)


_OBJECTS = {"s": "utf8", "o": "bytes"}


def by_pandas_with_fastparquet(spark: SparkSession, folder: Path) -> Written:
    """pandas' other engine, compressed its own way."""
    frame = _fastparquet_frame().drop(columns=["o"])
    with warnings.catch_warnings():
        # pandas will give this engine up; files of it stay.
        warnings.simplefilter("ignore", Pandas4Warning)
        frame.to_parquet(folder / "f", engine="fastparquet", compression="gzip", index=False)
    return Written((folder / "f").read_bytes(), [c for c in _FASTPARQUET if c[0] != "o"])


def by_polars(spark: SparkSession, folder: Path) -> Written:
    """Its own writer in Rust; times are always nanoseconds, decimals always of 38 digits."""
    nested = pl.Struct({"a": pl.Int8, "b": pl.List(pl.Datetime("us", "UTC"))})
    shown = '{"a":1,"b":["2024-02-29T23:59:59.123456Z"]}'
    made: list[tuple[str, pl.Series, str, list[Any]]] = [
        ("i8", pl.Series([-128, None], dtype=pl.Int8), "byte", [-128, None]),
        ("i64", pl.Series([-(2**63), None], dtype=pl.Int64), "long", [-(2**63), None]),
        ("u32", pl.Series([2**32 - 1, None], dtype=pl.UInt32), "long", [2**32 - 1, None]),
        ("u64", pl.Series([2**64 - 1, None], dtype=pl.UInt64), "decimal(20,0)", [U64, None]),
        ("f32", pl.Series([0.5, None], dtype=pl.Float32), "float", [0.5, None]),
        ("f64", pl.Series([0.1, None]), "double", [0.1, None]),
        ("b", pl.Series([True, None]), "boolean", [True, None]),
        ("s", pl.Series(["ü", None]), "string", ["ü", None]),
        ("cat", pl.Series(["x", None], dtype=pl.Categorical), "string", ["x", None]),
        ("enum", pl.Series(["x", None], dtype=pl.Enum(["x"])), "string", ["x", None]),
        ("bin", pl.Series([b"\xff", None]), "binary", [b"\xff", None]),
        ("dec", pl.Series([Decimal("1.50"), None]), "decimal(38,2)", [Decimal("1.50"), None]),
        ("day", pl.Series([DAY, None]), "date", [DAY, None]),
        ("t", pl.Series([NOON, None]), "string", ["12:34:56", None]),
        ("ms", pl.Series([SECOND, None], dtype=pl.Datetime("ms", "UTC")), "timestamp",
         [SECOND, None]),
        ("us", pl.Series([LOCAL, None], dtype=pl.Datetime("us")), "timestamp", [AT, None]),
        ("ns", pl.Series([LOCAL, None], dtype=pl.Datetime("ns")), "timestamp", [AT, None]),
        ("dur", pl.Series([timedelta(seconds=1), None], dtype=pl.Duration("us")), "long",
         [1_000_000, None]),
        ("list", pl.Series([[1, None], None], dtype=pl.List(pl.Int64)), "string",
         ["[1,null]", None]),
        ("arr", pl.Series([[1, 2], None], dtype=pl.Array(pl.Int8, 2)), "string", ["[1,2]", None]),
        ("st", pl.Series([{"a": 1, "b": [AT]}, {"a": None, "b": None}], dtype=nested), "string",
         [shown, '{"a":null,"b":null}']),
    ]  # fmt: skip
    frame = pl.DataFrame({name: series for name, series, _, _ in made} | {"none": [None, None]})
    sink = io.BytesIO()
    frame.write_parquet(sink)
    return Written(sink.getvalue(), [(name, kind, seen) for name, _, kind, seen in made])


def by_duckdb(spark: SparkSession, folder: Path) -> Written:
    """Every type of its SQL that a column can have, in one row and one of NULLs."""
    made: list[tuple[str, str, str, Any]] = [
        ("b", "true", "boolean", True),
        ("i8", "(-128)::TINYINT", "byte", -128),
        ("i16", "1::SMALLINT", "short", 1),
        ("i32", "1::INTEGER", "integer", 1),
        ("i64", "1::BIGINT", "long", 1),
        ("u8", "255::UTINYINT", "short", 255),
        ("u16", "65535::USMALLINT", "integer", 65535),
        ("u32", "4294967295::UINTEGER", "long", 2**32 - 1),
        ("u64", "18446744073709551615::UBIGINT", "decimal(20,0)", U64),
        ("huge", "5::HUGEINT", "double", 5.0),
        ("f", "0.5::FLOAT", "float", 0.5),
        ("d", "0.1::DOUBLE", "double", 0.1),
        ("d4", "1.2::DECIMAL(4,1)", "decimal(4,1)", Decimal("1.2")),
        ("d18", "1.2::DECIMAL(18,1)", "decimal(18,1)", Decimal("1.2")),
        ("d38", f"{D38}::DECIMAL(38,8)", "decimal(38,8)", D38),
        ("s", "'ü'", "string", "ü"),
        ("e", "'x'::ENUM('x')", "string", "x"),
        ("bit", "'101'::BIT", "string", "101"),
        ("blob", "'\\xFF'::BLOB", "binary", b"\xff"),
        ("u", f"'{UID}'::UUID", "string", str(UID)),
        ("j", '\'{"a": 1}\'::JSON', "string", '{"a": 1}'),
        ("day", "'2024-02-29'::DATE", "date", date(2024, 2, 29)),
        ("t", "'12:34:56.5'::TIME", "string", "12:34:56.500000"),
        ("ttz", "'14:34:56+02'::TIMETZ", "string", "12:34:56"),
        ("tns", "'12:34:56'::TIME_NS", "string", "12:34:56"),
        ("ts", "'2024-02-29 23:59:59.123456'::TIMESTAMP", "timestamp", AT),
        ("tz", "'2024-02-29 23:59:59.123456+00'::TIMESTAMPTZ", "timestamp", AT),
        ("sec", "'2024-02-29 23:59:59'::TIMESTAMP_S", "timestamp", SECOND),
        ("ms", "'2024-02-29 23:59:59'::TIMESTAMP_MS", "timestamp", SECOND),
        ("ns", "'2024-02-29 23:59:59.123456'::TIMESTAMP_NS", "timestamp", AT),
        ("l", "[1, NULL]", "string", "[1,null]"),
        ("arr", "[1, 2]::INTEGER[2]", "string", "[1,2]"),
        ("st", "{'a': 1, 'b': [DATE '2024-02-29']}", "string", '{"a":1,"b":["2024-02-29"]}'),
        ("m", "MAP {'k': 1.5::DECIMAL(3,1)}", "string", '{"k":1.5}'),
        ("g", "'POINT(1 2)'::GEOMETRY", "binary", bytes.fromhex(
            "0101000000000000000000f03f0000000000000040")),
    ]  # fmt: skip
    values = ", ".join(f"{sql} AS {name}" for name, sql, _, _ in made)
    # A NULL of its fixed arrays it writes as a list that is longer than its items: pyarrow refuses.
    nulls = ", ".join(
        f"CASE WHEN {name == 'arr'!s} THEN {name} END AS {name}" for name, _, _, _ in made
    )
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (WITH one AS (SELECT {values}) FROM one UNION ALL SELECT {nulls} FROM one) "
            f"TO '{folder / 'f'}' (FORMAT parquet)"
        )
    columns = [(n, kind, [seen, seen if n == "arr" else None]) for n, _, kind, seen in made]
    return Written((folder / "f").read_bytes(), columns)


def by_spark(spark: SparkSession, folder: Path) -> Written:
    """parquet-mr, as Spark drives it: INT96 for timestamps, and lists in three levels."""
    made: list[tuple[str, str, str, Any]] = [
        ("b", "true", "boolean", True),
        ("i8", "1Y", "byte", 1),
        ("i16", "1S", "short", 1),
        ("i32", "1", "integer", 1),
        ("i64", "1L", "long", 1),
        ("f", "0.5F", "float", 0.5),
        ("d", "0.1D", "double", 0.1),
        ("dec", f"CAST('{D38}' AS DECIMAL(38,8))", "decimal(38,8)", D38),
        ("s", "'ü'", "string", "ü"),
        ("bin", "X'ff'", "binary", b"\xff"),
        ("day", "DATE '1582-10-04'", "date", DAY),
        ("ts", "TIMESTAMP '2024-02-29 23:59:59.123456'", "timestamp", AT),
        ("ntz", "TIMESTAMP_NTZ '2024-02-29 23:59:59.123456'", "timestamp", AT),
        ("l", "array(1, 2)", "string", "[1,2]"),
        ("st", "named_struct('a', 1, 'b', TIMESTAMP '2024-02-29 23:59:59')", "string",
         '{"a":1,"b":"2024-02-29T23:59:59Z"}'),
        ("m", "map('k', array(1.5))", "string", '{"k":[1.5]}'),
    ]  # fmt: skip
    sql = ", ".join(f"{sql} AS {name}" for name, sql, _, _ in made)
    spark.sql(f"SELECT {sql}").coalesce(1).write.parquet(str(folder / "f"))
    [file] = (folder / "f").glob("*.parquet")
    return Written(file.read_bytes(), [(name, kind, [seen]) for name, _, kind, seen in made])


WRITERS: list[Callable[[SparkSession, Path], Written]] = [
    by_pyarrow,
    by_pandas,
    by_pandas_with_fastparquet,
    by_fastparquet,
    by_fastparquet_int96,
    by_polars,
    by_duckdb,
    by_spark,
]


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.__name__)
def test_all_that_a_writer_writes_is_in_the_table(
    mirror: Mirror, zone: Zone, spark: SparkSession, tmp_path: Path, writer: Any
) -> None:
    written = writer(spark, tmp_path)
    zone.put_bytes("t", file_name(1), written.data)
    assert isinstance(decision := mirror.reconcile_until_idle("t"), Idle), decision
    fields = deltalake.DeltaTable(str(mirror.delta_path("t"))).schema().fields
    kinds = {field.name: field.type.type.replace(" ", "") for field in fields}
    assert kinds == {name: kind for name, kind, _ in written.columns}
    rows = mirror.rows("t")
    for name, _, values in written.columns:
        assert sorted(map(repr, values)) == sorted(repr(_same(row[name])) for row in rows), name


def _same(value: Any) -> Any:
    """The same value in the words of this file."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def test_int96_is_cut_to_microseconds_whoever_reads_it(mirror: Mirror, zone: Zone) -> None:
    """.NET counts in 100 ns, and INT96 has nothing to say how much of that is meant."""
    ticks = pa.array([1_709_251_199_123_456_700], pa.timestamp("ns"))
    for number, more in ((1, {}), (2, {"l": pa.array([[1]])})):
        data = parquet(pa.table({"t": ticks, **more}), use_deprecated_int96_timestamps=True)
        zone.put_bytes("t", file_name(number), data)
    assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    assert [row["t"] for row in mirror.rows("t")] == [AT, AT]


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("INTERVAL 3 DAY", "Interval"),
        ("{'a': 1}::VARIANT", "Variant"),
        ("[INTERVAL 3 DAY]", "Interval"),
    ],
)
def test_what_has_no_column_type_is_refused_by_name(
    mirror: Mirror, zone: Zone, tmp_path: Path, sql: str, named: str
) -> None:
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT 1 AS id, {sql} AS x) TO '{tmp_path / 'f'}' (FORMAT parquet)"
        )
    zone.put_bytes("t", file_name(1), (tmp_path / "f").read_bytes())
    decision = mirror.reconcile_until_idle("t")
    assert isinstance(decision, Pause)
    assert decision.problem.code is Code.COLUMN_TYPE_UNSUPPORTED
    assert "'x'" in decision.problem.detail
    assert named in decision.problem.detail
