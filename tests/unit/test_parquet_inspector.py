"""A change file's shape is read from its head and footer, and never wrongly called complete."""

from __future__ import annotations

import gzip
import io
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmirror.errors import ConditionFailed
from openmirror.formats.parquet.inspecting import ParquetInspector
from openmirror.plan.facts import Completeness, FileFacts
from openmirror.ports import Content, Entry
from openmirror.protocol.names import ETag
from openmirror.protocol.rules import Code
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import StorePath
from tests.harness.publishing import encoded

PATH = StorePath("landing/m/Files/LandingZone/T/00000000000000000001.parquet")


def one(array: pa.Array, **options: object) -> bytes:
    return encoded(pa.table({"x": array}), **options)


class OneFile:
    """A store of one file; says what was read, and may change its ETag while it is read."""

    def __init__(self, data: bytes, etags: tuple[str, ...] = ("e1",)) -> None:
        self.data = data
        self.etags = list(etags)
        self.reads: list[int] = []

    def read(self, path: StorePath, offset: int = 0, length: int | None = None) -> Content:
        assert path == PATH
        etag = self.etags.pop(0) if len(self.etags) > 1 else self.etags[0]
        data = self.data[offset:][:length]
        self.reads.append(len(data))
        return Content(data, ETag(etag), len(self.data))


def entry(data: bytes, etag: str = "e1") -> Entry:
    return Entry("f", False, len(data), datetime(2026, 1, 1, tzinfo=UTC), ETag(etag))


def inspect(data: bytes) -> FileFacts:
    return ParquetInspector(OneFile(data)).inspect(PATH, entry(data))  # type: ignore[arg-type]


GOOD = encoded(pa.table({"id": [1, 2, 3], "__rowMarker__": [0, 1, 2]}))
DICTIONARY = pa.array(["a", "b"]).dictionary_encode()


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (pa.array([True]), "boolean"),
        (pa.array([1], pa.int8()), "byte"),
        (pa.array([1], pa.int16()), "short"),
        (pa.array([1], pa.int32()), "integer"),
        (pa.array([1], pa.int64()), "long"),
        # Unsigned ones need one size more.
        (pa.array([1], pa.uint8()), "short"),
        (pa.array([1], pa.uint16()), "integer"),
        (pa.array([1], pa.uint32()), "long"),
        (pa.array([1], pa.uint64()), "decimal(20,0)"),
        (pa.array([1.5], pa.float32()), "float"),
        (pa.array([1.5], pa.float64()), "double"),
        (pa.array(["a"]), "string"),
        (pa.array(["a"], pa.large_string()), "string"),
        (pa.array(["a"], pa.string_view()), "string"),
        (pa.array(['{"a":1}'], pa.json_()), "string"),
        (pa.array([b"a"]), "binary"),
        (pa.array([b"a"], pa.large_binary()), "binary"),
        (pa.array([b"ab"], pa.binary(2)), "binary"),
        (pa.array([1], pa.date32()), "date"),
        (pa.array([86_400_000], pa.date64()), "date"),  # Parquet has one kind of date
        (pa.array([1], pa.timestamp("ms")), "timestamp_ntz"),
        (pa.array([1], pa.timestamp("us")), "timestamp_ntz"),  # what it becomes is policy
        (pa.array([1], pa.timestamp("us", "Europe/Vienna")), "timestamp"),
        (pa.array([1], pa.timestamp("s")), "timestamp_ntz"),  # written as milliseconds
        (pa.array([1], pa.decimal128(38, 10)), "decimal(38,10)"),
        (pa.array([1], pa.decimal128(29, 0)), "decimal(29,0)"),  # a publisher's real column
        (pa.array([1], pa.decimal32(5, 2)), "decimal(5,2)"),
        (DICTIONARY, "string"),  # Arrow's dictionary is only an encoding of the file
        (pa.array([1], pa.duration("us")), "long"),  # only Arrow's own schema knows a duration
    ],
)
def test_a_supported_type_becomes_the_tables_type(array: pa.Array, kind: str) -> None:
    facts = inspect(one(array))
    assert (facts.broken, facts.needs_conversion) == (None, False)
    assert [(c.name, c.type) for c in facts.schema.columns] == [("x", kind)]


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (pa.array([1], pa.timestamp("ns")), "timestamp_ntz"),
        (pa.array([1], pa.timestamp("ns", "Asia/Tokyo")), "timestamp"),
        (pa.array([1], pa.time32("ms")), "string"),
        (pa.array([1], pa.time64("us")), "string"),
        (pa.array([1], pa.time64("ns")), "string"),
        (pa.array([np.float16(1)]), "float"),
        (pa.array([b"0" * 16], pa.uuid()), "string"),
        (pa.array([[1]]), "string"),
        (pa.array([{"a": [[1]], "b": None}]), "string"),
        (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "string"),
        (pa.array([{"a": 1}], pa.struct([("a", pa.decimal256(50, 2))])), "string"),
    ],
)
def test_a_type_that_spark_refuses_is_converted(array: pa.Array, kind: str) -> None:
    facts = inspect(one(array))
    assert (facts.broken, facts.needs_conversion) == (None, True)
    assert [(c.name, c.type) for c in facts.schema.columns] == [("x", kind)]


def test_a_nested_column_may_have_any_name() -> None:
    facts = inspect(encoded(pa.table({"a.b": [{"c.d": 1, "e": [2]}], "a": [1], " ": [[1]]})))
    assert facts.schema.names == ("a.b", "a", " ")


def test_int96_is_a_timestamp() -> None:
    data = one(pa.array([1], pa.timestamp("ns")), use_deprecated_int96_timestamps=True)
    assert inspect(data).schema.columns[0].type == "timestamp"


def test_a_decimal_in_an_integer_is_a_decimal() -> None:
    data = one(pa.array([1], pa.decimal128(9, 2)), store_decimal_as_integer=True)
    assert inspect(data).schema.columns[0].type == "decimal(9,2)"


@pytest.mark.parametrize(
    ("array", "word"),
    [
        (pa.array([1], pa.decimal256(50, 2)), "Decimal"),  # Spark ends at 38 digits
    ],
)
def test_an_unsupported_type_is_named_with_its_column(array: pa.Array, word: str) -> None:
    facts = inspect(one(array))
    assert facts.completeness is Completeness.COMPLETE
    assert facts.broken is not None
    assert facts.broken.code is Code.COLUMN_TYPE_UNSUPPORTED
    assert "'x'" in facts.broken.detail
    assert word in facts.broken.detail


def test_null_typed_columns_are_left_out() -> None:
    facts = inspect(encoded(pa.table({"a": [1], "b": pa.nulls(1)})))
    assert facts.schema.names == ("a",)
    assert facts.broken is None


def test_columns_keep_the_order_of_the_file_and_their_dots() -> None:
    assert inspect(encoded(pa.table({"b.c": [1], "a": [1]}))).schema.names == ("b.c", "a")


def test_a_frame_of_pandas_is_read_by_its_file_types() -> None:
    frame = pd.DataFrame(
        {"c": pd.Categorical(["u"]), "d": pd.to_timedelta([1], unit="s"), "n": [None], "s": ["t"]}
    )
    buffer = io.BytesIO()
    # Pandas' own durations are nanoseconds, which only its Arrow schema says.
    frame.to_parquet(buffer, index=False)
    types = {c.name: c.type for c in inspect(buffer.getvalue()).schema.columns}
    assert types == {"c": "string", "d": "long", "s": "string"}


def test_a_file_without_rows_is_complete() -> None:
    facts = inspect(encoded(pa.table({"a": pa.array([], pa.int64())})))
    assert (facts.completeness, facts.rows) == (Completeness.COMPLETE, 0)
    assert facts.schema.names == ("a",)


@pytest.mark.parametrize(
    ("options", "is_for_spark"),
    [
        ({"column_encoding": {"v": "BYTE_STREAM_SPLIT"}}, False),
        ({"column_encoding": {"v": "DELTA_BINARY_PACKED"}}, True),
        *(
            ({"compression": codec}, codec != "brotli")
            for codec in ("none", "snappy", "gzip", "lz4", "zstd", "brotli")
        ),
    ],
)
def test_what_spark_cannot_decode_is_converted(
    options: dict[str, Any], *, is_for_spark: bool
) -> None:
    table = pa.table({"v": list(range(100))})
    facts = inspect(encoded(table, use_dictionary=False, data_page_version="2.0", **options))
    assert facts.needs_conversion is not is_for_spark
    assert (facts.rows, facts.broken) == (100, None)


@pytest.mark.parametrize("name", ["__rowMarker__", "__ROWMARKER__"])
@pytest.mark.parametrize(
    ("kind", "of_table"),
    [
        (pa.int8(), "byte"),
        (pa.int64(), "long"),
        (pa.uint64(), "decimal(20,0)"),  # an integer, though tables have none so wide
        (pa.string(), "string"),
        (pa.float64(), "double"),  # whether it is whole, each row shows
        (pa.decimal128(19, 0), "decimal(19,0)"),
    ],
)
def test_a_row_marker_is_found_in_any_casing_and_is_no_data(
    name: str, kind: pa.DataType, of_table: str
) -> None:
    facts = inspect(encoded(pa.table({"a": [1], name: pa.array([1], pa.int64()).cast(kind)})))
    assert (facts.marker, facts.marker_type, facts.broken) == (name, of_table, None)
    assert facts.schema.names == ("a",)


@pytest.mark.parametrize(
    ("array", "word"),
    [
        (pa.array([True]), "BOOLEAN"),
        (pa.array([1], pa.date32()), "Date"),
        (pa.array([1], pa.decimal256(39, 0)), "Decimal"),
        (pa.array([b"1"]), "BYTE_ARRAY"),
        (pa.array([[1]]), "nested"),
        (pa.nulls(1), "all NULL"),
    ],
)
def test_a_row_marker_of_another_type_is_a_problem(array: pa.Array, word: str) -> None:
    broken = inspect(encoded(pa.table({"a": [1], "__rowMarker__": array}))).broken
    assert broken is not None
    assert broken.code is Code.ROW_MARKER_INVALID
    assert word in broken.detail


def test_a_null_typed_row_marker_without_rows_is_no_marker() -> None:
    facts = inspect(
        encoded(pa.table({"a": pa.array([], pa.int64()), "__rowMarker__": pa.nulls(0)}))
    )
    assert (facts.marker, facts.broken) == (None, None)


@pytest.mark.parametrize(
    "names",
    [
        ("Id", "ID"),
        ("id", "id"),
        ("a", "a"),  # Python keeps one object of a name this short
        ("__rowMarker__", "__ROWMARKER__"),
    ],
)
def test_names_that_differ_in_nothing_but_case_are_a_problem(names: tuple[str, str]) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([1])], names=list(names))
    broken = inspect(encoded(table)).broken
    assert broken is not None
    assert broken.code is Code.COLUMNS_DUPLICATE


def test_a_column_without_a_name_is_a_problem() -> None:
    broken = inspect(encoded(pa.table({"a": [1], "": [2]}))).broken
    assert broken is not None
    assert (broken.code, broken.detail) == (Code.FILE_UNREADABLE, "column 2 has no name")


LONG_FOOTER = b"PAR1" + b"x" * 40 + (2**31).to_bytes(4, "little") + b"PAR1"


@pytest.mark.parametrize(
    ("data", "completeness", "word"),
    [
        (b"", Completeness.INCOMPLETE, "empty"),
        (b"PA", Completeness.INCOMPLETE, "upload"),  # may still become PAR1
        (b"PAR1", Completeness.INCOMPLETE, "upload"),  # head and tail are the same four bytes
        (b"PAR1abcPAR1", Completeness.INCOMPLETE, "upload"),  # too short for a footer
        (GOOD[:-1], Completeness.INCOMPLETE, "upload"),
        (GOOD[:-8], Completeness.INCOMPLETE, "upload"),
        (b"x", Completeness.BROKEN, "text: 'x'"),
        (b"\xef\xbb\xbfid,name\r\n1,a\r\n", Completeness.BROKEN, "CSV: 'id,name'"),
        (b'{"id": 1}\n', Completeness.BROKEN, "JSON"),
        (("ä" * 31 + "aä" * 20).encode(), Completeness.BROKEN, "text"),  # cut within a character
        (gzip.compress(GOOD), Completeness.BROKEN, "gzip"),
        (b"PK\x03\x04rest", Completeness.BROKEN, "zip"),
        (bytes(500), Completeness.BROKEN, "00 00 00"),
        (b"\xff\xfe\x00\x01" * 20, Completeness.BROKEN, "ff fe"),
        (b"PARE" + b"x" * 100 + b"PARE", Completeness.BROKEN, "encrypted"),
        (LONG_FOOTER, Completeness.BROKEN, "longer than the file"),
        (b"PAR1" + b"x" * 40 + b"\x08\0\0\0PAR1", Completeness.BROKEN, "cannot be read"),
    ],
)
def test_a_file_that_is_not_complete_says_why(
    data: bytes, completeness: Completeness, word: str
) -> None:
    facts = inspect(data)
    assert facts.completeness is completeness
    assert word in facts.reason


def test_no_truncated_file_is_complete() -> None:
    for length in range(len(GOOD)):
        assert inspect(GOOD[:length]).completeness is not Completeness.COMPLETE, length


@given(st.binary(max_size=200), st.sampled_from([b"", b"PAR1"]), st.sampled_from([b"", b"PAR1"]))
def test_no_bytes_make_it_raise(data: bytes, head: bytes, tail: bytes) -> None:
    inspect(head + data + tail)


@given(st.integers(min_value=4, max_value=len(GOOD) - 9), st.integers(min_value=0, max_value=255))
@settings(max_examples=500, deadline=None)  # a busy machine is no damage
def test_no_damaged_byte_makes_it_raise(at: int, value: int) -> None:
    inspect(GOOD[:at] + bytes([value]) + GOOD[at + 1 :])


LARGE = one(pa.array(np.random.default_rng(1).integers(0, 2**60, 50_000)))


def test_a_small_file_costs_one_read() -> None:
    store = OneFile(GOOD)
    assert ParquetInspector(store).inspect(PATH, entry(GOOD)).rows == 3  # type: ignore[arg-type]
    assert store.reads == [len(GOOD)]


@pytest.mark.parametrize(("known", "becomes"), [(GOOD, LARGE), (LARGE, GOOD)])
def test_a_file_of_another_size_than_was_listed_is_read_as_it_is(
    known: bytes, becomes: bytes
) -> None:
    store = OneFile(becomes, etags=("e2",))
    facts = ParquetInspector(store).inspect(PATH, entry(known))  # type: ignore[arg-type]
    assert (facts.completeness, facts.etag) == (Completeness.COMPLETE, "e2")


def test_a_large_file_costs_its_head_and_its_footer() -> None:
    data = one(pa.array(np.random.default_rng(1).integers(0, 2**60, 500_000)))
    store = OneFile(data)
    facts = ParquetInspector(store).inspect(PATH, entry(data))  # type: ignore[arg-type]
    assert facts.rows == 500_000
    assert len(data) > 3_000_000
    assert sum(store.reads) < 70_000
    assert len(store.reads) == 2


def test_a_footer_longer_than_the_first_guess_is_read_whole() -> None:
    data = encoded(pa.table({f"column_{i}": [i] for i in range(500)}))
    assert len(inspect(data).schema.columns) == 500


def test_a_file_that_changes_once_is_read_again() -> None:
    store = OneFile(LARGE, etags=("e1", "e2", "e3"))
    facts = ParquetInspector(store).inspect(PATH, entry(LARGE))  # type: ignore[arg-type]
    assert (facts.completeness, facts.etag) == (Completeness.COMPLETE, "e3")


def test_a_file_that_keeps_changing_is_a_lost_race() -> None:
    store = OneFile(LARGE, etags=("e1", "e2", "e3", "e4"))
    with pytest.raises(ConditionFailed):
        ParquetInspector(store).inspect(PATH, entry(LARGE))  # type: ignore[arg-type]


def test_a_complete_file_is_read_once() -> None:
    store = OneFile(GOOD)
    inspector = ParquetInspector(store)  # type: ignore[arg-type]
    first = inspector.inspect(PATH, entry(GOOD))
    reads = len(store.reads)
    assert inspector.inspect(PATH, entry(GOOD)) is first
    assert len(store.reads) == reads


def test_an_unfinished_file_is_read_again_under_the_same_etag() -> None:
    store = OneFile(GOOD[:-1])
    inspector = ParquetInspector(store)  # type: ignore[arg-type]
    assert inspector.inspect(PATH, entry(GOOD)).completeness is Completeness.INCOMPLETE
    store.data = GOOD
    assert inspector.inspect(PATH, entry(GOOD)).completeness is Completeness.COMPLETE


def test_only_so_many_files_are_remembered() -> None:
    store = OneFile(GOOD)
    inspector = ParquetInspector(store, remember=1)  # type: ignore[arg-type]
    inspector.inspect(PATH, entry(GOOD))
    store.etags = ["e2"]
    inspector.inspect(PATH, entry(GOOD, "e2"))
    reads = len(store.reads)
    store.etags = ["e1"]
    inspector.inspect(PATH, entry(GOOD))
    assert len(store.reads) > reads


def test_it_reads_from_a_real_store_and_reports_the_stores_etag() -> None:
    store = MemoryStore(lambda: datetime.now(UTC))
    etag = store.write(PATH, GOOD)
    facts = ParquetInspector(store).inspect(PATH, entry(GOOD, etag))
    assert (facts.etag, facts.rows, facts.marker) == (etag, 3, "__rowMarker__")
    assert facts.schema.names == ("id",)
