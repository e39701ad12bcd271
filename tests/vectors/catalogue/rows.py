"""§5: row markers, keys, and the order in which changes count."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa

from tests.vectors.catalogue.words import (
    IDLE,
    Columns,
    Vector,
    expect,
    file,
    keys,
    paused,
    step,
    table_file,
    vector,
)

_V = "m id:int64 v:string"
_SEEN = "id:long v:string"
_NAN = float("nan")
_ALL = (0, 1, 2, 4)


def _after(
    name: str,
    title: str,
    protocol: str,
    before: list[tuple[int, str]],
    changes: list[tuple[Any, ...]],
    *rows: tuple[Any, ...],
) -> Vector:
    """A file of rows, then a file of changes to them; in one commit or in two."""
    first = file(1, "id:int64 v:string", (0, "other"), *before)
    second = file(2, _V, *changes)
    return vector(
        name,
        title,
        protocol,
        keys("id"),
        first,
        second,
        expected=expect(_SEEN, (0, "other"), *rows, applied=2),
    )


def _refused_marker(name: str, title: str, second: Any, protocol: str = "5.1") -> Vector:
    """A good file, one whose markers are wrong, another good one."""
    return vector(
        name,
        title,
        protocol,
        keys("id"),
        file(1, _V, (0, 1, "a")),
        second,
        file(3, _V, (0, 3, "c")),
        expected=expect(_SEEN, (1, "a"), applied=1, state=paused("RowMarkerInvalid", 2)),
    )


def _keys(
    name: str,
    title: str,
    kind: str,
    seen: str,
    first: list[Any],
    second: list[tuple[int, Any]],
    *rows: tuple[Any, ...],
) -> Vector:
    """Keys of one type: inserts in a commit of their own, then changes by key."""
    return vector(
        name,
        title,
        "5.4",
        step(keys("k"), file(1, f"k:{kind} v:int64", *((key, at) for at, key in enumerate(first)))),
        step(
            file(2, f"m k:{kind} v:int64", *((m, key, 90 + n) for n, (m, key) in enumerate(second)))
        ),
        expected=expect(f"k:{seen} v:long", *rows, applied=2),
    )


def _marked(name: str, title: str, columns: Columns, *rows: tuple[Any, ...]) -> Vector:
    """Markers written in an unusual way; key 1 is deleted by them, key 2 upserted."""
    return vector(
        name,
        title,
        "5.1",
        keys("id"),
        file(1, "id:int64 v:string", (1, "a"), (2, "b")),
        file(2, columns, *rows),
        expected=expect(_SEEN, (2, "x"), applied=2),
    )


_WIDTHS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")

CASES = [
    _after("rows/insert-of-an-absent-key", "0 adds a row", "5.1", [], [(0, 1, "a")], (1, "a")),
    _after(
        "rows/insert-of-a-present-key",
        "0 adds a second row without comparing keys",
        "5.1 5.3",
        [(1, "a")],
        [(0, 1, "b")],
        (1, "a"),
        (1, "b"),
    ),
    _after("rows/update-of-an-absent-key", "1 adds a row", "5.1", [], [(1, 1, "a")], (1, "a")),
    _after(
        "rows/update-of-a-present-key",
        "1 replaces the row",
        "5.1",
        [(1, "a"), (2, "b")],
        [(1, 1, "x")],
        (1, "x"),
        (2, "b"),
    ),
    _after(
        "rows/update-of-a-duplicated-key",
        "1 replaces every row of the key and removes none",
        "5.1 5.3",
        [(1, "a"), (1, "b"), (1, "c")],
        [(1, 1, "x")],
        (1, "x"),
        (1, "x"),
        (1, "x"),
    ),
    _after("rows/upsert-of-an-absent-key", "4 adds a row", "5.1", [], [(4, 1, "a")], (1, "a")),
    _after(
        "rows/upsert-of-a-duplicated-key",
        "4 is the same as 1",
        "5.1",
        [(1, "a"), (1, "b")],
        [(4, 1, "x"), (4, 2, "y")],
        (1, "x"),
        (1, "x"),
        (2, "y"),
    ),
    _after("rows/delete-of-an-absent-key", "2 does nothing", "5.1", [], [(2, 1, None)]),
    _after(
        "rows/delete-of-a-duplicated-key",
        "2 removes every row of the key",
        "5.1 5.3",
        [(1, "a"), (1, "b"), (2, "c")],
        [(2, 1, None)],
        (2, "c"),
    ),
    vector(
        "rows/every-marker-on-every-kind-of-key",
        "Each marker on a key that no row has, one row has, or two rows have",
        "5.1 5.3 5.5",
        step(
            keys("id"),
            file(
                1,
                "id:int64 v:string",
                *((n, "one") for n in (10, 11, 12, 14)),
                *((n, "two") for n in (20, 20, 21, 21, 22, 22, 24, 24)),
            ),
        ),
        step(
            file(
                2, _V, *((n % 10, n, "new") for n in (0, 1, 2, 4, *range(10, 25)) if n % 10 in _ALL)
            )
        ),
        expected=expect(
            _SEEN,
            *((n, "new") for n in (0, 1, 4, 10, 11, 14, 20, 21, 21, 24, 24)),
            *((10, "one"), (20, "two"), (20, "two")),
            applied=2,
        ),
    ),
    _after(
        "rows/change-of-a-key",
        "A key changes by a delete and an insert",
        "5.1",
        [(7, "Oslo")],
        [(2, 7, None), (0, 8, "Oslo")],
        (8, "Oslo"),
    ),
    _after(
        "rows/keys-that-swap",
        "Two keys may swap their rows within one file",
        "5.1 5.3",
        [(1, "a"), (2, "b")],
        [(2, 1, None), (2, 2, None), (0, 1, "b"), (0, 2, "a")],
        (1, "b"),
        (2, "a"),
    ),
    _after(
        "rows/many-changes-of-one-key-in-a-file",
        "Every change counts, in order",
        "5.3 5.5",
        [(1, "a"), (1, "b")],
        [
            (0, 1, "c"),
            (1, 1, "d"),
            (2, 1, None),
            (2, 1, None),
            (1, 1, "e"),
            (0, 1, "f"),
            (4, 1, "g"),
            (0, 1, "h"),
        ],
        (1, "g"),
        (1, "g"),
        (1, "h"),
    ),
    _after(
        "rows/insert-before-and-after-an-update",
        "An insert before the update takes its values, one after it keeps its own",
        "5.3 5.5",
        [(1, "a")],
        [(0, 1, "b"), (1, 1, "x"), (0, 1, "c"), (0, 2, "d"), (1, 2, "y"), (0, 2, "e")],
        (1, "x"),
        (1, "x"),
        (1, "c"),
        (2, "y"),
        (2, "e"),
    ),
    _after(
        "rows/what-follows-a-delete",
        "After a delete a key starts from nothing",
        "5.3 5.5",
        [(1, "a"), (1, "b"), (2, "c"), (3, "d")],
        [
            (2, 1, None),
            (4, 1, "x"),
            (2, 2, None),
            (0, 2, "y"),
            (0, 2, "z"),
            (1, 3, "w"),
            (2, 3, None),
        ],
        (1, "x"),
        (2, "y"),
        (2, "z"),
    ),
    vector(
        "rows/many-changes-of-one-key-across-files",
        "Order is by sequence, then by row",
        "5.3 5.5 3.5",
        step(keys("id"), file(1, _V, (0, 1, "a"), (0, 2, "b"), (4, 3, "c"))),
        step(
            file(2, _V, (2, 1, None), (1, 2, "b2"), (0, 4, "d")),
            file(3, _V, (4, 1, "x"), (0, 2, "b3"), (1, 4, "d2")),
            file(4, _V, (1, 1, "y"), (2, 3, None), (0, 4, "d3")),
            file(5, _V, (0, 1, "z"), (1, 3, "c2"), (1, 2, "b4")),
        ),
        expected=expect(
            _SEEN,
            *((1, "y"), (1, "z"), (2, "b4"), (2, "b4"), (3, "c2"), (4, "d2"), (4, "d3")),
            applied=5,
        ),
    ),
    vector(
        "rows/example-of-folding",
        "The example of PROTOCOL.md §5.5",
        "5.5",
        step(
            keys("id"),
            *(
                file(n, "id:int64 v:string", *rows)
                for n, rows in enumerate(
                    [[(1, "a")], [(1, "a2")], [(2, "b")], [(3, "c")], [], []], start=1
                )
            ),
        ),
        step(
            file(7, _V, (1, 1, "x"), (0, 1, "y"), (2, 2, None), (0, 2, "b2")),
            file(8, _V, (4, 4, "e"), (0, 3, "c2"), (1, 3, "c3"), (2, 5, None)),
        ),
        expected=expect(
            _SEEN,
            *((1, "x"), (1, "x"), (1, "y"), (2, "b2"), (3, "c3"), (3, "c3"), (4, "e")),
            applied=8,
        ),
    ),
    vector(
        "rows/everything-in-the-first-file",
        "A first file may hold every kind of change",
        "5.1 5.5",
        keys("id"),
        file(1, _V, (2, 1, None), (1, 2, "a"), (4, 3, "b"), (0, 3, "c"), (0, 4, "d"), (2, 4, None)),
        expected=expect(_SEEN, (2, "a"), (3, "b"), (3, "c"), applied=1),
    ),
    vector(
        "rows/everything-deleted",
        "A table whose rows are all deleted stays, empty",
        "5.1",
        step(keys("id"), file(1, _V, (0, 1, "a"))),
        step(file(2, _V, (2, 1, None))),
        expected=expect(_SEEN, applied=2),
    ),
    vector(
        "rows/no-marker-column",
        "Without markers each row is an insert, keys or not",
        "5.2",
        keys("id"),
        file(1, "id:int64 v:string", (1, "a"), (1, "a")),
        expected=expect(_SEEN, (1, "a"), (1, "a"), applied=1),
    ),
    vector(
        "rows/no-marker-column-after-marked-files",
        "A file without markers adds its rows; it is not a new snapshot",
        "5.2",
        step(keys("id"), file(1, _V, (4, 1, "a"), (4, 2, "b"))),
        step(file(2, "id:int64 v:string", (1, "c"))),
        expected=expect(_SEEN, (1, "a"), (1, "c"), (2, "b"), applied=2),
    ),
    vector(
        "rows/upsert-by-default",
        "isUpsertDefaultRowMarker makes rows without markers upserts, file by file",
        "5.2 4.2",
        step(
            keys("id", isUpsertDefaultRowMarker="true"),
            file(1, "id:int64 v:string", (1, "a"), (2, "b"), (1, "c")),
        ),
        step(file(2, _V, (0, 2, "d")), file(3, "id:int64 v:string", (2, "e"), (3, "f"))),
        expected=expect(_SEEN, (1, "c"), (2, "e"), (2, "e"), (3, "f"), applied=3),
    ),
    vector(
        "rows/upsert-by-default-without-keys",
        "isUpsertDefaultRowMarker needs keys",
        "4.2 5.1",
        keys(isUpsertDefaultRowMarker=True),
        file(1, "id:int64", (1,)),
        expected=expect(applied=0, state=paused("KeyColumnsUndeclared")),
    ),
    *(
        vector(
            f"rows/marker-{marker}-without-keys",
            "A table without keys takes inserts only",
            "5.1",
            keys(),
            file(1, "m id:int64", (0, 1)),
            file(2, "m id:int64", (0, 2), (marker, 1)),
            expected=expect("id:long", (1,), applied=1, state=paused("KeyColumnsUndeclared", 2)),
        )
        for marker in (1, 2, 4)
    ),
    _marked(
        "rows/marker-column-first",
        "The marker may be the first column",
        _V,
        (2, 1, None),
        (4, 2, "x"),
    ),
    _marked(
        "rows/marker-column-in-the-middle",
        "Or stand in the middle",
        "id:int64 __rowMarker__:int32 v:string",
        (1, 2, None),
        (2, 4, "x"),
    ),
    _marked(
        "rows/marker-column-last",
        "Or be the last",
        "id:int64 v:string __rowMarker__:int32",
        (1, None, 2),
        (2, "x", 4),
    ),
    _marked(
        "rows/marker-column-in-other-casing",
        "Its name counts in any casing",
        "__ROWMARKER__:int32 id:int64 v:string",
        (2, 1, None),
        (4, 2, "x"),
    ),
    _marked(
        "rows/marker-as-text",
        "Markers may be text",
        "__rowMarker__:string id:int64 v:string",
        ("2", 1, None),
        ("4", 2, "x"),
    ),
    vector(
        "rows/marker-of-every-width",
        "Markers may be whole numbers of any width, signed or not",
        "5.1",
        keys("id"),
        *(
            file(n, f"__rowMarker__:{width} id:int64 v:string", (4, n, width), (1, 0, width))
            for n, width in enumerate(_WIDTHS, start=1)
        ),
        expected=expect(
            _SEEN,
            (0, _WIDTHS[-1]),
            *((n, width) for n, width in enumerate(_WIDTHS, start=1)),
            applied=len(_WIDTHS),
        ),
    ),
    _refused_marker("rows/marker-3", "3 is no marker", file(2, _V, (0, 2, "b"), (3, 2, "c"))),
    _refused_marker("rows/marker-null", "Nor is NULL", file(2, _V, (0, 2, "b"), (None, 2, "c"))),
    _refused_marker(
        "rows/marker-as-a-word",
        "Nor is a word",
        file(2, "__rowMarker__:string id:int64 v:string", ("0", 2, "b"), ("x", 2, "c")),
    ),
    vector(
        "rows/marker-that-is-whole",
        "A marker may be a number with a point, or text of one, as long as it is whole",
        "5.1",
        keys("id"),
        file(1, "__rowMarker__:double id:int64 v:string", (0.0, 1, "a"), (4.0, 1, "b")),
        file(2, "__rowMarker__:float id:int64 v:string", (4.0, 2, "b"), (2.0, 1, None)),
        file(3, "__rowMarker__:string id:int64 v:string", ("4.0", 2, "c"), ("+0.", 3, "d")),
        file(
            4,
            "__rowMarker__:decimal(38,0) id:int64 v:string",
            (Decimal(4), 2, "e"),
            (Decimal(1), 4, "f"),
        ),
        file(5, "__rowMarker__:decimal(5,2) id:int64 v:string", (Decimal(2), 4, None)),
        expected=expect(_SEEN, (2, "e"), (3, "d"), applied=5),
    ),
    *(
        _refused_marker(
            f"rows/marker-that-is-not-whole-{name}",
            "A marker that is no whole number is none",
            file(2, f"__rowMarker__:{kind} id:int64 v:string", (whole, 2, "b"), (wrong, 2, "c")),
        )
        for name, kind, whole, wrong in (
            ("double", "double", 0.0, 4.5),
            ("nan", "float", 0.0, float("nan")),
            ("decimal", "decimal(38,30)", Decimal(0), Decimal("4." + "0" * 29 + "1")),
            ("text", "string", "0", "4.01"),
            ("blank-inside", "string", " 0. ", "4 .0"),
            ("control-character", "string", "+0.00", "4\x7f"),
        )
    ),
    _refused_marker(
        "rows/marker-all-null",
        "A marker column of Parquet's Null type says nothing about its rows",
        table_file(
            2,
            pa.table({"__rowMarker__": pa.nulls(1), "id": pa.array([2]), "v": pa.array(["b"])}),
        ),
        protocol="5.1",
    ),
    vector(
        "rows/marker-all-null-without-rows",
        "In a file without rows it says nothing either, and need not",
        "5.1 6.2",
        keys("id"),
        file(1, _V, (0, 1, "a")),
        table_file(2, pa.table({"__rowMarker__": pa.nulls(0), "id": pa.array([], pa.int64())})),
        expected=expect(_SEEN, (1, "a"), applied=2),
    ),
    vector(
        "rows/two-marker-columns",
        "Two marker columns are one name twice",
        "5.1 6.1",
        keys("id"),
        file(1, _V, (0, 1, "a")),
        file(2, "m __ROWMARKER__:int32 id:int64 v:string", (0, 0, 2, "b")),
        expected=expect(_SEEN, (1, "a"), applied=1, state=paused("ColumnsDuplicate", 2)),
    ),
    vector(
        "rows/update-with-fewer-columns",
        "An update is the whole row: what the file lacks becomes NULL",
        "5.1 6.2",
        step(keys("id"), file(1, "id:int64 a:string b:int64", (1, "a", 10), (2, "b", 20))),
        step(file(2, "m id:int64 b:int64", (1, 1, 11))),
        expected=expect("id:long a:string b:long", (1, None, 11), (2, "b", 20), applied=2),
    ),
    vector(
        "rows/deletes-with-only-the-keys",
        "A file of deletes needs no more than its keys",
        "5.1 6.2",
        step(keys("id"), file(1, "id:int64 v:string w:double", (1, "a", 0.5), (2, "b", 1.5))),
        step(file(2, "id:int64 __rowMarker__:int32", (1, 2))),
        expected=expect("id:long v:string w:double", (2, "b", 1.5), applied=2),
    ),
    vector(
        "rows/deletes-with-columns-of-no-type",
        "Columns that are all NULL may have no type",
        "5.1 6.2",
        step(keys("id"), file(1, "id:int64 v:string", (1, "a"), (2, "b"))),
        step(
            table_file(
                2,
                pa.table(
                    {
                        "id": pa.array([2]),
                        "v": pa.nulls(1),
                        "__rowMarker__": pa.array([2], pa.int32()),
                    }
                ),
            )
        ),
        expected=expect(_SEEN, (1, "a"), applied=2),
    ),
    vector(
        "rows/key-column-missing",
        "A file with rows must have every key column, whatever its markers",
        "5.1",
        keys("a", "b"),
        file(1, "a:int64 b:int64 v:string", (1, 1, "x")),
        file(2, "a:int64 v:string", (2, "y")),
        expected=expect(
            "a:long b:long v:string",
            (1, 1, "x"),
            applied=1,
            state=paused("KeyColumnMissing", 2),
        ),
    ),
    vector(
        "rows/key-column-without-a-type",
        "A key column of Parquet's Null type counts as missing",
        "5.1 6.2",
        keys("id"),
        file(1, "id:int64 v:string", (1, "x")),
        table_file(2, pa.table({"id": pa.nulls(1), "v": pa.array(["y"])})),
        expected=expect(_SEEN, (1, "x"), applied=1, state=paused("KeyColumnMissing", 2)),
    ),
    vector(
        "rows/key-column-missing-without-rows",
        "A file without rows needs no key column",
        "5.1 6.2",
        keys("id"),
        file(1, "id:int64 v:string", (1, "x")),
        file(2, "v:string"),
        file(3, "id:int64 v:string", (3, "z")),
        expected=expect(_SEEN, (1, "x"), (3, "z"), applied=3),
    ),
    vector(
        "rows/key-column-missing-without-rows-from-the-first-file-on",
        "Nor does it where no file had that column before",
        "5.1 6.2",
        keys("id"),
        file(1, "v:string"),
        file(2, "m w:int64"),
        expected=expect("v:string w:long", applied=2),
    ),
    vector(
        "rows/composite-key",
        "Rows are the same when every key column is equal, NULL included",
        "5.4 4.2",
        step(
            keys("a", "b"),
            file(
                1,
                "a:int64 v:string b:string",
                *(
                    (1, "p", "x"),
                    (1, "q", "y"),
                    (1, "r", None),
                    (None, "s", "x"),
                    (None, "t", None),
                ),
            ),
        ),
        step(
            file(
                2,
                "m a:int64 b:string v:string",
                *((1, 1, "x", "P"), (2, 1, None, None), (4, None, "x", "S"), (4, None, None, "T")),
                *((2, 2, "x", None), (4, 2, None, "new")),
            )
        ),
        expected=expect(
            "a:long v:string b:string",
            *((1, "P", "x"), (1, "q", "y"), (None, "S", "x"), (None, "T", None), (2, "new", None)),
            applied=2,
        ),
    ),
    vector(
        "rows/key-column-in-other-casing",
        "Key columns are found whatever their casing, in metadata, table and file",
        "4.2 6.1",
        step(keys("ORDERID"), file(1, "OrderId:int64 v:string", (1, "a"))),
        step(file(2, "m orderid:int64 V:string", (1, 1, "b"), (4, 2, "c"))),
        expected=expect("OrderId:long v:string", (1, "b"), (2, "c"), applied=2),
    ),
    _keys(
        "rows/keys-of-null",
        "NULL is a key like any other",
        "string",
        "string",
        [None, None, "a"],
        [(1, None), (2, "b"), (4, "c")],
        (None, 90),
        (None, 90),
        ("a", 2),
        ("c", 92),
    ),
    _keys(
        "rows/keys-of-nan",
        "NaN equals NaN, and infinities are numbers",
        "double",
        "double",
        [_NAN, 1.0, float("inf"), float("-inf")],
        [(1, _NAN), (2, float("inf")), (4, 2.0)],
        ("NaN", 90),
        (1.0, 1),
        ("-Infinity", 3),
        (2.0, 92),
    ),
    _keys(
        "rows/keys-of-negative-zero",
        "-0.0 equals 0.0, both ways",
        "double",
        "double",
        [0.0, 1.0],
        [(1, -0.0), (0, -0.0), (1, 0.0)],
        (0.0, 92),
        (0.0, 92),
        (1.0, 1),
    ),
    _keys(
        "rows/keys-of-float",
        "Single precision keys are the same keys",
        "float",
        "float",
        [_NAN, -0.0, 1.5],
        [(2, _NAN), (1, 0.0), (1, 1.5)],
        (0.0, 91),
        (1.5, 92),
    ),
    _keys(
        "rows/keys-of-text",
        "Text is compared byte by byte: case, blanks and composition differ",
        "string",
        "string",
        ["abc", "a", "\u00e9", "", "\u00df"],
        [(1, "ABC"), (1, "a "), (1, "e\u0301"), (2, ""), (1, "ss"), (1, "abc")],
        ("abc", 95),
        ("ABC", 90),
        ("a", 1),
        ("a ", 91),
        ("\u00e9", 2),
        ("e\u0301", 92),
        ("\u00df", 4),
        ("ss", 94),
    ),
    _keys(
        "rows/keys-of-bytes",
        "Binary is compared byte by byte",
        "binary",
        "binary",
        [b"", b"\x00", b"a"],
        [(1, b"\x00"), (2, b""), (1, b"\x00\x00"), (1, b"A")],
        ("00", 90),
        ("61", 2),
        ("0000", 92),
        ("41", 93),
    ),
    _keys(
        "rows/keys-of-decimal",
        "Decimals are compared by value",
        "decimal(10,2)",
        "decimal(10,2)",
        [*(pa.scalar(n, pa.decimal128(10, 2)).as_py() for n in (1, 2))],
        [(1, pa.scalar(1, pa.decimal128(10, 2)).as_py())],
        ("1.00", 90),
        ("2.00", 1),
    ),
    vector(
        "rows/keys-of-growing-types",
        "Keys are compared in the table's type, whatever a file's type is",
        "5.4 6.3",
        step(keys("k"), file(1, "k:int32 v:string", (1, "a"), (2, "b"))),
        step(
            file(2, "m k:int64 v:string", (1, 1, "A"), (4, 2**40, "c")),
            file(3, "m k:int8 v:string", (1, 2, "B"), (2, 3, None)),
        ),
        expected=expect("k:long v:string", (1, "A"), (2, "B"), (2**40, "c"), applied=3, state=IDLE),
    ),
    vector(
        "rows/key-of-a-date-that-grows",
        "A date is that day's midnight",
        "5.4 6.3",
        step(
            keys("day"),
            table_file(1, pa.table({"day": pa.array([0, 1], pa.date32()), "v": ["a", "b"]})),
        ),
        step(
            table_file(
                2,
                pa.table(
                    {
                        "day": pa.array([0, 3_600_000_000], pa.timestamp("us", "UTC")),
                        "v": ["A", "c"],
                        "__rowMarker__": [1, 1],
                    }
                ),
            )
        ),
        expected=expect(
            "day:timestamp v:string",
            ("1970-01-01T00:00:00.000000Z", "A"),
            ("1970-01-02T00:00:00.000000Z", "b"),
            ("1970-01-01T01:00:00.000000Z", "c"),
            applied=2,
        ),
    ),
]
