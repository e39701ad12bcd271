"""A converted change file holds every row, in order, in the types of its facts."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmirror.errors import ConditionFailed, NotThere, Unavailable
from openmirror.formats.conversion import FileConverter
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.formats.parquet.conversion import read_parquet
from openmirror.plan.facts import Completeness, FileFacts, LandedFile
from openmirror.plan.read_rules import Fractions, ReadRules
from openmirror.ports import Converted, Entry
from openmirror.protocol.checksums import RunningChecksum
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.protocol.sequence import Sequence
from openmirror.protocol.text_format import TextColumn, TextFormat, TextType
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import StorePath, conversion
from tests.harness.publishing import encoded
from tests.harness.stores import Call, WatchedStore

AT = datetime(2026, 1, 1, tzinfo=UTC)
PATH = StorePath("landing/m/Files/LandingZone/T/Year=2024/part-0001.parquet")
INTO = conversion("m", "r")
NS = pa.timestamp("ns", "UTC")


def landed(store: MemoryStore, data: bytes, text: TextFormat | None = None) -> LandedFile:
    """A file that was inspected; its name says nothing of its sequence."""
    etag = store.write(PATH, data)
    entry = Entry("part-0001.parquet", False, len(data), AT, etag)
    facts = ChangeFileInspector(store).inspect(PATH, entry, text)
    assert facts.broken is None, facts
    return LandedFile(
        sequence=Sequence(7),
        name="part-0001.parquet",
        path=PATH,
        etag=etag,
        size=len(data),
        modified=AT,
        facts=facts,
    )


def convert(
    data: bytes,
    rules: ReadRules = ReadRules(),  # noqa: B008
    **sizes: int,
) -> tuple[Any, MemoryStore]:
    store = MemoryStore(lambda: AT)
    file = landed(store, data, rules.text)
    return FileConverter(store, **sizes).convert(file, rules, INTO), store


def parts(data: bytes, **sizes: int) -> list[tuple[str, int, pa.Table]]:
    done, store = convert(data, **sizes)
    assert isinstance(done, Converted), done
    tables = (pq.read_table(io.BytesIO(store.read(part.path).data)) for part in done.parts)
    return [
        (part.path.removeprefix(f"{INTO}/"), part.first_row, table)
        for part, table in zip(done.parts, tables, strict=True)
    ]


OF_SPARK_2 = {"org.apache.spark.version": "2.4.8"}


@pytest.mark.parametrize(
    ("kind", "long_ago", "since"),
    [
        (pa.date32(), -141_428, -141_427),
        (pa.timestamp("us", "UTC"), -2_208_988_800_000_001, -2_208_988_800_000_000),
        (pa.timestamp("ms"), -2_208_988_800_001, -2_208_988_800_000),
    ],
)
def test_days_of_another_calendar_are_refused_where_spark_cannot_read_the_file(
    kind: pa.DataType, long_ago: int, since: int
) -> None:
    def written(value: int, about: dict[str, str]) -> bytes:
        values = pa.array([None, since, value], kind)
        rows = pa.table({"v": values, "nested": [[1]] * 3}).replace_schema_metadata(about)
        return encoded(rows)

    done, _ = convert(written(long_ago, OF_SPARK_2))
    assert isinstance(done, Broken)
    assert (done.code, done.detail[:19]) == (Code.VALUE_INVALID, "row 3, column 'v': ")
    for data in (written(long_ago, {}), written(since, OF_SPARK_2)):
        [(_, _, table)] = parts(data)
        assert table.num_rows == 3


REFUSE = ReadRules(fractions=Fractions.REFUSE)


def broken(data: bytes, rules: ReadRules = REFUSE) -> Broken:
    done, _ = convert(data, rules)
    assert isinstance(done, Broken), done
    return done


def moments(count: int) -> pa.Array:
    return pa.array([number * 1000 for number in range(count)], NS)


def test_a_part_is_named_by_the_sequence_and_its_first_row() -> None:
    [(name, first, table)] = parts(encoded(pa.table({"id": [1, 2], "t": moments(2)})))
    assert (name, first) == ("00000000000000000007-00000000000000000000.parquet", 0)
    assert [str(kind) for kind in table.schema.types] == ["int64", "timestamp[us, tz=UTC]"]


@pytest.mark.parametrize("sizes", [{"most_rows": 7}, {"most_bytes": 7 * 16}])
@pytest.mark.parametrize("group", [3, 100])
def test_parts_are_small_and_hold_every_row_in_order(sizes: dict[str, int], group: int) -> None:
    table = pa.table({"id": list(range(50)), "t": moments(50)})
    made = parts(encoded(table, row_group_size=group), **sizes)
    assert len(made) > 6
    assert max(part.num_rows for _, _, part in made) <= 7
    ids = [(first, part.column("id").to_pylist()) for _, first, part in made]
    assert [number for _, numbers in ids for number in numbers] == list(range(50))
    assert all(numbers[0] == first for first, numbers in ids)
    assert [name for name, _, _ in made] == sorted(name for name, _, _ in made)


def test_of_large_rows_few_are_in_memory_at_once() -> None:
    value = pa.array([b"x" * (1 << 20)] * 100)
    table = pa.table({"t": moments(100), "large": value})
    data = encoded(table, use_dictionary=False, compression="zstd")
    store = MemoryStore(lambda: AT)
    facts = landed(store, data).facts
    assert facts is not None
    batches = [rows.batch for rows in read_parquet(io.BytesIO(data), facts, ReadRules())]
    assert sum(batch.num_rows for batch in batches) == 100
    assert max(batch.nbytes for batch in batches) <= 20 << 20


def test_a_file_without_rows_has_one_part_with_its_columns() -> None:
    [(_, _, table)] = parts(encoded(pa.table({"id": pa.array([], pa.int8()), "t": moments(0)})))
    assert table.num_rows == 0
    assert table.schema.names == ["id", "t"]


def test_null_typed_columns_are_left_out_and_rows_stay() -> None:
    nothing = pa.table({"n": pa.nulls(3), "l": pa.array([[]] * 3, pa.list_(pa.null()))})
    [(_, _, table)] = parts(encoded(nothing))
    assert table.to_pylist() == [{"l": "[]"}] * 3


def test_the_marker_keeps_its_name_and_type() -> None:
    data = pa.table({"__ROWMARKER__": pa.array([1, None], pa.uint8()), "t": moments(2)})
    [(_, _, table)] = parts(encoded(data))
    assert table.column("__ROWMARKER__").to_pylist() == [1, None]
    assert table.schema.field("__ROWMARKER__").type == pa.int16()


def test_what_arrows_own_schema_says_counts_for_nothing() -> None:
    table = pa.table({"t": moments(2), "d": pa.array([1, 2], pa.duration("us"))})
    table = table.append_column("c", pa.array(["a", "b"]).dictionary_encode())
    for store_schema in (True, False):
        [(_, _, made)] = parts(encoded(table, store_schema=store_schema))
        assert made.select(["d", "c"]).to_pylist() == [{"d": 1, "c": "a"}, {"d": 2, "c": "b"}]


def test_types_that_spark_reads_come_through_unchanged_beside_one_that_it_does_not() -> None:
    same = {
        "b": pa.array([True, None]),
        "i8": pa.array([-128, 127], pa.int8()),
        "f": pa.array([0.1, float("nan")], pa.float32()),
        "d": pa.array([-(2**63), 2**63 - 1]),
        "dec": pa.array([None, 1], pa.decimal128(38, 10)),
        "text": pa.array(["ü", ""]),
        "bin": pa.array([b"\xff", b""]),
        "day": pa.array([-719_162, 2_932_896], pa.date32()),
        "us": pa.array([-1, 2**60], pa.timestamp("us")),
    }
    others = {
        "u8": pa.array([255, None], pa.uint8()),
        "u64": pa.array([2**64 - 1, 0], pa.uint64()),
        "ms": pa.array([1, -1], pa.timestamp("ms", "UTC")),
        "fixed": pa.array([b"ab", b"cd"], pa.binary(2)),
        "large": pa.array(["x", None], pa.large_string()),
    }
    [(_, _, table)] = parts(encoded(pa.table({"t": moments(2), **same, **others})))
    for name, array in same.items():
        assert table.column(name).combine_chunks().equals(array) or name == "f", name
        assert table.schema.field(name).type == array.type
    kinds = {name: str(table.schema.field(name).type) for name in others}
    assert kinds == {
        "u8": "int16",
        "u64": "decimal128(20, 0)",
        "ms": "timestamp[us, tz=UTC]",
        "fixed": "binary",
        "large": "string",
    }
    assert [str(value) for value in table.column("u64").to_pylist()] == [str(2**64 - 1), "0"]
    assert table.column("ms").cast(pa.int64()).to_pylist() == [1000, -1000]


@pytest.mark.parametrize(
    ("array", "detail"),
    [
        (pa.array([0, None, 1001], NS), "row 3, column 'x y': 1001 nanoseconds are no whole"),
        (pa.array([0, 1], pa.time64("ns")), "row 2, column 'x y': 1 nanoseconds are no whole"),
        (pa.array([-1], pa.time64("us")), "row 1, column 'x y': -1 microseconds are no time"),
        (pa.array([86_400_000], pa.time32("ms")), "86400000000 microseconds are no time of day"),
        (pa.array([[1], [86_400]], pa.list_(pa.time32("s"))), "row 2, column 'x y': 86400000 of"),
        (pa.array([[2**31 - 1]], pa.list_(pa.date32())), "lie outside the years 1 to 9999"),
        (
            pa.array([[("a", 1)], [("a", 1), ("b", 2), ("a", 3)]], pa.map_(pa.string(), pa.int8())),
            "row 2, column 'x y': a map has the key \"a\" twice",
        ),
        (
            pa.array([[b"\xff"]], pa.list_(pa.binary())).cast(pa.list_(pa.string()), safe=False),
            "row 1, column 'x y': a text inside is not UTF-8",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value.type),
)
def test_a_value_that_no_table_can_hold_is_named(array: pa.Array, detail: str) -> None:
    found = broken(encoded(pa.table({"x y": array})))
    assert found.code is Code.VALUE_INVALID
    assert detail in found.detail


def test_the_row_is_counted_through_all_row_groups() -> None:
    many = pa.array([*range(0, 200_000_000, 1000), 1], NS)
    found = broken(encoded(pa.table({"t": many}), row_group_size=70_001))
    assert found.detail.startswith("row 200001, column 't'")


def test_times_lose_what_is_finer_than_a_microsecond_and_the_first_is_named() -> None:
    table = pa.table(
        {
            "t": pa.array([*range(0, 5_000_000, 1000), -1, -1001, 1999], NS),
            "time": pa.array([*[0] * 5001, 86_399_999_999_999, None], pa.time64("ns")),
            "nested": pa.array([[1]] * 5003, pa.list_(NS)),
        }
    )
    done, store = convert(encoded(table, row_group_size=1000))
    assert isinstance(done, Converted)
    assert done.truncated == (
        "row 5001, column 't': -1 nanoseconds are finer than a microsecond, and lost what is finer"
    )
    [part] = done.parts
    read = pq.read_table(io.BytesIO(store.read(part.path).data)).slice(5000)
    assert read.column("t").cast(pa.int64()).to_pylist() == [-1, -2, 1]
    assert read.column("time").to_pylist() == ["00:00:00", "23:59:59.999999", None]
    assert read.column("nested").to_pylist()[0] == '["1970-01-01T00:00:00.000000001Z"]'


def test_nothing_is_lost_of_columns_that_rows_are_matched_by() -> None:
    rules = ReadRules(exact=frozenset({"t"}))
    table = pa.table({"T": pa.array([1000, 1001], NS), "u": pa.array([1, 2], NS)})
    found = broken(encoded(table), rules)
    assert (found.code, found.detail[:18]) == (Code.VALUE_INVALID, "row 2, column 'T':")
    done, _ = convert(encoded(table.slice(0, 1)), rules)
    assert done.truncated.startswith("row 1, column 'u': 1 nanoseconds")


@pytest.mark.parametrize("years", [0, 100, 700])
def test_int96_that_is_finer_is_found_in_whatever_year_it_lies(years: int) -> None:
    """Nanoseconds that overflow differ from their microseconds by as much."""
    shift = years * 31_556_952 * 10**6
    micros = pa.array([shift + 5, -shift - 5, shift], pa.timestamp("us"))
    data = encoded(pa.table({"T": micros, "n": [1, 2, 3]}), use_deprecated_int96_timestamps=True)
    facts = landed(MemoryStore(lambda: AT), data).facts
    assert facts is not None
    assert (facts.int96, facts.needs_conversion) == (("T",), False)
    [part] = parts_by(data, REFUSE)
    assert part.column("T").cast(pa.int64()).to_pylist() == [shift + 5, -shift - 5, shift]


def parts_by(data: bytes, rules: ReadRules) -> list[pa.Table]:
    done, store = convert(data, rules)
    assert isinstance(done, Converted), done
    return [pq.read_table(io.BytesIO(store.read(part.path).data)) for part in done.parts]


def test_int96_of_a_column_that_may_lose_nothing_is_refused_by_row_and_value() -> None:
    many = pa.array([*range(0, 70_000_000, 1000), None, 5001, 7], pa.timestamp("ns"))
    data = encoded(
        pa.table({"T": many, "l": [[1]] * len(many)}),
        use_deprecated_int96_timestamps=True,
        row_group_size=10_000,
    )
    found = broken(data, ReadRules(exact=frozenset({"t"})))
    assert found.code is Code.VALUE_INVALID
    assert found.detail == (
        "row 70002, column 'T': a time after 1970-01-01 00:00:00.000005 is finer than a microsecond"
    )
    [table] = parts_by(data, ReadRules(exact=frozenset({"l"})))
    assert table.num_rows == len(many)


@pytest.mark.parametrize(
    ("array", "kind", "taken"),
    [
        (pa.array([1.0, None, -128.0]), "byte", [1, None, -128]),
        (pa.array([-0.0, 2.0**53, -(2.0**53)]), "long", [0, 2**53, -(2**53)]),
        (pa.array([2.0**24], pa.float32()), "integer", [2**24]),
        (pa.array([1.0, 0.5]), "long", "row 2, column 'n': 0.5 does not fit an integer"),
        (pa.array([None, 128.0]), "byte", "row 2, column 'n': 128.0 does not fit an integer"),
        (pa.array([float("nan")]), "long", "row 1, column 'n': nan does not fit"),
        (pa.array([float("inf")]), "long", "row 1, column 'n': inf does not fit"),
        (pa.array([2.0**53 + 2]), "long", "beyond 9007199254740992 floats do not count in ones"),
        (pa.array([2.0**24 + 2], pa.float32()), "long", "beyond 16777216 floats do not count"),
    ],
    ids=str,
)
def test_floats_that_a_policy_takes_for_integers_are_whole(
    array: pa.Array, kind: str, taken: object
) -> None:
    store = MemoryStore(lambda: AT)
    file = landed(store, encoded(pa.table({"n": array})))
    assert file.facts is not None
    integers = TableSchema((Column("n", ColumnType(kind)),))
    file = replace(file, facts=replace(file.facts, schema=integers))
    done = FileConverter(store).convert(file, ReadRules(), INTO)
    if isinstance(done, Broken):
        assert isinstance(taken, str)
        assert taken in done.detail
    else:
        read = pq.read_table(io.BytesIO(store.read(done.parts[0].path).data))
        assert read.column("n").to_pylist() == taken


def test_a_timestamp_beyond_the_range_of_microseconds_is_named() -> None:
    table = pa.table({"t": pa.array([0, 2**60], pa.timestamp("ms")), "u": [[1], [2]]})
    assert broken(encoded(table)).detail.startswith("row 2, column 't'")


def test_damaged_pages_are_a_problem_of_the_file() -> None:
    data = bytearray(encoded(pa.table({"t": moments(2000), "s": ["text"] * 2000})))
    data[4:3000] = bytes(2996)
    assert broken(bytes(data)).code is Code.FILE_UNREADABLE


def test_damage_that_only_checksums_show_is_found() -> None:
    table = pa.table({"t": moments(5000)})
    whole = encoded(table, compression="none", use_dictionary=False, write_page_checksum=True)
    data = bytearray(whole)
    data[9000] ^= 0xFF
    assert broken(bytes(data)).code is Code.FILE_UNREADABLE
    [(_, _, made)] = parts(whole)
    assert made.num_rows == 5000


_ODD = pa.table(
    {
        "id": range(120),
        "t": moments(120),
        "s": ["abc" * (number % 5) for number in range(120)],
        "l": [[{"a": number}] * (number % 3) for number in range(120)],
    }
)
_DAMAGED = [
    encoded(_ODD, compression="none"),
    encoded(_ODD, data_page_version="2.0", compression="zstd", row_group_size=50),
]


@given(
    st.sampled_from(_DAMAGED),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1),
)
@settings(max_examples=200, deadline=None)
def test_no_damaged_bytes_do_worse_than_a_problem(
    data: bytes, changes: list[tuple[float, int]]
) -> None:
    damaged = bytearray(data)
    for place, value in changes:
        damaged[4 + int(place * (len(data) - 12))] = value
    store = MemoryStore(lambda: AT)
    etag = store.write(PATH, bytes(damaged))
    entry = Entry("part-0001.parquet", False, len(data), AT, etag)
    facts = ChangeFileInspector(store).inspect(PATH, entry)
    if facts.completeness is not Completeness.COMPLETE or facts.broken is not None:
        return
    file = LandedFile(
        sequence=Sequence(7),
        name="f",
        path=PATH,
        etag=etag,
        size=len(data),
        modified=AT,
        facts=facts,
    )
    done = FileConverter(store).convert(file, ReadRules(), INTO)
    if isinstance(done, Broken):
        assert done.code in (Code.FILE_UNREADABLE, Code.VALUE_INVALID)
        return
    read = (pq.read_table(io.BytesIO(store.read(part.path).data)) for part in done.parts)
    assert sum(part.num_rows for part in read) == facts.rows


def test_a_footer_that_miscounts_its_rows_is_a_problem_of_the_file() -> None:
    store = MemoryStore(lambda: AT)
    file = landed(store, encoded(pa.table({"t": moments(2)})))
    assert file.facts is not None
    wrong = FileFacts(
        etag=file.etag,
        completeness=file.facts.completeness,
        rows=3,
        schema=file.facts.schema,
    )
    of_three = LandedFile(
        sequence=file.sequence,
        name=file.name,
        path=file.path,
        etag=file.etag,
        size=file.size,
        modified=AT,
        facts=wrong,
    )
    done = FileConverter(store).convert(of_three, ReadRules(), INTO)
    assert isinstance(done, Broken)
    assert done.detail == "its footer says 3 rows, and there are 2"


def test_a_file_that_was_replaced_is_not_converted() -> None:
    store = MemoryStore(lambda: AT)
    file = landed(store, encoded(pa.table({"t": moments(2)})))
    store.write(PATH, encoded(pa.table({"t": moments(3)})))
    with pytest.raises(ConditionFailed):
        FileConverter(store).convert(file, ReadRules(), INTO)


@pytest.mark.parametrize("trouble", [NotThere("gone"), Unavailable("busy")])
@pytest.mark.parametrize("reads", range(3))
def test_the_stores_own_trouble_is_no_damaged_file(trouble: Exception, reads: int) -> None:
    store = MemoryStore(lambda: AT)
    # Large enough that one read ahead does not fetch all of it.
    table = pa.table({"t": moments(3), "s": ["x" * 6_000_000, "y", "z" * 6_000_000]})
    file = landed(store, encoded(table, compression="none", use_dictionary=False))
    watched = WatchedStore(store)

    def fail(call: Call) -> None:
        if len(watched.asked("read")) > reads:
            raise trouble

    watched.before = fail
    with pytest.raises(type(trouble)):
        FileConverter(watched).convert(file, ReadRules(), INTO)


def test_a_time_in_text_loses_what_is_finer_and_the_first_is_named_by_its_line() -> None:
    kinds = {"at": TextType.DATE_TIME, "time": TextType.TIME, "day": TextType.DATE}
    text = TextFormat(columns=tuple(TextColumn(name, kind) for name, kind in kinds.items()))
    data = (
        b"at,time,day\n2024-02-29 23:59:59.123456000,,\n"
        b" 1969-12-31T23:59:59.9999999 +02:00 ,23:59:59.999999999,\n,00:00:00.1234567,\n"
    )
    done, store = convert(data, ReadRules(text=text))
    assert isinstance(done, Converted), done
    assert done.truncated == (
        "line 3, column 'at': ' 1969-12-31T23:59:59.9999999 +02:00 ' is finer than a microsecond, "
        "and lost what is finer"
    )
    table = pq.read_table(io.BytesIO(store.read(done.parts[0].path).data))
    micros = table.column("at").cast(pa.int64()).to_pylist()
    assert micros == [1_709_251_199_123_456, -7_200_000_001, None]
    assert table.column("time").to_pylist() == [None, "23:59:59.999999", "00:00:00.123456"]
    for rules in (
        ReadRules(text=text, fractions=Fractions.REFUSE),
        ReadRules(text=text, exact=frozenset({"at"})),
    ):
        found, _ = convert(data, rules)
        assert (found.code, found.detail[:20]) == (Code.VALUE_INVALID, "line 3, column 'at':")
    for wrong in (b"2024-02-29 23:59:59.1234567890", b"x.1234567"):
        found, _ = convert(b"at\n" + wrong + b"\n", ReadRules(text=text))
        assert found.code is Code.VALUE_INVALID
    found, _ = convert(b"day\n2024-02-29 00:00:00.0000001\n", ReadRules(text=text))
    assert found.code is Code.VALUE_INVALID


def test_delimited_text_is_converted_by_what_was_frozen() -> None:
    text = TextFormat(columns=(TextColumn("id", TextType.INT64),))
    data = b"id,__rowMarker__,name\r\n1,4,a\r\n2,2,\r\n"
    done, store = convert(data, ReadRules(text=text))
    assert isinstance(done, Converted), done
    [part] = done.parts
    table = pq.read_table(io.BytesIO(store.read(part.path).data))
    assert table.to_pylist() == [
        {"id": 1, "name": "a", "__rowMarker__": "4"},
        {"id": 2, "name": None, "__rowMarker__": "2"},
    ]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_text_has_its_checksum_from_being_converted(pack: Callable[[bytes], bytes]) -> None:
    text = TextFormat(columns=(TextColumn("id", TextType.INT64),))
    data = pack(b"id\r\n" + b"1\r\n" * 3_000_000)
    done, _ = convert(data, ReadRules(text=text))
    assert isinstance(done, Converted), done
    expected = RunningChecksum()
    expected.update(data)
    assert done.checksum == expected.checksum


def test_discarding_removes_all_parts_and_is_harmless_twice() -> None:
    done, store = convert(encoded(pa.table({"t": moments(2)})))
    converter = FileConverter(store)
    converter.discard(INTO)
    converter.discard(INTO)
    with pytest.raises(NotThere):
        store.read(done.parts[0].path)
