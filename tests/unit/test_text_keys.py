"""What `_metadata.json` says of delimited text, and every value that it may not have."""

from __future__ import annotations

import codecs
import encodings.aliases
import json
from typing import Any

import pytest

from openmirror.protocol.encodings import text_encoding
from openmirror.protocol.metadata import TableMetadata, parse_metadata
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.sequence import ChangeFileName, NotAChangeFile, parse_change_file
from openmirror.protocol.text_format import TextColumn, TextFormat, TextType


def read(**document: Any) -> TextFormat | None:
    parsed = parse_metadata(json.dumps(document).encode())
    assert isinstance(parsed, TableMetadata), parsed
    return parsed.text


def refused(**document: Any) -> str:
    parsed = parse_metadata(json.dumps(document).encode())
    assert isinstance(parsed, Broken), parsed
    assert parsed.code is Code.METADATA_INVALID
    return parsed.detail


def of(**properties: Any) -> dict[str, Any]:
    return {"FileFormatTypeProperties": properties}


def columns(*declared: Any) -> dict[str, Any]:
    return {"SchemaDefinition": {"Columns": list(declared)}}


def test_the_defaults_are_those_of_the_format_page() -> None:
    csv = TextFormat(
        extension="csv",
        separator=",",
        quote='"',
        escape="\\",
        null="",
        encoding="utf-8",
        row_separator="\r\n",
        columns=(),
    )
    assert read(FileFormat="CSV") == csv
    assert read(FileFormatTypeProperties={}) == csv
    assert read(FileFormatTypeProperties=None, SchemaDefinition=None) == csv
    assert read(FileFormat="csv", FileFormatTypeProperties={"FirstRowAsHeader": "True"}) == csv


@pytest.mark.parametrize("document", [{}, {"FileFormat": "parquet", **of(ColumnSeparator="ab")}])
def test_parquet_has_no_text_whatever_else_is_stated(document: dict[str, Any]) -> None:
    assert read(**document) is None


@pytest.mark.parametrize("extension", ["tsv", ".tsv", "csv.gz", "TXT"])
def test_an_extension_may_have_its_dot_or_not(extension: str) -> None:
    text = read(fileformat="delimitedtext", FILEEXTENSION=extension)
    assert text is not None
    assert text.extension == extension.removeprefix(".")


@pytest.mark.parametrize("value", ["", ".", "a/b", "_csv", "._x", "parquet", ".PARQUET", 7, "x."])
def test_an_extension_that_no_change_file_can_have_is_refused(value: object) -> None:
    assert "FileExtension" in refused(FileExtension=value)


def test_a_format_needs_what_it_needs() -> None:
    assert "FileExtension is missing" in refused(FileFormat="DelimitedText")
    for value in ("JSON", "", "text"):
        assert "CSV, DelimitedText or Parquet" in refused(FileFormat=value)
    assert "must be text" in refused(FileFormat=1)


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("ColumnSeparator", {",": ",", ";": ";", "|": "|", "\t": "\t", "\\t": "\t", "^": "^"}),
        ("QuoteCharacter", {'"': '"', "'": "'", "": ""}),
        ("EscapeCharacter", {"\\": "\\", "/": "/", '"': '"', "": ""}),
        ("RowSeparator", {"\r\n": "\r\n", "\n": "\n", "\\r": "\r", "\\r\\n": "\r\n"}),
        ("NullValue", {"": "", "N/A": "N/A", "null": "null", ",": ","}),
        ("Encoding", {"UTF-8": "utf-8", "Cp1252": "cp1252", "utf-16": "utf-16", "": "utf-8"}),
    ],
)
def test_a_property_has_these_values(key: str, values: dict[str, str]) -> None:
    fields = {
        "ColumnSeparator": "separator",
        "QuoteCharacter": "quote",
        "EscapeCharacter": "escape",
        "RowSeparator": "row_separator",
        "NullValue": "null",
        "Encoding": "encoding",
    }
    for written, meant in values.items():
        for spelled in (key, key.upper()):
            assert getattr(read(**of(**{spelled: written})), fields[key]) == meant


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("FirstRowAsHeader", False, "it must be true"),
        ("FirstRowAsHeader", "no", "it must be true"),
        ("ColumnSeparator", "", "single character"),
        ("ColumnSeparator", "ab", "single character"),
        ("ColumnSeparator", "\n", "single character"),
        ("QuoteCharacter", "x", "or empty"),
        ("QuoteCharacter", '""', "or empty"),
        ("EscapeCharacter", "'", "or empty"),
        ("RowSeparator", "x", "\\r\\n, \\n or \\r"),
        ("NullValue", 0, "must be text"),
        ("Encoding", "base64", "text encoding"),
        ("Encoding", "klingon", "text encoding"),
    ],
)
def test_any_other_value_is_refused_with_its_key_and_what_is_allowed(
    key: str, value: object, allowed: str
) -> None:
    detail = refused(**of(**{key: value}))
    assert key in detail
    assert allowed in detail


@pytest.mark.parametrize(
    "properties",
    [
        {"ColumnSeparator": '"'},
        {"ColumnSeparator": "'", "QuoteCharacter": "'"},
        {"ColumnSeparator": "\\"},
        {"ColumnSeparator": "/", "EscapeCharacter": "/"},
    ],
)
def test_one_character_cannot_mean_two_things(properties: dict[str, str]) -> None:
    assert "must differ" in refused(**of(**properties))


def test_a_quote_may_be_its_own_escape() -> None:
    text = read(**of(QuoteCharacter="'", EscapeCharacter="'"))
    assert text is not None
    assert (text.quote, text.escape) == ("'", "'")


def test_the_same_property_in_two_casings_is_refused() -> None:
    assert "twice" in refused(**of(Encoding="utf-8", encoding="ascii"))


def test_columns_have_types_in_any_casing_and_the_marker_is_none_of_them() -> None:
    text = read(
        **columns(
            {"name": "a", "datatype": "INT32", "isNullable": False, "Precision": 3},
            {"Name": "__ROWMARKER__", "DataType": "Int32"},
            {"Name": "b", "DataType": "iTime", "IsNullable": "true"},
        )
    )
    assert text is not None
    assert text.columns == (TextColumn("a", TextType.INT32, False), TextColumn("b", TextType.TIME))
    assert text.column("A").type is TextType.INT32
    assert text.column("c") == TextColumn("c", TextType.STRING)


@pytest.mark.parametrize("kind", list(TextType))
def test_all_eleven_types_are_known(kind: TextType) -> None:
    text = read(**columns({"Name": "a", "DataType": kind.value}))
    assert text is not None
    assert text.column("a").type is kind
    assert len(TextType) == 11


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ([{"Name": "a", "DataType": "Decimal"}], "Decimal'; it must be one of Double, Single"),
        ([{"Name": "a"}], "DataType of column 'a' is missing"),
        ([{"DataType": "Int32"}], "Columns[1] has no Name"),
        ([{"Name": "", "DataType": "Int32"}], "has no Name"),
        ([{"Name": "a", "DataType": "Int32", "IsNullable": "?"}], "IsNullable of column 'a'"),
        ([{"Name": "a", "DataType": "Int32"}, {"Name": "A", "DataType": "Int32"}], "'A' twice"),
        (["a"], "Columns[1] must be an object"),
        ({"a": "Int32"}, "Columns must be a list"),
    ],
)
def test_a_wrong_column_is_refused_by_its_name_or_place(declared: object, words: str) -> None:
    assert words in refused(SchemaDefinition={"Columns": declared})


@pytest.mark.parametrize("key", ["FileFormatTypeProperties", "SchemaDefinition"])
def test_an_object_cannot_be_anything_else(key: str) -> None:
    assert "must be an object" in refused(**{key: ["x"]})


# --- Encodings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("UTF8", "utf-8"),
        ("utf-8 without BOM", "utf-8"),
        ("Unicode", "utf-16"),
        ("UTF-16LE", "utf-16-le"),
        ("windows-1252", "cp1252"),
        ("windows-874", "cp874"),
        ("x-windows-949", "cp949"),
        ("windows-31j", "cp932"),
        ("IBM00858", "cp858"),
        ("x-MacRoman", "mac-roman"),
        (" ISO-8859-1 ", "iso8859-1"),
    ],
)
def test_encodings_are_known_by_their_names_in_java_and_dotnet(name: str, found: str) -> None:
    assert text_encoding(name) == found


@pytest.mark.parametrize(
    "name",
    [
        *("", "base64", "rot13", "hex", "zlib", "bz2", "uu", "quopri", "idna", "punycode", "utf-7"),
        *("undefined", "unicode_escape", "raw_unicode_escape", "../x", "a\0b", "é", "x" * 9999),
    ],
)
def test_what_is_no_text_is_no_encoding(name: str) -> None:
    assert text_encoding(name) is None


def test_every_encoding_that_is_taken_can_be_read_in_pieces() -> None:
    known = {text_encoding(name) for name in set(encodings.aliases.aliases.values())} - {None}
    assert len(known) > 80
    for name in known:
        assert name is not None
        data = "a,b\r\n1,2".encode(name)
        decoder = codecs.getincrementaldecoder(name)()
        text = "".join(decoder.decode(data[n : n + 1]) for n in range(len(data)))
        assert text + decoder.decode(b"", True) == "a,b\r\n1,2"


# --- Names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "extension", "is_one"),
    [
        ("csv", "csv", True),
        ("CSV", "csv", True),
        ("csv.gz", "csv.gz", True),
        ("csv.gz", "csv", False),
        ("parquet", "csv", False),
        ("csv", "parquet", False),
    ],
)
def test_change_files_end_in_the_declared_extension(
    name: str, extension: str, is_one: bool
) -> None:
    parsed = parse_change_file(f"{1:020d}.{name}", extension)
    assert isinstance(parsed, ChangeFileName if is_one else NotAChangeFile)
    if isinstance(parsed, NotAChangeFile):
        assert f".{extension}" in parsed.reason
    else:
        assert str(parsed) == f"{1:020d}.{name}"
