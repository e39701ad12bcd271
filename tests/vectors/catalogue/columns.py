"""§6.1, §6.2: columns that come, go, come again, and are called anything at all."""

from __future__ import annotations

import pyarrow as pa

from tests.vectors.catalogue.words import (
    Columns,
    Item,
    expect,
    file,
    keys,
    paused,
    step,
    table_file,
    vector,
)


def _never_null(number: int, *ids: int) -> Item:
    """A file whose columns are declared without NULLs, as SQL sources declare keys."""
    fields = [pa.field("id", pa.int64(), nullable=False), pa.field("v", pa.string(), False)]
    columns = [pa.array(ids), pa.array([f"v{n}" for n in ids])]
    return table_file(number, pa.Table.from_arrays(columns, schema=pa.schema(fields)))


# Words that mean something to SQL, Spark, Delta, pandas or to this very program.
_WORDS = (
    *("_metadata", "_change_type", "_commit_version", "_commit_timestamp", "__index_level_0__"),
    *("_rowMarker__", "rowMarker", "${HOME}", "null", "select", "*", "s", "t.id", "_c0", "c1"),
)
# Characters that somebody has to escape somewhere.
_CHARACTERS = (
    *("a\nb", 'a"b', "a'b", "a\\b", "a/b", "a%20b", "#", "a[0]", "a:b", " leading", "trailing "),
    *(".", "a..b", "caf\u00e9", "cafe\u0301", "\U0001f600", "\u0130", "stra\u00dfe", "STRASSE"),
    *("w" * 255, "-", "1", "a=b", "`"),
)


def _named(names: tuple[str, ...], kind: str) -> Columns:
    return [("id", kind), *((name, "string") for name in names)]


def _with_marker(names: tuple[str, ...]) -> Columns:
    return [("__rowMarker__", "int32"), *_named(names, "int64")]


def _any_names(name: str, title: str, names: tuple[str, ...]) -> object:
    """Columns of these names through an insert, an update, a delete and a new column."""

    def row(prefix: str) -> tuple[str, ...]:
        return tuple(f"{prefix}{n}" for n in range(len(names)))

    half = names[: len(names) // 2]
    return vector(
        name,
        title,
        "6.1 6.4",
        step(
            keys("id", half[0]),
            file(
                1,
                _named(half, "int64"),
                (1, *row("a")[: len(half)]),
                (2, *row("b")[: len(half)]),
                (3, *row("c")[: len(half)]),
            ),
        ),
        step(
            file(
                2,
                _with_marker(names),
                (4, 1, *row("a")[:1], *row("x")[1:]),
                (2, 2, *row("b")),
                (1, 5, *row("y")),
            )
        ),
        expected=expect(
            _named(names, "long"),
            (1, *row("a")[:1], *row("x")[1:]),
            (3, *row("c")[: len(half)], *(None for _ in names[len(half) :])),
            (5, *row("y")),
            applied=2,
        ),
    )


CASES = [
    vector(
        "columns/added-in-the-middle",
        "A new column comes last, wherever the file has it",
        "6.2",
        step(keys("id"), file(1, "id:int64 a:string z:string", (1, "a1", "z1"))),
        step(
            file(2, "new:int32 m id:int64 a:string mid:string z:string", (7, 4, 2, "a", "m", "z"))
        ),
        expected=expect(
            "id:long a:string z:string new:integer mid:string",
            (1, "a1", "z1", None, None),
            (2, "a", "z", 7, "m"),
            applied=2,
        ),
    ),
    vector(
        "columns/added-by-an-update",
        "A row that is updated has values in the new columns, and none in those that went",
        "6.2 5.1",
        step(keys("id"), file(1, "id:int64 old:string", (1, "a"), (2, "b"))),
        step(file(2, "m id:int64 new:string", (1, 1, "A"))),
        expected=expect("id:long old:string new:string", (1, None, "A"), (2, "b", None), applied=2),
    ),
    vector(
        "columns/back-with-a-wider-type",
        "A column that went and comes back wider has the wider type",
        "6.2 6.3",
        keys("id"),
        file(1, "id:int64 n:int32", (1, 1)),
        file(2, "id:int64", (2,)),
        file(3, "id:int64 n:int64", (3, 3_000_000_000)),
        expected=expect("id:long n:long", (1, 1), (2, None), (3, 3_000_000_000), applied=3),
    ),
    vector(
        "columns/back-with-another-type",
        "A column that went has its type still",
        "6.2 6.3",
        keys("id"),
        file(1, "id:int64 n:int32", (1, 1)),
        file(2, "id:int64", (2,)),
        file(3, "id:int64 n:string", (3, "three")),
        expected=expect(
            "id:long n:integer",
            *((1, 1), (2, None)),
            applied=2,
            state=paused("SchemaMergeFailure", 3),
        ),
    ),
    vector(
        "columns/back-in-another-case",
        "A column that comes back in another case is the same column",
        "6.1 6.2",
        step(keys("id"), file(1, "id:int64 City:string", (1, "Oslo"))),
        step(file(2, "id:int64", (2,)), file(3, "m id:int64 CITY:string", (4, 2, "Rome"))),
        expected=expect("id:long City:string", (1, "Oslo"), (2, "Rome"), applied=3),
    ),
    vector(
        "columns/untyped-then-added-by-an-update",
        "A column without a type becomes one with the first file that types it, also in a MERGE",
        "6.2",
        step(keys("id"), table_file(1, pa.table({"id": [1, 2], "n": pa.nulls(2)}))),
        step(file(2, "m id:int64 n:decimal(9,2)", (1, 1, None), (4, 3, 1))),
        expected=expect("id:long n:decimal(9,2)", (1, None), (2, None), (3, "1.00"), applied=2),
    ),
    vector(
        "columns/nulls-of-a-type",
        "A column that is all NULL and has a type has that type",
        "6.2 6.3",
        keys("id"),
        file(1, "id:int64 n:string", (1, None)),
        file(2, "id:int64 n:int64", (2, 2)),
        expected=expect(
            "id:long n:string", (1, None), applied=1, state=paused("SchemaMergeFailure", 2)
        ),
    ),
    vector(
        "columns/never-null",
        "That a file declares a column without NULLs binds no later file",
        "6.2",
        step(keys("id"), _never_null(1, 1, 2)),
        step(file(2, "m id:int64 v:string", (1, 1, None)), file(3, "id:int64", (3,))),
        step(_never_null(4, 4)),
        expected=expect("id:long v:string", (1, None), (2, "v2"), (3, None), (4, "v4"), applied=4),
    ),
    vector(
        "columns/greek-and-turkish",
        "Without regard to case in every script",
        "6.1",
        step(keys("ΟΔΟΣ"), file(1, [("ΟΔΟΣ", "int64"), ("İl", "string")], (1, "a"))),
        step(
            file(
                2,
                [("__rowMarker__", "int32"), ("οδος", "int64"), ("i̇l", "string")],
                (1, 1, "b"),
            )
        ),
        expected=expect([("ΟΔΟΣ", "long"), ("İl", "string")], (1, "b"), applied=2),
    ),
    _any_names(
        "columns/words-that-mean-something-elsewhere",
        "Only __rowMarker__ is reserved: words of SQL, Spark and Delta are names like any other",
        _WORDS,
    ),
    _any_names("columns/names-of-any-characters", "Any character may stand in a name", _CHARACTERS),
]
