"""§6: columns by name, types that grow, and what each Parquet type becomes."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tests.vectors.catalogue import converted
from tests.vectors.catalogue.words import (
    Columns,
    Vector,
    expect,
    file,
    keys,
    mapped,
    paused,
    step,
    table_file,
    vector,
    waits,
)

_STOP = {"openmirror": {"typeChange": "stop"}}
_FEATURE = {"openmirror": {"typeChange": "feature"}}
_US = pa.timestamp("us", "UTC")
_REQUIRED = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), pa.field("x", pa.string(), nullable=False)]
)


def _bad_column(name: str, title: str, code: str, second: Any, protocol: str) -> Vector:
    """A good first file, and one with a column that stops the table."""
    return vector(
        name,
        title,
        protocol,
        file(1, "id:int64 x:string", (1, "a")),
        second,
        file(3, "id:int64 x:string", (3, "c")),
        expected=expect("id:long x:string", (1, "a"), applied=1, state=paused(code, 2)),
    )


def _grow(
    name: str, title: str, *columns: tuple[str, Any, str, Any, str, Any, Any], protocol: str = "6.3"
) -> Vector:
    """Columns `(name, type, value, type, value, table type, both values)` in two files each way.

    One table sees the first type first, the other the second: the rule is symmetric.
    """

    def one(number: int, at: int, folder: str) -> Any:
        pairs: Columns = [("id", "int64"), *((c[0], c[at]) for c in columns)]
        return file(number, pairs, (at, *(c[at + 1] for c in columns)), folder=folder)

    seen = [("id", "long"), *((c[0], c[5]) for c in columns)]
    rows = [(1, *(c[6][0] for c in columns)), (3, *(c[6][1] for c in columns))]
    return vector(
        name,
        title,
        protocol,
        step(one(1, 1, "grows"), one(1, 3, "narrows"), one(2, 1, "narrows")),
        step(one(2, 3, "grows")),
        expected=tuple(
            expect(seen, *rows, applied=2, folder=folder) for folder in ("grows", "narrows")
        ),
    )


def _apart(
    name: str, title: str, first: Any, one: Any, second: Any, other: Any, seen: Any
) -> Vector:
    """Two types that no type of a table holds both."""
    return vector(
        name,
        title,
        "6.3",
        file(1, [("x", first)], (one,)),
        file(2, [("x", second)], (other,)),
        file(3, [("x", first)], (one,)),
        expected=expect(
            [("x", seen[0])], (seen[1],), applied=1, state=paused("SchemaMergeFailure", 2)
        ),
    )


_AT = datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=UTC)
_SHOWN = "2024-02-29T23:59:59.123456Z"

NAMES = [
    vector(
        "schema/names-in-any-casing",
        "Names are matched without regard to case; the first spelling stays",
        "6.1",
        step(keys("id"), file(1, "Id:int64 CityName:string", (1, "Oslo"))),
        step(file(2, "m ID:int64 CITYNAME:string", (1, 1, "Bergen"), (4, 2, "Rome"))),
        expected=expect("Id:long CityName:string", (1, "Bergen"), (2, "Rome"), applied=2),
    ),
    _bad_column(
        "schema/names-that-differ-in-case-only",
        "Two columns of one file whose names differ only in case are one name",
        "ColumnsDuplicate",
        file(2, "id:int64 x:string X:string", (2, "b", "c")),
        "6.1",
    ),
    _bad_column(
        "schema/same-name-twice",
        "So are two with the same name",
        "ColumnsDuplicate",
        file(2, [("id", "int64"), ("x", "string"), ("x", "string")], (2, "b", "c")),
        "6.1",
    ),
    _bad_column(
        "schema/column-without-a-name",
        "A column needs a name",
        "FileUnreadable",
        file(2, [("id", "int64"), ("", "string")], (2, "b")),
        "6.1",
    ),
    vector(
        "schema/names-that-mean-something-elsewhere",
        "Only __rowMarker__ is reserved",
        "6.1",
        step(
            keys("_id"),
            file(
                1, "_id:int64 kind:string sequence:int64 row:int64 c0:string", (1, "a", 2, 3, "b")
            ),
        ),
        step(
            file(
                2,
                "m _id:int64 kind:string sequence:int64 row:int64 c0:string marker:int64",
                (1, 1, "A", 20, 30, "B", 0),
                (4, 2, "delete", 0, 0, "extra", 2),
            )
        ),
        expected=expect(
            "_id:long kind:string sequence:long row:long c0:string marker:long",
            (1, "A", 20, 30, "B", 0),
            (2, "delete", 0, 0, "extra", 2),
            applied=2,
        ),
    ),
    vector(
        "schema/names-of-spark-and-delta",
        "Nor are names that an engine has use for",
        "6.1",
        step(
            keys("_metadata"),
            file(
                1,
                "_metadata:int64 file_path:string row_index:int64 _commit_version:int64 i:int64",
                *((1, "a", 5, 6, 0), (2, "b", 7, 8, 1)),
            ),
        ),
        step(
            file(
                2,
                "m _metadata:int64 file_path:string row_index:int64 _commit_version:int64",
                *((1, 1, "A", 50, 60), (2, 2, None, None, None), (4, 3, "C", 9, 10)),
            )
        ),
        expected=expect(
            "_metadata:long file_path:string row_index:long _commit_version:long i:long",
            *((1, "A", 50, 60, None), (3, "C", 9, 10, None)),
            applied=2,
        ),
    ),
    vector(
        "schema/names-with-dots-and-quotes",
        "A name may hold dots, quotes, percent signs and letters of any script",
        "6.1 6.4",
        step(
            keys("a.b"),
            file(
                1,
                [("a.b", "int64"), ("x`y", "string"), ("100%", "string"), ("größe", "string")],
                (1, "p", "q", "r"),
                (2, "p", "q", "r"),
            ),
        ),
        step(
            file(
                2,
                [
                    ("__rowMarker__", "int32"),
                    ("a.b", "int64"),
                    ("x`y", "string"),
                    ("größe", "string"),
                ],
                (1, 1, "P", "R"),
                (2, 2, None, None),
            ),
        ),
        expected=expect(
            [("a.b", "long"), ("x`y", "string"), ("100%", "string"), ("größe", "string")],
            (1, "P", None, "R"),
            applied=2,
        ),
    ),
    vector(
        "schema/names-that-need-column-mapping",
        "Names that Parquet files of a plain table cannot have",
        "6.4",
        step(
            keys("order id"),
            file(
                1,
                [("order id", "int64"), ("a,b;{c}(d)=e", "string"), ("tab\there", "string")],
                (1, "a", "b"),
                (2, "a", "b"),
            ),
        ),
        step(
            file(
                2,
                [("__rowMarker__", "int32"), ("order id", "int64"), ("a,b;{c}(d)=e", "string")],
                (1, 1, "A"),
                (2, 2, None),
                (0, 3, "C"),
            ),
        ),
        expected=expect(
            [("order id", "long"), ("a,b;{c}(d)=e", "string"), ("tab\there", "string")],
            (1, "A", None),
            (3, "C", None),
            applied=2,
        ),
    ),
    vector(
        "schema/column-mapping-that-comes-later",
        "Such a name may come later",
        "6.4 6.2",
        step(keys("id"), file(1, "id:int64 v:string", (1, "a"), (2, "b"))),
        step(
            file(
                2,
                [
                    ("__rowMarker__", "int32"),
                    ("id", "int64"),
                    ("v", "string"),
                    ("net price", "double"),
                ],
                (1, 1, "A", 0.5),
                (4, 3, "c", 1.5),
            ),
        ),
        expected=expect(
            [("id", "long"), ("v", "string"), ("net price", "double")],
            *((1, "A", 0.5), (2, "b", None), (3, "c", 1.5)),
            applied=2,
        ),
    ),
]

UNION = [
    vector(
        "schema/required-columns",
        "A column that is required in a file may be missing, or NULL, in the next",
        "6.2",
        table_file(1, pa.table({"id": [1], "x": ["a"]}, schema=_REQUIRED)),
        table_file(2, pa.table({"id": [2]})),
        table_file(3, pa.table({"id": [3], "x": pa.array([None], pa.string())})),
        table_file(4, pa.table({"id": [4], "x": ["d"]}, schema=_REQUIRED)),
        expected=expect("id:long x:string", (1, "a"), (2, None), (3, None), (4, "d"), applied=4),
    ),
    vector(
        "schema/column-added",
        "A new column is NULL in the rows before it",
        "6.2",
        step(keys("id"), file(1, "id:int64 v:string", (1, "a"), (2, "b"))),
        step(file(2, "m id:int64 v:string w:int64", (1, 1, "A", 10), (0, 3, "c", 30))),
        expected=expect(
            "id:long v:string w:long", (1, "A", 10), (2, "b", None), (3, "c", 30), applied=2
        ),
    ),
    vector(
        "schema/column-added-by-inserts",
        "Also where every change is an insert",
        "6.2",
        step(file(1, "id:int64", (1,))),
        step(file(2, "w:string id:int64", ("x", 2))),
        expected=expect("id:long w:string", (1, None), (2, "x"), applied=2),
    ),
    vector(
        "schema/column-dropped-and-back",
        "A column that a file lacks stays, and is NULL in its rows",
        "6.2",
        keys("id"),
        file(1, "id:int64 a:string b:string", (1, "a1", "b1")),
        file(2, "id:int64 b:string", (2, "b2")),
        file(3, "id:int64 a:string b:string", (3, "a3", "b3")),
        expected=expect(
            "id:long a:string b:string",
            *((1, "a1", "b1"), (2, None, "b2"), (3, "a3", "b3")),
            applied=3,
        ),
    ),
    vector(
        "schema/column-renamed",
        "A renamed column is a new one beside the old",
        "6.2",
        file(1, "id:int64 town:string", (1, "Oslo")),
        file(2, "id:int64 city:string", (2, "Rome")),
        expected=expect(
            "id:long town:string city:string", (1, "Oslo", None), (2, None, "Rome"), applied=2
        ),
    ),
    vector(
        "schema/columns-in-other-order",
        "Columns are matched by name, never by place",
        "6.2",
        step(keys("id"), file(1, "id:int64 a:string b:string", (1, "a1", "b1"))),
        step(file(2, "b:string __rowMarker__:int32 id:int64 a:string", ("B1", 1, 1, "A1"))),
        expected=expect("id:long a:string b:string", (1, "A1", "B1"), applied=2),
    ),
    vector(
        "schema/column-without-a-type",
        "A column that is all NULL without a type counts as absent, until it has one",
        "6.2",
        keys("id"),
        table_file(1, pa.table({"id": pa.array([1]), "later": pa.nulls(1), "v": ["a"]})),
        table_file(2, pa.table({"id": pa.array([2]), "later": pa.array([0.5]), "v": pa.nulls(1)})),
        table_file(3, pa.table({"id": pa.array([3]), "later": pa.nulls(1), "never": pa.nulls(1)})),
        expected=expect(
            "id:long v:string later:double",
            *((1, "a", None), (2, None, 0.5), (3, None, None)),
            applied=3,
        ),
    ),
    vector(
        "schema/no-typed-column-yet",
        "Without a typed column there can be no table",
        "6.2",
        table_file(1, pa.table({"id": pa.nulls(0), "v": pa.nulls(0)})),
        table_file(2, pa.table({"id": pa.nulls(2), "v": pa.nulls(2)})),
        expected=expect(applied=0, state=waits("schema")),
    ),
    vector(
        "schema/typed-column-at-last",
        "Rows from before the first typed column are there, all NULL",
        "6.2",
        step(table_file(1, pa.table({"id": pa.nulls(2)}))),
        step(file(2, "id:int64", (1,))),
        expected=expect("id:long", (None,), (None,), (1,), applied=2),
    ),
    vector(
        "schema/files-without-rows",
        "A file without rows brings its columns and nothing else",
        "6.2",
        step(keys("id"), file(1, "id:int64 v:string")),
        step(file(2, "m id:int64 w:double"), file(3, "m id:int64 v:string", (0, 3, "c"))),
        expected=expect("id:long v:string w:double", (3, "c", None), applied=3),
    ),
    vector(
        "schema/first-file-without-rows",
        "A table may be empty",
        "6.2",
        keys("id"),
        file(1, "m id:int64 v:string"),
        expected=expect("id:long v:string", applied=1),
    ),
]

GROWTH = [
    _grow(
        "growth/byte",
        "What a byte grows to",
        ("a", "int8", -128, "int16", 32767, "short", (-128, 32767)),
        ("b", "int8", -128, "int32", 2**31 - 1, "integer", (-128, 2**31 - 1)),
        ("c", "int8", -128, "int64", 2**53 - 1, "long", (-128, 2**53 - 1)),
        ("d", "int8", -128, "float", 0.5, "float", (-128, 0.5)),
        ("e", "int8", -128, "double", 0.1, "double", (-128, 0.1)),
        ("f", "int8", -128, "decimal(4,2)", Decimal("12.34"), "decimal(5,2)", ("-128.00", "12.34")),
    ),
    _grow(
        "growth/short",
        "What a short grows to",
        ("a", "int16", -32768, "int32", 2**31 - 1, "integer", (-32768, 2**31 - 1)),
        ("b", "int16", -32768, "int64", 2**53 - 1, "long", (-32768, 2**53 - 1)),
        ("c", "int16", -32768, "float", 0.25, "float", (-32768, 0.25)),
        ("d", "int16", -32768, "double", 0.1, "double", (-32768, 0.1)),
        (
            "e",
            "int16",
            -32768,
            "decimal(4,2)",
            Decimal("12.34"),
            "decimal(7,2)",
            ("-32768.00", "12.34"),
        ),
    ),
    _grow(
        "growth/integer",
        "What an integer grows to",
        ("a", "int32", -(2**31), "int64", 2**53 - 1, "long", (-(2**31), 2**53 - 1)),
        ("b", "int32", 2**31 - 1, "float", 0.5, "double", (2**31 - 1, 0.5)),
        ("c", "int32", 2**31 - 1, "double", 0.1, "double", (2**31 - 1, 0.1)),
        (
            "d",
            "int32",
            -(2**31),
            "decimal(10,2)",
            Decimal("0.01"),
            "decimal(12,2)",
            ("-2147483648.00", "0.01"),
        ),
    ),
    _grow(
        "growth/long",
        "What a long grows to",
        (
            "a",
            "int64",
            -(2**63),
            "decimal(5,2)",
            Decimal("1.25"),
            "decimal(22,2)",
            ("-9223372036854775808.00", "1.25"),
        ),
        (
            "b",
            "int64",
            2**63 - 1,
            "uint64",
            2**64 - 1,
            "decimal(20,0)",
            ("9223372036854775807", "18446744073709551615"),
        ),
    ),
    _grow(
        "growth/float-decimal-date",
        "What a float, a decimal and a date grow to",
        ("a", "float", 0.5, "double", 0.1, "double", (0.5, 0.1)),
        (
            "b",
            "decimal(10,2)",
            Decimal("12345678.90"),
            "decimal(8,4)",
            Decimal("1234.5678"),
            "decimal(12,4)",
            ("12345678.9000", "1234.5678"),
        ),
        (
            "c",
            "decimal(5,2)",
            Decimal("999.99"),
            "decimal(38,2)",
            Decimal("1.00"),
            "decimal(38,2)",
            ("999.99", "1.00"),
        ),
        (
            "d",
            "date32",
            date(2024, 2, 29),
            _US,
            _AT,
            "timestamp",
            ("2024-02-29T00:00:00.000000Z", _SHOWN),
        ),
    ),
    vector(
        "growth/several-steps-in-one-batch",
        "A type may grow again and again, also within files that are applied together",
        "6.3",
        step(keys("id"), file(1, "id:int8 v:int8", (1, 1), (2, 2))),
        step(
            file(2, "m id:int16 v:int32", (1, 1, 70000), (4, 300, 3)),
            file(3, "m id:int32 v:double", (1, 2, 0.5), (2, 300, None)),
            file(4, "m id:int64 v:int8", (4, 2**40, 4)),
        ),
        expected=expect("id:long v:double", (1, 70000.0), (2, 0.5), (2**40, 4.0), applied=4),
    ),
    vector(
        "growth/by-the-table-feature",
        "typeChange feature gives the same rows",
        "6.3",
        step(keys("id"), file(1, "id:int32 v:int16 w:float", (1, 1, 0.5))),
        step(file(2, "m id:int64 v:int32 w:double", (1, 1, 70000, 0.1), (4, 2**40, 2, 1.5))),
        expected=expect("id:long v:integer w:double", (1, 70000, 0.1), (2**40, 2, 1.5), applied=2),
        settings=_FEATURE,
    ),
    vector(
        "growth/not-wanted",
        "typeChange stop stops the table where a type would have to grow, and only there",
        "6.3",
        file(1, "id:int32", (1,)),
        file(2, "id:int16", (2,)),
        file(3, "id:int64", (3,)),
        expected=expect("id:integer", (1,), (2,), applied=2, state=paused("SchemaMergeFailure", 3)),
        settings=_STOP,
    ),
    _apart(
        "growth/text-and-number",
        "Text and numbers do not merge",
        "string",
        "a",
        "int64",
        1,
        ("string", "a"),
    ),
    _apart(
        "growth/number-and-text", "Nor do numbers and text", "int64", 1, "string", "1", ("long", 1)
    ),
    _apart(
        "growth/text-and-bytes",
        "Text and binary do not merge",
        "string",
        "a",
        "binary",
        b"a",
        ("string", "a"),
    ),
    _apart(
        "growth/boolean-and-number",
        "A boolean is no number",
        "bool",
        True,
        "int8",
        1,
        ("boolean", True),
    ),
    _apart(
        "growth/long-and-double",
        "2^53+1 would not survive in a double",
        "int64",
        2**53 + 1,
        "double",
        0.5,
        ("long", "9007199254740993"),
    ),
    _apart("growth/long-and-float", "Nor in a float", "float", 0.5, "int64", 1, ("float", 0.5)),
    _apart(
        "growth/double-and-decimal",
        "Floats and decimals do not merge",
        "double",
        0.5,
        "decimal(5,2)",
        Decimal("1.25"),
        ("double", 0.5),
    ),
    _apart(
        "growth/decimals-of-39-digits",
        "No decimal has more than 38 digits",
        "decimal(38,0)",
        Decimal(1),
        "decimal(5,1)",
        Decimal("0.5"),
        ("decimal(38,0)", "1"),
    ),
    _apart(
        "growth/date-and-text",
        "A date is no text",
        "date32",
        date(2024, 1, 1),
        "string",
        "2024-01-01",
        ("date", "2024-01-01"),
    ),
    _apart(
        "growth/timestamp-and-number",
        "A timestamp is no number",
        _US,
        _AT,
        "int64",
        1,
        ("timestamp", _SHOWN),
    ),
]

# One of each type, with what a table shows of it.
_ONE_OF = {
    "byte": ("int8", 1, "byte", 1),
    "short": ("int16", 1, "short", 1),
    "integer": ("int32", 1, "integer", 1),
    "long": ("int64", 1, "long", 1),
    "float": ("float", 0.5, "float", 0.5),
    "double": ("double", 0.5, "double", 0.5),
    "decimal": ("decimal(5,2)", Decimal("1.25"), "decimal(5,2)", "1.25"),
    "date": ("date32", date(2024, 1, 1), "date", "2024-01-01"),
    "timestamp": (_US, _AT, "timestamp", _SHOWN),
    "text": ("string", "1", "string", "1"),
}
_NEVER = [
    *((number, "date") for number in ("byte", "short", "integer", "long", "decimal")),
    *((number, "timestamp") for number in ("byte", "short", "integer", "decimal")),
    *((real, other) for real in ("float", "double") for other in ("date", "timestamp")),
    ("float", "decimal"),
    *((kind, "text") for kind in ("byte", "short", "integer", "float", "double", "decimal")),
    ("timestamp", "text"),
]
GROWTH.append(
    vector(
        "growth/never",
        "Pairs of types that no type of a table holds both of",
        "6.3",
        *(
            file(number, [("x", _ONE_OF[kind][0])], (_ONE_OF[kind][1],), folder=f"{a}-{b}")
            for a, b in _NEVER
            for number, kind in ((1, a), (2, b))
        ),
        expected=tuple(
            expect(
                [("x", _ONE_OF[a][2])],
                (_ONE_OF[a][3],),
                applied=1,
                state=paused("SchemaMergeFailure", 2),
                folder=f"{a}-{b}",
            )
            for a, b in _NEVER
        ),
    )
)

TYPES = [
    mapped(
        "types/integers",
        "Whole numbers of every width, at both ends",
        {
            "i8": pa.array([-(2**7), 2**7 - 1, None], pa.int8()),
            "i16": pa.array([-(2**15), 2**15 - 1, None], pa.int16()),
            "i32": pa.array([-(2**31), 2**31 - 1, None], pa.int32()),
            "i64": pa.array([-(2**63), 2**63 - 1, None], pa.int64()),
        },
        "i8:byte i16:short i32:integer i64:long",
        (-128, -32768, -(2**31), str(-(2**63))),
        (127, 32767, 2**31 - 1, str(2**63 - 1)),
        (None, None, None, None),
    ),
    mapped(
        "types/unsigned-integers",
        "Unsigned numbers become the next wider signed type",
        {
            "u8": pa.array([0, 2**8 - 1], pa.uint8()),
            "u16": pa.array([0, 2**16 - 1], pa.uint16()),
            "u32": pa.array([0, 2**32 - 1], pa.uint32()),
            "u64": pa.array([0, 2**64 - 1], pa.uint64()),
        },
        "u8:short u16:integer u32:long u64:decimal(20,0)",
        (0, 0, 0, "0"),
        (255, 65535, 2**32 - 1, str(2**64 - 1)),
    ),
    mapped(
        "types/floats",
        "Floats, with NaN and infinities as values",
        {
            "f": pa.array([0.5, float("nan"), float("inf"), None], pa.float32()),
            "d": pa.array([0.1, float("nan"), float("-inf"), None], pa.float64()),
        },
        "f:float d:double",
        (0.5, 0.1),
        ("NaN", "NaN"),
        ("Infinity", "-Infinity"),
        (None, None),
    ),
    mapped(
        "types/booleans-and-text",
        "Booleans, text and large text",
        {
            "b": pa.array([True, False, None]),
            "s": pa.array(["", "grün 注文 \U0001f600", None]),
            "l": pa.array(["x", 'line\nbreak\t"quote"', None], pa.large_string()),
        },
        "b:boolean s:string l:string",
        (True, "", "x"),
        (False, "grün 注文 \U0001f600", 'line\nbreak\t"quote"'),
        (None, None, None),
    ),
    mapped(
        "types/dictionaries",
        "A dictionary is only a way of writing",
        {
            "city": pa.array(["Oslo", "Rome", "Oslo", None]).dictionary_encode(),
            "n": pa.array([1, 2, 1, None]).dictionary_encode(),
        },
        "city:string n:long",
        *(("Oslo", 1), ("Rome", 2), ("Oslo", 1), (None, None)),
        use_dictionary=True,
    ),
    mapped(
        "types/bytes",
        "Binary of free and of fixed length",
        {
            "b": pa.array([b"", b"\x00\xff", None], pa.binary()),
            "l": pa.array([b"a", b"", None], pa.large_binary()),
            "f": pa.array([b"abc", b"\x00\x01\x02", None], pa.binary(3)),
        },
        "b:binary l:binary f:binary",
        *(("", "61", "616263"), ("00ff", "", "000102"), (None, None, None)),
    ),
    mapped(
        "types/decimals",
        "Decimals as fixed bytes",
        {
            "a": pa.array([Decimal("-0.01"), Decimal("999.99")], pa.decimal128(5, 2)),
            "b": pa.array([Decimal(1), Decimal("-" + "9" * 38)], pa.decimal128(38, 0)),
            "c": pa.array([Decimal("0." + "1" * 38), None], pa.decimal128(38, 38)),
            "d": pa.array([Decimal("1234567890.12"), None], pa.decimal128(18, 2)),
        },
        "a:decimal(5,2) b:decimal(38,0) c:decimal(38,38) d:decimal(18,2)",
        ("-0.01", "1", "0." + "1" * 38, "1234567890.12"),
        ("999.99", "-" + "9" * 38, None, None),
    ),
    mapped(
        "types/decimals-as-integers",
        "Decimals as 32- and 64-bit integers",
        {
            "a": pa.array([Decimal("-0.01"), Decimal("999.99")], pa.decimal128(5, 2)),
            "b": pa.array([Decimal("1234567890.12"), None], pa.decimal128(18, 2)),
        },
        "a:decimal(5,2) b:decimal(18,2)",
        ("-0.01", "1234567890.12"),
        ("999.99", None),
        store_decimal_as_integer=True,
    ),
    mapped(
        "types/dates",
        "Dates of all four-digit years",
        {
            "d": pa.array(
                [date(1, 1, 1), date(1582, 10, 4), date(1970, 1, 1), date(9999, 12, 31), None]
            )
        },
        "d:date",
        *(("0001-01-01",), ("1582-10-04",), ("1970-01-01",), ("9999-12-31",), (None,)),
    ),
    mapped(
        "types/timestamps",
        "Timestamps in milliseconds and microseconds, of any zone, are moments",
        {
            "us": pa.array([_AT, None], _US),
            "ms": pa.array([_AT.replace(microsecond=123000), None], pa.timestamp("ms", "UTC")),
            "oslo": pa.array([_AT, None], pa.timestamp("us", "Europe/Oslo")),
        },
        "us:timestamp ms:timestamp oslo:timestamp",
        (_SHOWN, "2024-02-29T23:59:59.123000Z", _SHOWN),
        (None, None, None),
    ),
    mapped(
        "types/timestamps-without-a-zone",
        "Timestamps without a zone are taken as UTC",
        {
            "us": pa.array([_AT.replace(tzinfo=None), None], pa.timestamp("us")),
            "ms": pa.array([_AT.replace(tzinfo=None, microsecond=0), None], pa.timestamp("ms")),
            "s": pa.array([_AT.replace(tzinfo=None, microsecond=0), None], pa.timestamp("s")),
        },
        "us:timestamp ms:timestamp s:timestamp",
        (_SHOWN, "2024-02-29T23:59:59.000000Z", "2024-02-29T23:59:59.000000Z"),
        (None, None, None),
    ),
    mapped(
        "types/timestamps-far-from-now",
        "Moments before 1970 and before 1582 stay what they are",
        {
            "t": pa.array(
                [
                    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
                    datetime(1500, 1, 1, tzinfo=UTC),
                    datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
                ],
                _US,
            )
        },
        "t:timestamp",
        *(("1969-12-31T23:59:59.999999Z",), ("1500-01-01T00:00:00.000000Z",)),
        ("9999-12-31T23:59:59.000000Z",),
    ),
    mapped(
        "types/int96",
        "INT96 is a moment",
        {"t": pa.array([_AT, datetime(1969, 12, 31, 23, 59, 59, 5, tzinfo=UTC), None], _US)},
        "t:timestamp",
        *((_SHOWN,), ("1969-12-31T23:59:59.000005Z",), (None,)),
        use_deprecated_int96_timestamps=True,
    ),
    mapped(
        "types/old-converted-types",
        "Files of Parquet's first version say the same in converted types",
        {
            "u8": pa.array([255], pa.uint8()),
            "i16": pa.array([-5], pa.int16()),
            "u32": pa.array([2**32 - 1], pa.uint32()),
            "s": pa.array(["x"]),
            "t": pa.array([_AT], _US),
            "d": pa.array([date(2024, 2, 29)]),
        },
        "u8:short i16:short u32:long s:string t:timestamp d:date",
        (255, -5, 2**32 - 1, "x", _SHOWN, "2024-02-29"),
        version="1.0",
    ),
    mapped(
        "types/arrows-own-schema",
        "Arrow's own schema is ignored: a duration is the integer that it is stored as",
        {"d": pa.array([1_500_000, None], pa.duration("us"))},
        "d:long",
        *((1_500_000,), (None,)),
    ),
    mapped(
        "types/json",
        "JSON is text",
        {"j": pa.array(['{"a": 1}', None], pa.json_())},
        "j:string",
        *(('{"a": 1}',), (None,)),
    ),
    mapped(
        "types/page-versions-and-codecs",
        "Compression and page versions are Parquet's affair",
        {"n": pa.array([1, 2, None]), "s": pa.array(["a", None, "a"])},
        "n:long s:string",
        *((1, "a"), (2, None), (None, "a")),
        compression={"n": "zstd", "s": "gzip"},
        data_page_version="2.0",
        use_dictionary=["s"],
    ),
    *converted.TYPES,
]

CASES = [*NAMES, *UNION, *GROWTH, *TYPES]
