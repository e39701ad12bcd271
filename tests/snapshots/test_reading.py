"""Files as people have them: what is read, and which words a mistake gets."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from openmirror.errors import WrongRequest
from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.publishing.reading import (
    InputKind,
    TextOptions,
    declared_types,
    find_inputs,
    input_from_stream,
    open_input,
)


def read(
    path: Path,
    types: Mapping[str, str] | None = None,
    known: TableSchema = TableSchema(),
    text: TextOptions | None = None,
    kind: InputKind | None = None,
) -> list[dict[str, Any]]:
    """All rows of a file."""
    (given,) = find_inputs(path, kind)
    opened = open_input(given, declared_types(types or {}, known), text or TextOptions())
    rows: list[dict[str, Any]] = []
    for batch in opened.batches():
        assert batch.schema.names == list(opened.columns.names)
        rows += batch.to_pylist()
    return rows


def put(tmp_path: Path, data: bytes | str, name: str = "rows.csv") -> Path:
    """A file in a folder of its own."""
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


EXPORT = 'id;name;amount\r\n007;"Müller; ""M""";1.50\r\n008;;\r\n'
ROWS = [
    {"id": "007", "name": 'Müller; "M"', "amount": "1.50"},
    {"id": "008", "name": None, "amount": None},
]


@pytest.mark.parametrize(
    "data",
    [
        EXPORT.encode(),
        b"\xef\xbb\xbf" + EXPORT.encode(),
        EXPORT.encode("utf-16"),
        b"\xff\xfe" + EXPORT.replace(";", "\t").replace("\t ", "; ").encode("utf-16-le"),
        EXPORT.replace("\r\n", "\n").encode(),
        b"sep=;\r\n" + EXPORT.encode(),
        b"\xef\xbb\xbfsep=;\r\n" + EXPORT.encode(),
        ("\ufeffsep=;\r\n" + EXPORT).encode("utf-16-le"),
        gzip.compress(EXPORT.encode()),
    ],
    ids=["plain", "mark", "UTF-16", "Unicode text", "\\n", "sep", "sep+mark", "sep+16", "gzip"],
)
def test_exports_of_spreadsheets_are_read_with_leading_zeros(tmp_path: Path, data: bytes) -> None:
    assert read(put(tmp_path, data)) == ROWS


def test_text_that_is_not_utf_8_is_read_by_its_encoding(tmp_path: Path) -> None:
    path = put(tmp_path, EXPORT.encode("windows-1252"))
    assert read(path, text=TextOptions(encoding="windows-1252")) == ROWS


TYPED = (
    "b,i,d,m,t,n,o,x\n1,-7,2024-02-29,12.5,2024-02-29 10:00:00+02:00,2024-02-29T10:00:00,yes,FF00\n"
)


def test_declared_types_are_those_of_tables(tmp_path: Path) -> None:
    types = {
        "b": "byte",
        "i": "LONG",
        "d": "date",
        "m": "decimal(10, 2)",
        "t": "timestamp",
        "n": "timestamp_ntz",
        "o": "boolean",
        "x": "hex",
    }
    assert read(put(tmp_path, TYPED), types) == [
        {
            "b": 1,
            "i": -7,
            "d": date(2024, 2, 29),
            "m": Decimal("12.50"),
            "t": datetime(2024, 2, 29, 8, tzinfo=UTC),
            "n": datetime(2024, 2, 29, 10),  # noqa: DTZ001
            "o": True,
            "x": b"\xff\x00",
        }
    ]


def test_a_column_of_text_gets_the_type_that_the_table_has(tmp_path: Path) -> None:
    known = TableSchema((Column("ID", ColumnType("long")), Column("gone", ColumnType("date"))))
    assert read(put(tmp_path, "id,code\n7,007\n"), known=known) == [{"id": 7, "code": "007"}]


@pytest.mark.parametrize(
    ("data", "types", "words"),
    [
        ("", {}, "it is empty: there is no header"),
        ("id,id\n1,2\n", {}, "'id' and 'id' are one name (PROTOCOL §6.1)"),
        ("id,ID\n1,2\n", {}, "are one name"),
        ("id,,x\n1,2,3\n", {}, "line 1: column 2 has no name"),
        ("a;b,c\n1;2,3\n", {}, "say with --separator which one"),
        ("id,n\n1,2\n1,2,3\n", {}, "line 3 has 3 values; the header has 2"),
        ('id,n\n1,"open\n', {}, "the quote that begins in line 2 is never closed"),
        ('id,n\n1,"a"b\n', {}, "line 2: text follows a closing quote"),
        (b"id,n\n1,M\xfcller\n", {}, "line 2: the bytes fc are not utf-8: say with --encoding"),
        ("id,n\n1,2\n2,x\n", {"n": "long"}, "line 3, column 'n': 'x' does not fit Int64"),
        ("id,n\n1,2\n2,1.5\n", {"n": "long"}, "line 3, column 'n': '1.5' does not fit"),
        ("n\n1\n1.005\n", {"n": "decimal(5,2)"}, "row 2 below the header, column 'n': '1.005'"),
        ("n\n1,5\n", {"n": "decimal(5,2)"}, "line 2 has 2 values"),
        ("n;m\n1,5;2\n", {"n": "decimal(5,2)"}, "does not fit decimal(5,2): it is no number"),
        ("n\n300\n", {"n": "byte"}, "'300' does not fit byte"),
        ("t\n31.12.2024\n", {"t": "date"}, "it is no date, such as 2025-06-17"),
        (
            "t\n2024-01-01 00:00:00.1234567\n",
            {"t": "timestamp"},
            "it is finer than a microsecond",
        ),
        ("sep=;\nid;n\n1\n", {}, "(lines are counted without the first, sep=)"),
        (gzip.compress(b"sep=;\nid;n\n"), {}, "in a compressed file: unpack it first"),
    ],
)
def test_text_with_a_mistake_names_file_place_and_remedy(
    tmp_path: Path, data: str | bytes, types: dict[str, str], words: str
) -> None:
    with pytest.raises(WrongRequest) as refused:
        read(put(tmp_path, data), types)
    assert "rows.csv: " in str(refused.value)
    assert words in str(refused.value)


def test_json_lines_have_the_types_of_their_values(tmp_path: Path) -> None:
    text = (
        '{"id": 1, "x": 1, "s": "a", "o": {"b": [1.50, null]}, "n": null}\n\n'
        '{"id": 2, "x": 2.5, "t": true, "ID2": -9223372036854775808}'
    )
    assert read(put(tmp_path, text, "rows.jsonl")) == [
        {"id": 1, "x": 1.0, "s": "a", "o": '{"b":[1.5,null]}', "t": None, "ID2": None},
        {"id": 2, "x": 2.5, "s": None, "o": None, "t": True, "ID2": -(1 << 63)},
    ]


def test_json_lines_take_declared_types(tmp_path: Path) -> None:
    text = '{"id": 7, "m": 0.10, "at": "2024-02-29T10:00:00Z", "d": "2024-02-29", "b": "/w=="}\n'
    types = {"id": "string", "m": "decimal(20,2)", "at": "timestamp", "d": "date", "b": "base64"}
    assert read(put(tmp_path, text, "rows.ndjson"), types) == [
        {
            "id": "7",
            "m": Decimal("0.10"),
            "at": datetime(2024, 2, 29, 10, tzinfo=UTC),
            "d": date(2024, 2, 29),
            "b": b"\xff",
        }
    ]


@pytest.mark.parametrize(
    ("text", "types", "words"),
    [
        ('{"a": 1}\n{"a": "x"}\n', {}, "line 2, column 'a': it is string, and long in line 1"),
        ('{"a": 9007199254740993}\n{"a": 0.5}\n', {}, "beyond 2^53 and fractions"),
        ('{"a": 9223372036854775808}\n', {}, "is beyond 64 bits"),
        ('{"a": 1}\n{"a": 1,}\n', {}, "line 2: "),
        ('{"a": 1, "a": 2}\n', {}, "line 1: a name is there twice"),
        ('{"a": 1, "A": 2}\n', {}, "differ in case only"),
        ("[\n", {}, "jq -c '.[]'"),
        ('[{"a": 1}]\n', {}, "jq -c '.[]'"),
        ("7\n", {}, "line 1 is no object"),
        ('{"": 1}\n', {}, "a member without a name"),
        ('{"a": "x"}\n', {"a": "long"}, "line 1, column 'a': 'x' does not fit long"),
        ('{"a": true}\n', {"a": "long"}, "it is no number"),
        ('{"a": 128}\n', {"a": "byte"}, "beyond 8 bits"),
        ('{"a": 1.005}\n', {"a": "decimal(5,2)"}, "does not fit decimal(5,2)"),
        ('{"a": [1]}\n', {"a": "date"}, "it is an object or a list"),
        ('{"a": 5}\n', {"a": "date"}, "it is a number"),
    ],
)
def test_json_with_a_mistake_names_line_and_column(
    tmp_path: Path, text: str, types: dict[str, str], words: str
) -> None:
    with pytest.raises(WrongRequest) as refused:
        read(put(tmp_path, text, "rows.jsonl"), types)
    assert "rows.jsonl: " in str(refused.value)
    assert words in str(refused.value)


def test_parquet_is_read_in_the_types_of_tables(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "u": pa.array([7], pa.uint8()),
            "ns": pa.array([1_000], pa.timestamp("ns")),
            "l": pa.array([[1, 2]]),
            "h": pa.array(["x"], pa.large_string()),
            "nothing": pa.nulls(1),
        }
    )
    path = tmp_path / "rows.parquet"
    pq.write_table(rows, path)
    assert read(path) == [
        {"u": 7, "ns": datetime(1970, 1, 1, 0, 0, 0, 1), "l": "[1,2]", "h": "x"}  # noqa: DTZ001
    ]


def test_parquet_with_a_mistake_names_row_and_column(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"t": pa.array([0, 1], pa.timestamp("ns"))}), path)
    with pytest.raises(WrongRequest, match=r"row 2, column 't': 1 nanoseconds"):
        read(path)
    pq.write_table(pa.table({"t": pa.array([b"a", b"\xff"]).view(pa.string())}), path)
    with pytest.raises(WrongRequest, match=r"row 2, column 't': .* is not UTF-8"):
        read(path)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(WrongRequest, match="no footer"):
        read(path)


def workbook() -> bytes:
    """A zip archive, as a workbook is one."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return made.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("rows.xlsx", workbook(), "is a workbook: .*save the sheet as 'CSV UTF-8'"),
        ("rows.csv", workbook(), "is a zip archive, not rows"),
        ("rows.parquet", b"id,n\n", "first bytes are not those of Parquet"),
        ("rows.parquet", b"PARE", "encrypted Parquet"),
        ("rows.dat", b"id\n", "say it with --format"),
    ],
)
def test_what_is_no_file_of_rows_is_named(
    tmp_path: Path, name: str, data: bytes, words: str
) -> None:
    with pytest.raises(WrongRequest, match=f"(?i){name}.*{words}"):
        find_inputs(put(tmp_path, data, name))


def test_a_folder_is_its_files_by_name(tmp_path: Path) -> None:
    for name in ("b.csv", "a.jsonl", ".hidden", "_SUCCESS"):
        put(tmp_path, "", name)
    assert [given.name for given in find_inputs(tmp_path)] == ["a.jsonl", "b.csv"]
    (tmp_path / "more").mkdir()
    with pytest.raises(WrongRequest, match=r"has folders in it \(more\)"):
        find_inputs(tmp_path)
    with pytest.raises(WrongRequest, match="has no files"):
        find_inputs(tmp_path / "more")
    with pytest.raises(WrongRequest, match="no such file or folder"):
        find_inputs(tmp_path / "missing")


def test_standard_input_must_say_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(WrongRequest, match="--format"):
        input_from_stream(io.BytesIO(b"id\n1\n"), None, tmp_path)
    given = input_from_stream(io.BytesIO(b"id\n1\n"), InputKind.CSV, tmp_path)
    assert given.name == "standard input"
    assert given.path.read_bytes() == b"id\n1\n"


@pytest.mark.parametrize(
    "given",
    [{"a": "number"}, {"a": "decimal(39,2)"}, {"a": "decimal(2,3)"}, {"a": "long", "A": "long"}],
)
def test_wrong_types_are_refused(given: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"is no type|declared twice"):
        declared_types(given)
