"""What a text file's first bytes show: columns, types, whether there are rows, what else it is."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime

import cramjam
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from openmirror.formats.inspect import ChangeFileInspector
from openmirror.plan.facts import Completeness, FileFacts
from openmirror.ports import Entry
from openmirror.protocol.rules import Code
from openmirror.protocol.text_format import TextColumn, TextFormat, TextType
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import StorePath
from tests.harness.stores import WatchedStore

PATH = StorePath("landing/m/Files/LandingZone/T/1.csv")
CSV = TextFormat()
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def inspect(data: bytes | str, text: TextFormat = CSV) -> FileFacts:
    return inspected(data, text)[0]


def inspected(data: bytes | str, text: TextFormat = CSV) -> tuple[FileFacts, list[int | None]]:
    """Its facts, and how many bytes each read asked for."""
    store = MemoryStore(lambda: NOW)
    watched = WatchedStore(store)
    content = data.encode() if isinstance(data, str) else data
    etag = store.put(PATH, content)
    entry = Entry("1.csv", False, len(content), NOW, etag)
    facts = ChangeFileInspector(watched).inspect(PATH, entry, text)
    return facts, [call.length for call in watched.calls]


def test_columns_are_those_of_the_header_and_types_those_that_are_declared() -> None:
    declared = tuple(TextColumn(f"c_{kind}", kind) for kind in TextType)
    header = ",".join(f"C_{kind}" for kind in TextType)
    facts = inspect(f"{header},more,__ROWMARKER__\n", TextFormat(columns=declared))
    assert [(column.name, column.type) for column in facts.schema.columns] == [
        ("C_Double", "double"),
        ("C_Single", "float"),
        ("C_Int16", "short"),
        ("C_Int32", "integer"),
        ("C_Int64", "long"),
        ("C_DateTime", "timestamp_ntz"),
        ("C_IDate", "date"),
        ("C_ITime", "string"),
        ("C_String", "string"),
        ("C_Boolean", "boolean"),
        ("C_ByteArray", "binary"),
        ("more", "string"),
    ]
    assert (facts.marker, facts.marker_type) == ("__ROWMARKER__", "string")
    assert facts.completeness is Completeness.COMPLETE
    assert facts.needs_quiet_period
    assert facts.needs_conversion
    assert not facts.rows_are_exact


@pytest.mark.parametrize(
    ("data", "has_rows"),
    [
        ("a,b", False),
        ("a,b\n", False),
        ("a,b\r\n\r\n\n", False),
        ("a,b\n1,2", True),
        ("a\n", False),
        ("a\n\n", True),
        ("a", False),
        ("a\n" + "x" * 300_000, True),
    ],
)
def test_rows_are_none_only_where_there_are_none(data: str, has_rows: bool) -> None:
    for packed in (data.encode(), gzip.compress(data.encode())):
        assert bool(inspect(packed).rows) == has_rows


def test_rows_of_a_large_file_are_guessed_from_its_beginning() -> None:
    data = "a,b\n" + "1,some text\n" * 100_000
    facts, reads = inspected(data)
    assert 80_000 < facts.rows < 120_000
    assert reads == [65_536]


def test_a_header_longer_than_the_first_read_is_read_on() -> None:
    names = [f"column {number} of many" for number in range(10_000)]
    facts, reads = inspected(",".join(names) + "\n" + "1," * 200_000)
    assert list(facts.schema.names) == names
    assert reads == [65_536, 524_288]


def test_a_character_that_the_first_read_cuts_is_no_mistake() -> None:
    facts = inspect("a\n" + "é" * 100_000)
    assert facts.completeness is Completeness.COMPLETE


def _zstd(data: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(data, asbytes=True))


def test_a_header_is_found_in_any_compression_and_encoding() -> None:
    text = 'id,"a ""quoted""\nname",é\n1,2,3\n'
    expected = ("id", 'a "quoted"\nname', "é")
    for data in (text.encode(), text.encode("utf-8-sig"), text.encode("utf-16")):
        for pack in (bytes, gzip.compress, _zstd, cramjam.snappy.compress):
            assert inspect(bytes(pack(data))).schema.names == expected


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b'a,"b', "open quote"),
        (gzip.compress(b"a,b\n1,2\n")[:12], "cut off"),
        (gzip.compress(b""), "no text"),
        (b"\xef\xbb\xbf", "no text"),
    ],
    ids=["empty", "open-quote", "cut-off", "compressed-nothing", "mark-alone"],
)
def test_a_file_without_a_whole_header_is_incomplete(data: bytes, words: str) -> None:
    facts = inspect(data)
    assert facts.completeness is Completeness.INCOMPLETE
    assert words in facts.reason


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"PAR1\x15\x04\x15\x10", "those of Parquet"),
        (b"PK\x03\x04\x14\0", "those of a zip archive"),
        (b"\0\1\2\3\n", "header cannot be read"),
        ("a,b\n".encode("utf-16-le"), "Encoding may be another one"),
        (b"a,\xff\n1,2\n", "the bytes ff are not utf-8"),
        (b'"a"b,c\n', "text follows a closing quote"),
        (b"\x1f\x8b\x08" + bytes(6) + b"\xff" * 50, "gzip data is damaged"),
    ],
)
def test_what_is_no_text_is_broken_and_named(data: bytes, words: str) -> None:
    facts = inspect(data)
    assert facts.completeness is Completeness.BROKEN
    assert words in facts.reason


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("a,A", Code.COLUMNS_DUPLICATE),
        ("a,a", Code.COLUMNS_DUPLICATE),
        ("__rowMarker__,__ROWMARKER__", Code.COLUMNS_DUPLICATE),
        ("a,,b", Code.FILE_UNREADABLE),
        ('a,""', Code.FILE_UNREADABLE),
        ("", Code.FILE_UNREADABLE),
    ],
)
def test_names_follow_the_rules_of_parquet(header: str, code: Code) -> None:
    broken = inspect(f"{header}\n1,2\n").broken
    assert broken is not None
    assert broken.code is code


def test_facts_are_remembered_for_a_content_and_what_is_declared_of_it() -> None:
    store = MemoryStore(lambda: NOW)
    watched = WatchedStore(store)
    etag = store.put(PATH, b"a;b\n")
    inspector = ChangeFileInspector(watched)
    entry = Entry("1.csv", False, 4, NOW, etag)
    assert inspector.inspect(PATH, entry, CSV).schema.names == ("a;b",)
    assert inspector.inspect(PATH, entry, CSV).schema.names == ("a;b",)
    assert len(watched.calls) == 1
    assert inspector.inspect(PATH, entry, TextFormat(separator=";")).schema.names == ("a", "b")
    assert inspector.inspect(PATH, entry).completeness is Completeness.BROKEN  # as Parquet


def test_a_separator_behind_the_last_name_makes_no_column() -> None:
    facts = inspect(b"a,b,\r\n1,2,\r\n")
    assert (facts.schema.names, facts.rows, facts.broken) == (("a", "b"), 1, None)
    assert inspect(b"a,\n1,\n\n").rows == 1  # an empty line is a row of one value alone
