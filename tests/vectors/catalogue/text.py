"""§4.6: delimited text, one case a property, a type and a rule."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import Any

import cramjam
import pyarrow as pa

from tests.vectors.catalogue.words import (
    Item,
    Vector,
    expect,
    file,
    meta,
    paused,
    raw,
    step,
    vector,
)

_EMPTY: dict[str, Any] = {}
_AB = "a:string b:string"
_PLAIN = (("1", "x"), ("2", "y"))


def _declared(
    properties: Mapping[str, Any] | None = None,
    types: Mapping[str, str] | None = None,
    keys: tuple[str, ...] = (),
    **more: Any,
) -> Item:
    """`_metadata.json` of text: its format's properties, and types of columns."""
    document: dict[str, Any] = {"keyColumns": list(keys), "FileFormat": "CSV", **more}
    if properties is not None:
        document["FileFormatTypeProperties"] = dict(properties)
    if types is not None:
        columns = [{"Name": name, "DataType": kind} for name, kind in types.items()]
        document["SchemaDefinition"] = {"Columns": columns}
    return meta(document)


def _text(content: str | bytes, number: int = 1, extension: str = "csv") -> Item:
    data = content if isinstance(content, bytes) else content.encode()
    return raw(f"{number:020d}.{extension}", data)


def _reads(
    name: str,
    title: str,
    declared: Item,
    content: str | bytes | Item,
    seen: str,
    *rows: tuple[Any, ...],
    applied: int = 1,
) -> Vector:
    """One file, and the table that comes of it."""
    landed = content if isinstance(content, Item) else _text(content)
    expected = expect(seen, *rows, applied=applied)
    return vector(f"text/{name}", title, "4.6", declared, landed, expected=expected)


def _same(name: str, title: str, declared: Item, content: str | bytes | Item) -> Vector:
    """A way to write the rows (1, x) and (2, y) of columns a and b."""
    return _reads(name, title, declared, content, _AB, *_PLAIN)


def _typed(kind: str, of_table: str, written: tuple[str, ...], *values: Any) -> Vector:
    """Spellings of one type, each in a row of its own."""
    content = "n,v\n" + "".join(f'{number},"{v}"\n' for number, v in enumerate(written))
    rows = [(number, value) for number, value in enumerate(values)]
    return _reads(
        f"type-{kind.lower()}",
        f"What text may stand for a {kind}",
        _declared(types={"n": "Int32", "v": kind}),
        content,
        f"n:integer v:{of_table}",
        *rows,
    )


def _stops(
    name: str,
    title: str,
    declared: Item,
    content: str | bytes,
    code: str,
    protocol: str = "4.6",
) -> Vector:
    """A file that stops its table; tables are slow to make, so there is none before it."""
    state = {"paused": code, "file": f"{1:020d}.csv"}
    expected = expect(applied=0, state=state)
    return vector(f"text/{name}", title, protocol, declared, _text(content), expected=expected)


def _refused(name: str, title: str, document: Mapping[str, Any]) -> Vector:
    """A declaration that stops its table before the first file."""
    state = {"paused": "MetadataInvalid", "file": None}
    return vector(
        f"text/{name}",
        title,
        "4.6",
        meta(document),
        file(1, "a:int32", (1,)),  # what text it would be, nobody can know
        expected=expect(applied=0, state=state),
    )


def _zstd(data: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(data, asbytes=True))


_LINES = b"a,b\n1,x\n2,y\n"
_INT = _declared(types={"a": "Int32"})
_CSV = _declared()

CASES = [
    _same("csv-by-default", "CSV has defaults for everything", _CSV, _LINES),
    _same(
        "implied",
        "Where a key of text is there, the format is CSV unless stated",
        meta({"FileFormatTypeProperties": _EMPTY}),
        _LINES,
    ),
    _same(
        "delimited-text",
        "DelimitedText needs an extension, here with its dot; keys and formats in any casing",
        meta({"fileformat": "DELIMITEDTEXT", "FILEEXTENSION": ".Tsv"}),
        _text(_LINES, extension="tsv"),
    ),
    _same(
        "extension-of-two-parts",
        "An extension may name a compression, although content alone decides it",
        meta({"FileExtension": "csv.gz"}),
        _text(gzip.compress(_LINES, mtime=0), extension="csv.gz"),
    ),
    _same(
        "microsofts-example",
        "The published example of tab-separated text is read, slips and all",
        meta(
            b'{"FileFormat": "DelimitedText", "FileExtension": "csv",\n'
            b'"FileFormatTypeProperties": {"FirstRowAsHeader": true, "RowSeparator": "\\r\\n",\n'
            b'"ColumnSeparator": ",", "QuoteCharacter": "\'", "EscapeCharacter": "\\\\",\n'
            b'"NullValue": "N/A", "Encoding": "UTF-8"}}'
        ),
        "a,b\r\n'1',x\r\n2,'y'\r\n",
    ),
    *(
        _same(
            f"separator-{name}",
            f"Values with {written!r} between them",
            _declared({"ColumnSeparator": written}),
            _LINES.replace(b",", meant.encode()),
        )
        for name, written, meant in (
            ("semicolon", ";", ";"),
            ("bar", "|", "|"),
            ("tab", "\t", "\t"),
            ("tab-as-two-characters", "\\t", "\t"),
            ("caret", "^", "^"),
        )
    ),
    vector(
        "text/line-ends",
        "Any line end ends a row, whatever RowSeparator says",
        "4.6",
        _declared({"RowSeparator": "\\r\\n"}),
        *(
            _text(_LINES.replace(b"\n", end), number)
            for number, end in enumerate((b"\r\n", b"\n", b"\r"), start=1)
        ),
        expected=expect(_AB, *(_PLAIN * 3), applied=3),
    ),
    _same("last-line-without-end", "The last line needs no line end", _CSV, b"a,b\n1,x\n2,y"),
    _same("blank-lines", "Blank lines between rows mean nothing", _CSV, b"a,b\n\n1,x\n\r\n2,y\n\n"),
    _reads(
        "blank-lines-of-one-column",
        "In a file of one column, an empty line is an empty value",
        _CSV,
        "a\n1\n\n2\n",
        "a:string",
        ("1",),
        (None,),
        ("2",),
    ),
    _reads(
        "quotes",
        "Separators, line ends and doubled quotes inside of quotes are part of the value",
        _CSV,
        'a,b\n"1,\r\n2","""x"""\n3 "in",y\n',
        _AB,
        ("1,\r\n2", '"x"'),
        ('3 "in"', "y"),
    ),
    _reads(
        "quotes-that-are-single",
        "Another quote makes the usual one a plain character",
        _declared({"QuoteCharacter": "'"}),
        "a,b\n'1,2','it''s'\n\"3\",x\n",
        _AB,
        ("1,2", "it's"),
        ('"3"', "x"),
    ),
    _reads(
        "no-quotes",
        "Without a quote character every separator separates, and escapes mean nothing",
        _declared({"QuoteCharacter": ""}),
        'a,b\n"1",\\"\n',
        _AB,
        ('"1"', '\\"'),
    ),
    _reads(
        "escapes",
        "In quotes, the escape takes quotes and itself out of their meaning, and nothing else",
        _CSV,
        'a,b\n"\\"1\\"","C:\\temp\\\\"\nC:\\\\x,\\\n',
        _AB,
        ('"1"', "C:\\temp\\"),
        ("C:\\\\x", "\\"),
    ),
    _reads(
        "escapes-by-slash",
        "Another escape makes the backslash a plain character",
        _declared({"EscapeCharacter": "/"}),
        'a,b\n"/"1//","\\"\n',
        _AB,
        ('"1/', "\\"),
    ),
    *(
        _reads(
            f"escapes-by-{name}",
            "Only doubling escapes a quote",
            _declared({"EscapeCharacter": escape}),
            'a,b\n"""1""","\\"\n',
            _AB,
            ('"1"', "\\"),
        )
        for name, escape in (("the-quote-itself", '"'), ("nothing", ""))
    ),
    _reads(
        "null-by-default",
        "An empty value is NULL, an empty quoted one is empty text",
        _declared(types={"n": "Int32", "s": "String"}),
        'n,s\n,\n"",""\n',
        "n:integer s:string",
        (None, None),
        (None, ""),
    ),
    _reads(
        "null-by-word",
        "The NullValue is NULL unless it is quoted; empty text is then text, and no number",
        _declared({"NullValue": "N/A"}, {"n": "Int32", "s": "String"}),
        'n,s\nN/A,N/A\n,\n1,"N/A"\n',
        "n:integer s:string",
        (None, None),
        (None, ""),
        (1, "N/A"),
    ),
    _reads(
        "null-where-none-may-be",
        "No value of a String column that is not nullable is NULL, if empty text may stand for it",
        meta(
            {
                "SchemaDefinition": {
                    "Columns": [
                        {"Name": "n", "DataType": "Int32", "IsNullable": False},
                        {"Name": "s", "DataType": "String", "IsNullable": False},
                    ]
                }
            }
        ),
        "n,s\n,\n1,x\n",
        "n:integer s:string",
        (None, ""),
        (1, "x"),
    ),
    *(
        _reads(
            f"encoding-{name}",
            f"Text in {declared}",
            _declared({"Encoding": declared}),
            data,
            "a:string",
            (value,),
        )
        for name, declared, data, value in (
            ("utf-8", "UTF-8", "a\né€\n".encode(), "é€"),
            ("utf-8-with-mark", "utf-8", "a\né€\n".encode("utf-8-sig"), "é€"),
            ("utf-16", "utf-16", "a\né€\n".encode("utf-16-le"), "é€"),
            ("utf-16-with-mark", "UTF-16", b"\xfe\xff" + "a\né€\n".encode("utf-16-be"), "é€"),
            ("utf-16-by-its-mark", "UTF-8", b"\xff\xfe" + "a\né€\n".encode("utf-16-le"), "é€"),
            ("windows-1252", "windows-1252", "a\né€\n".encode("cp1252"), "é€"),
            ("java-name", "ISO8859_15", "a\né€\n".encode("iso8859-15"), "é€"),
            ("ascii", "ascii", b"a\ne\n", "e"),
        )
    ),
    vector(
        "text/compressed",
        "Compression is found by content",
        "4.6",
        _CSV,
        *(
            _text(data, number)
            for number, data in enumerate(
                (
                    gzip.compress(_LINES, mtime=0),
                    gzip.compress(_LINES[:7], mtime=0) + gzip.compress(_LINES[7:], mtime=0),
                    _zstd(_LINES),
                    _zstd(_LINES[:5]) + _zstd(_LINES[5:]),
                    bytes(cramjam.snappy.compress(_LINES)),
                    bytes(cramjam.snappy.compress_raw(_LINES + b"\n" * 200)),
                ),
                start=1,
            )
        ),
        expected=expect(_AB, *(_PLAIN * 6), applied=6),
    ),
    _same(
        "separator-behind-the-last-name",
        "A separator behind the last name and each last value makes no column",
        _declared({"ColumnSeparator": "|"}),
        b"a|b|\n1|x|\n\n2|y|\n",
    ),
    _stops(
        "value-behind-the-last-name",
        "Behind the last name there is no column that could have a value",
        _INT,
        "a,b,\n1,x,\n2,y,z\n",
        "FileUnreadable",
    ),
    _typed(
        "Double",
        "double",
        ("1", "-1.5e3", ".5", "NaN", "-inf", " 2 "),
        1,
        -1500,
        0.5,
        "NaN",
        "-Infinity",
        2,
    ),
    _typed("Single", "float", ("1", "-1.5e3", "0.1"), 1, -1500, 0.10000000149011612),
    _typed("Int16", "short", ("-32768", "+32767", "007", "3.0"), -32768, 32767, 7, 3),
    _typed("Int32", "integer", ("-2147483648", "2147483647"), -2147483648, 2147483647),
    _typed(
        "Int64",
        "long",
        ("-9223372036854775808", "9007199254740993"),
        "-9223372036854775808",
        "9007199254740993",
    ),
    _typed(
        "DateTime",
        "timestamp",
        (
            "2025-06-17",
            "2025-06-17 14:30",
            "2025-06-17T14:30:00.5",
            "2025-06-17T14:30:00.1234560Z",
            "2025-06-17 14:30:00+02:00",
        ),
        "2025-06-17T00:00:00.000000Z",
        "2025-06-17T14:30:00.000000Z",
        "2025-06-17T14:30:00.500000Z",
        "2025-06-17T14:30:00.123456Z",
        "2025-06-17T12:30:00.000000Z",
    ),
    _typed("IDate", "date", ("2024-02-29", "2025-06-17 00:00:00"), "2024-02-29", "2025-06-17"),
    _typed(
        "ITime",
        "string",
        ("14:30", "14:30:00.5", "2025-06-17 14:30:00", "2025-06-17T14:30"),
        *("14:30:00", "14:30:00.500000", "2025-06-17 14:30:00", "2025-06-17 14:30:00"),
    ),
    _typed("String", "string", (" x ", "", "2025"), " x ", "", "2025"),
    _typed(
        "Boolean",
        "boolean",
        ("true", "F", "1", "FALSE", "Yes", "no", "Y", "n", "on", "OFF"),
        *(True, False, True, False, True, False, True, False, True, False),
    ),
    _typed("ByteArray", "binary", ("AP8=", ""), "00ff", ""),
    _reads(
        "types-in-any-casing",
        "Names of columns and of types are matched in any casing; what is not declared is text",
        _declared(types={"A": "int64", "gone": "String"}),
        "a,b\n1,2\n",
        "a:long b:string",
        (1, "2"),
    ),
    _reads(
        "marker",
        "The row marker is a column of the header, in any casing and place",
        _declared(types={"id": "Int32"}, keys=("id",)),
        "__ROWMARKER__,id,v\n0,1,a\n0,2,b\n4,1,c\n2,2,\n",
        "id:integer v:string",
        (1, "c"),
    ),
    vector(
        "text/new-columns",
        "A column that comes later is added; one that goes is NULL",
        "4.6 6.2",
        _declared(types={"a": "Int32"}),
        _text("a,b\n1,x\n"),
        _text("c,a\ny,2\n", 2),
        expected=expect("a:integer b:string c:string", (1, "x", None), (2, None, "y"), applied=2),
    ),
    vector(
        "text/types-that-grow",
        "A declared type that grows widens the column, as in Parquet",
        "4.6 6.3",
        step(_declared(types={"a": "Int32"}), _text("a\n1\n")),
        step(_declared(types={"a": "Int64"}), _text("a\n3000000000\n", 2)),
        expected=expect("a:long", (1,), (3000000000,), applied=2),
    ),
    vector(
        "text/header-alone",
        "A file of a header alone has columns and no rows",
        "4.6",
        _INT,
        _text("a,b"),
        _text("a\n1\n", 2),
        expected=expect("a:integer b:string", (1, None), applied=2),
    ),
    vector(
        "text/parquet-beside-text",
        "A Parquet file is no change file of a table of text",
        "3.3 4.6",
        _CSV,
        file(1, "a:string", ("1",)),
        expected=expect(applied=0, warnings=("FileNeverRead",)),
    ),
    vector(
        "text/undeclared",
        "Where no format is declared, the first file has it: text under a name that ends in csv",
        "4.3 4.6",
        meta({"keyColumns": ["a"]}),
        _text("a,b\n1,x\n"),
        _text("a,b\n2,y\n", 2),
        expected=expect(_AB, *_PLAIN, applied=2, warnings=("FileFormatAssumed",)),
    ),
    vector(
        "text/undeclared-without-metadata",
        "A folder of text needs no _metadata.json",
        "4.3 4.4",
        _text("a,b\n1,x\n2,y\n"),
        expected=expect(_AB, *_PLAIN, applied=1, warnings=("FileFormatAssumed",)),
    ),
    vector(
        "text/undeclared-of-both-kinds",
        "With files of both kinds from the beginning, nobody can say what the table is",
        "4.3",
        meta({"keyColumns": ["a"]}),
        _text("a\n1\n"),
        file(2, "a:string", ("2",)),
        expected=expect(applied=0, state=paused("FileFormatUndeclared")),
    ),
    vector(
        "text/undeclared-is-frozen",
        "What the first batch took for the table's format stays it",
        "4.3 4.4",
        step(meta({"keyColumns": ["a"]}), _text("a,b\n1,x\n2,y\n")),
        step(file(2, "a:string", ("3",))),
        expected=expect(_AB, *_PLAIN, applied=1, warnings=("FileFormatAssumed", "FileNeverRead")),
    ),
    vector(
        "text/undeclared-and-then-declared",
        "Declaring the format resumes the table",
        "4.3",
        step(meta({"keyColumns": ["a"]}), _text("a\n1\n"), file(2, "a:string", ("2",))),
        step(
            meta({"keyColumns": ["a"], "FileFormat": "Parquet"}),
            file(1, "a:string", ("1",)),
        ),
        expected=expect("a:string", ("1",), ("2",), applied=2, warnings=("FileNeverRead",)),
    ),
    vector(
        "text/broken-metadata",
        "By metadata that cannot be read no file has a wrong name",
        "4.3 4.1",
        meta(b'{"FileFormat": "DelimitedText", "FileExtension": "tsv" "keyColumns": []}'),
        _text("a\tb\n1\tx\n", extension="tsv"),
        expected=expect(applied=0, state=paused("MetadataInvalid")),
    ),
    vector(
        "text/empty-file",
        "An empty file is not complete",
        "3.8 4.6",
        _INT,
        _text("a\n1\n"),
        _text("", 2),
        expected=expect(
            "a:integer", (1,), applied=1, state={"waiting": "incomplete", "sequence": "2"}
        ),
    ),
    _stops("not-a-number", "A value that does not fit its type", _INT, "a\n2\nx\n", "ValueInvalid"),
    _stops("too-large", "A number above its type", _INT, "a\n2147483648\n", "ValueInvalid"),
    _stops(
        "too-many-values",
        "A row of other length than the header",
        _INT,
        "a\n2,3\n",
        "FileUnreadable",
    ),
    _stops("open-quote", "A quote that is never closed", _INT, 'a\n"2\n', "FileUnreadable"),
    _stops(
        "text-behind-a-quote",
        "Text between a quote and a separator",
        _INT,
        'a\n"2"0\n',
        "FileUnreadable",
    ),
    _stops(
        "undecodable", "Bytes that are not of the encoding", _INT, b"a\n\xff\n", "FileUnreadable"
    ),
    _stops(
        "cut-off",
        "Compressed data that ends too early",
        _INT,
        gzip.compress(b"a\n2\n3\n", mtime=0)[:-6],
        "FileUnreadable",
    ),
    _stops(
        "two-columns-of-one-name",
        "Names that differ in case only",
        _INT,
        "a,A\n2,3\n",
        "ColumnsDuplicate",
        "4.6 6.1",
    ),
    _stops(
        "nameless-column",
        "A column without a name",
        _INT,
        "a,,b\n2,3,4\n",
        "FileUnreadable",
        "4.6 6.1",
    ),
    _stops(
        "parquet-by-another-name",
        "Parquet under the name of text",
        _INT,
        file(1, "a:int32", (1,)).data,
        "FileUnreadable",
    ),
    _stops(
        "marker-of-another-kind",
        "A marker that is none",
        _INT,
        "a,__rowMarker__\n2,3\n",
        "RowMarkerInvalid",
        "4.6 5.1",
    ),
    _refused("no-such-format", "A format that is none", {"FileFormat": "JSON"}),
    _refused("no-extension", "DelimitedText without an extension", {"FileFormat": "DelimitedText"}),
    _refused(
        "no-header",
        "Text without a header",
        {"FileFormatTypeProperties": {"FirstRowAsHeader": False}},
    ),
    _refused(
        "no-such-encoding",
        "An encoding that is none of text",
        {"FileFormatTypeProperties": {"Encoding": "base64"}},
    ),
    _refused(
        "one-character-two-meanings",
        "A separator that is the escape too",
        {"FileFormatTypeProperties": {"ColumnSeparator": "\\"}},
    ),
    _refused(
        "no-such-type",
        "A type that text cannot have",
        {"SchemaDefinition": {"Columns": [{"Name": "a", "DataType": "Decimal"}]}},
    ),
    _refused(
        "column-declared-twice",
        "Two declarations of one column",
        {
            "SchemaDefinition": {
                "Columns": [
                    {"Name": "a", "DataType": "Int32"},
                    {"Name": "A", "DataType": "Int32"},
                ]
            }
        },
    ),
]
