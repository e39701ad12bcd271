"""§5.7: what mirrors take that say so: truncates, and updates that leave columns as they are."""

from __future__ import annotations

from typing import Any

from tests.vectors.catalogue.words import (
    Vector,
    expect,
    file,
    keys,
    paused,
    step,
    vector,
)

_V = "m id:int64 v:string"
_SEEN = "id:long v:string"
_T = "__rowMarker__:string id:int64 v:string w:int64"
_WIDE = "id:long v:string w:long"
_KEEP_V, _KEEP_W, _KEEP_BOTH = '101 ["v"]', '101 ["w"]', '101 ["v", "w"]'
_BEFORE = file(1, "id:int64 v:string w:int64", (1, "a", 10), (1, "b", 20), (2, "c", 30))


def _partial(name: str, title: str, changes: list[tuple[Any, ...]], *rows: Any) -> Vector:
    """A table in which key 1 has two rows, then changes to it; in one commit or in two."""
    return vector(
        f"extensions/{name}",
        title,
        "5.7",
        keys("id"),
        _BEFORE,
        file(2, _T, *changes),
        expected=expect(_WIDE, *rows, applied=2),
    )


def _missing(name: str, title: str, *changes: tuple[Any, ...]) -> Vector:
    """Changes of which one finds no row that it could update."""
    return vector(
        f"extensions/{name}",
        title,
        "5.7",
        keys("id"),
        _BEFORE,
        file(2, _T, *changes),
        file(3, _T, ("4", 9, "z", 90)),
        expected=expect(
            _WIDE,
            (1, "a", 10),
            (1, "b", 20),
            (2, "c", 30),
            applied=1,
            state=paused("NoRowToUpdate", 2),
        ),
    )


def _refused(
    name: str, title: str, marker: str, *, declared: str = "id", more: Any = None
) -> Vector:
    """A marker that names columns which it may not."""
    return vector(
        f"extensions/{name}",
        title,
        "5.7",
        keys(declared, **(more or {})),
        file(1, "id:int64 v:string w:int64", (1, "a", 10)),
        file(2, _T, ("1", 1, "x", 11), (marker, 1, "y", 12)),
        expected=expect(_WIDE, (1, "a", 10), applied=1, state=paused("RowMarkerInvalid", 2)),
    )


def _emptied(name: str, title: str, *files: list[tuple[Any, ...]], rows: list[Any]) -> Vector:
    return vector(
        f"extensions/{name}",
        title,
        "5.7",
        keys("id"),
        *(file(n, _V, *changes) for n, changes in enumerate(files, start=1)),
        expected=expect(_SEEN, *rows, applied=len(files)),
    )


_LOAD = [(0, 1, "a"), (0, 1, "b"), (0, 2, "c")]
_GONE = (100, None, None)

CASES: list[Vector] = [
    _emptied("truncate", "100 removes every row", _LOAD, [_GONE], rows=[]),
    _emptied(
        "truncate-between-rows",
        "What follows in the file starts from no rows; what came before is gone",
        _LOAD,
        [(4, 3, "x"), _GONE, (4, 1, "y"), (0, 2, "z")],
        rows=[(1, "y"), (2, "z")],
    ),
    _emptied(
        "truncate-twice",
        "The last one counts",
        [*_LOAD, _GONE, (0, 3, "x")],
        [(0, 4, "y"), _GONE, (0, 5, "z"), _GONE, (0, 6, "end")],
        [(1, 6, "END")],
        rows=[(6, "END")],
    ),
    _emptied(
        "truncate-first-of-all",
        "A table may begin with it",
        [_GONE, (0, 1, "a")],
        [(2, 1, None), (0, 2, "b")],
        rows=[(2, "b")],
    ),
    _emptied(
        "truncate-at-the-end",
        "Nothing may follow",
        _LOAD,
        [(4, 1, "x"), (2, 2, None), _GONE],
        rows=[],
    ),
    vector(
        "extensions/truncate-commits-of-its-own",
        "Each drained by itself",
        "5.7",
        step(keys("id"), file(1, _V, *_LOAD)),
        step(file(2, _V, (1, 1, "x"), _GONE, (4, 2, "y"))),
        step(file(3, _V, _GONE)),
        step(file(4, _V, (4, 7, "z"))),
        expected=expect(_SEEN, (7, "z"), applied=4),
    ),
    vector(
        "extensions/truncate-as-text-and-float",
        "Its marker is a number like any other",
        "5.1 5.7",
        keys("id"),
        file(1, "__rowMarker__:string id:int64 v:string", ("0", 1, "a"), ("100", None, None)),
        file(2, "__rowMarker__:double id:int64 v:string", (0.0, 2, "b"), (100.0, None, None)),
        file(3, "__rowMarker__:string id:int64 v:string", ("0", 3, "c"), ("100.0", None, None)),
        file(4, "__rowMarker__:int8 id:int64 v:string", (100, None, None), (0, 4, "d")),
        expected=expect(_SEEN, (4, "d"), applied=4),
    ),
    vector(
        "extensions/truncate-without-keys",
        "A table without key columns can be emptied too",
        "5.1 5.7",
        file(1, _V, (0, 1, "a"), (0, 1, "a")),
        file(2, _V, _GONE, (0, 2, "b")),
        expected=expect(_SEEN, (2, "b"), applied=2),
    ),
    vector(
        "extensions/truncate-and-a-new-column",
        "Columns come as ever, and those that were there stay",
        "5.7 6.2 6.3",
        step(keys("id"), file(1, "id:int32 v:string", (1, "a"))),
        step(file(2, "m id:int64 n:double", _GONE, (0, 2, 0.5))),
        expected=expect("id:long v:string n:double", (2, None, 0.5), applied=2),
    ),
    vector(
        "extensions/truncate-with-a-version-column",
        "It compares no versions",
        "5.6 5.7",
        keys("id", ConditionalUpdateColumn="v"),
        file(1, "m id:int64 v:int64", (4, 1, 9), (4, 2, 9)),
        file(2, "m id:int64 v:int64", (100, None, None), (4, 1, 1)),
        expected=expect("id:long v:long", (1, 1), applied=2),
    ),
    vector(
        "extensions/truncate-where-inserts-are-upserts",
        "The choice about inserts does not concern it",
        "5.1 5.7",
        keys("id"),
        file(1, _V, (0, 1, "a"), (0, 1, "b")),
        file(2, _V, _GONE, (0, 2, "x"), (0, 2, "y")),
        settings={"openmirror": {"insert": "upsert"}},
        expected=expect(_SEEN, (2, "y"), applied=2),
    ),
    _partial(
        "partial-update",
        "Absent columns keep their values, each row its own",
        [(_KEEP_V, 1, "ignored", 11)],
        (1, "a", 11),
        (1, "b", 11),
        (2, "c", 30),
    ),
    _partial(
        "partial-update-to-null",
        "NULL is a value; only what is named is absent",
        [(_KEEP_V, 2, None, None)],
        (1, "a", 10),
        (1, "b", 20),
        (2, "c", None),
    ),
    _partial(
        "partial-updates-of-other-columns",
        "Each column has the last value in which it was present",
        [(_KEEP_V, 1, None, 11), (_KEEP_W, 1, "x", None), (_KEEP_BOTH, 1, None, None)],
        (1, "x", 11),
        (1, "x", 11),
        (2, "c", 30),
    ),
    _partial(
        "partial-update-after-an-update",
        "A whole update before it gives the values that it leaves",
        [("1", 1, "x", 11), (_KEEP_V, 1, None, 12), ("4", 3, "n", 1), (_KEEP_W, 3, "m", None)],
        (1, "x", 12),
        (1, "x", 12),
        (2, "c", 30),
        (3, "m", 1),
    ),
    _partial(
        "partial-update-before-an-update",
        "A whole update after it leaves nothing of it",
        [(_KEEP_V, 1, None, 12), ("1", 1, "x", 11)],
        (1, "x", 11),
        (1, "x", 11),
        (2, "c", 30),
    ),
    _partial(
        "partial-update-and-inserts",
        "An insert before it is updated as rows of the table are; one after it is not",
        [("0", 1, "n", 1), (_KEEP_V, 1, None, 2), ("0", 1, "o", 3)],
        (1, "a", 2),
        (1, "b", 2),
        (1, "n", 2),
        (1, "o", 3),
        (2, "c", 30),
    ),
    _partial(
        "partial-update-of-an-inserted-key",
        "A row that was inserted just before is there",
        [("0", 3, "n", 1), (_KEEP_V, 3, None, 2), (_KEEP_W, 3, "m", None)],
        (1, "a", 10),
        (1, "b", 20),
        (2, "c", 30),
        (3, "m", 2),
    ),
    _partial(
        "partial-update-and-a-delete",
        "A delete after it removes the row; a row that is made anew can be updated again",
        [(_KEEP_V, 1, None, 2), ("2", 1, None, None), ("4", 1, "x", 3), (_KEEP_V, 1, None, 4)],
        (1, "x", 4),
        (2, "c", 30),
    ),
    _partial(
        "partial-update-in-any-case",
        "Columns are named in any case",
        [('101 ["V"]', 2, None, 31)],
        (1, "a", 10),
        (1, "b", 20),
        (2, "c", 31),
    ),
    _missing(
        "partial-update-of-no-row", "There is no row to keep values of", (_KEEP_V, 3, None, 1)
    ),
    _missing(
        "partial-update-of-a-deleted-row",
        "Nor after a delete",
        ("4", 2, "x", 1),
        ("2", 1, None, None),
        (_KEEP_V, 1, None, 1),
    ),
    _missing(
        "partial-update-of-no-row-before-a-delete",
        "What comes later does not mend it",
        (_KEEP_V, 3, None, 1),
        ("2", 3, None, None),
    ),
    _missing(
        "partial-update-after-a-truncate",
        "A truncate leaves no row",
        ("100", None, None, None),
        (_KEEP_V, 1, None, 1),
    ),
    _missing(
        "partial-update-of-no-row-before-a-truncate",
        "Nor does a truncate mend what came before it",
        (_KEEP_V, 3, None, 1),
        ("100", None, None, None),
    ),
    vector(
        "extensions/partial-update-of-a-column-that-the-file-lacks",
        "A column that the file lacks is NULL, as in every update",
        "5.1 5.7",
        keys("id"),
        file(1, "id:int64 v:string w:int64 x:int64", (1, "a", 10, 100)),
        file(2, _T, (_KEEP_V, 1, None, 11)),
        expected=expect("id:long v:string w:long x:long", (1, "a", 11, None), applied=2),
    ),
    vector(
        "extensions/partial-update-and-a-new-column",
        "A column that comes with it, and is absent, is NULL in the rows that were there",
        "5.7 6.2 6.3",
        step(keys("id"), file(1, "id:int32 v:string", (1, "a"), (2, "b"))),
        step(
            file(
                2,
                "__rowMarker__:string id:int64 v:string n:double",
                ('101 ["v", "n"]', 1, None, None),
                ('101 ["v"]', 2, None, 0.5),
                ("0", 3, "c", 1.5),
                ('101 ["n"]', 3, "C", None),
            )
        ),
        expected=expect(
            "id:long v:string n:double", (1, "a", None), (2, "b", 0.5), (3, "C", 1.5), applied=2
        ),
    ),
    vector(
        "extensions/partial-update-with-its-marker-anywhere",
        "The marker column may be called and stand as ever",
        "5.1 5.7",
        keys("id"),
        file(1, "id:int64 v:string w:int64", (1, "a", 10)),
        file(2, "w:int64 id:int64 __ROWMARKER__:string v:string", (11, 1, _KEEP_V, None)),
        expected=expect(_WIDE, (1, "a", 11), applied=2),
    ),
    _refused("partial-update-of-a-key", "A key column cannot be absent", '101 ["id"]'),
    _refused("partial-update-of-an-unknown-column", "Nor one that is not there", '101 ["other"]'),
    _refused("partial-update-of-nothing", "Nor none at all", "101 []"),
    _refused("partial-update-without-a-list", "The number alone says too little", "101"),
    _refused("partial-update-that-is-no-json", "What follows is a list in JSON", "101 [v]"),
    _refused("partial-update-of-numbers", "A list of names", "101 [1]"),
    _refused(
        "partial-update-with-a-version-column",
        "Versions are compared with whole rows",
        _KEEP_V,
        more={"ConditionalUpdateColumn": "w"},
    ),
    vector(
        "extensions/partial-update-without-keys",
        "It needs key columns",
        "5.1 5.7",
        file(1, "id:int64 v:string w:int64", (1, "a", 10)),
        file(2, _T, (_KEEP_V, 1, None, 11)),
        expected=expect(_WIDE, (1, "a", 10), applied=1, state=paused("KeyColumnsUndeclared", 2)),
    ),
]
