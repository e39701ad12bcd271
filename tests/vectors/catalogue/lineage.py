"""§5.10: which change wrote each row last."""

from __future__ import annotations

from typing import Any

from tests.vectors.catalogue.words import (
    ORDERS,
    Item,
    Settings,
    Vector,
    asked,
    expect,
    file,
    keys,
    paused,
    raw,
    step,
    vector,
)

_OURS = "_file:string _sequence:long _row:long _decided_at:timestamp _operation:string"
_V, _PARTIAL = "m id:int64 v:string", "__rowMarker__:string id:int64 v:string w:int64"
_SEEN = f"id:long v:string {_OURS}"
_MARKED = f"id:long v:string _deleted_at:timestamp {_OURS}"
_DECIDED = "decided"
_NOTHING = (None,) * 5
"""What a row has that no change wrote while lineage was asked for."""


def _ours(**switches: Any) -> dict[str, Any]:
    return {"openmirror": {"lineage": True, **switches}}


def _by(number: int, row: int, operation: str) -> tuple[Any, ...]:
    """What a change wrote that stands in this row of this file."""
    return f"{number:020d}.parquet", number, row, _DECIDED, operation


def _case(
    name: str,
    title: str,
    *files: list[tuple[Any, ...]],
    rows: list[tuple[Any, ...]],
    section: str = "5.10",
    columns: str = _V,
    seen: str = _SEEN,
    settings: dict[str, Any] | None = None,
    **more: Any,
) -> Vector:
    return vector(
        f"lineage/{name}",
        title,
        section,
        keys("id", **more),
        *(file(n, columns, *changes) for n, changes in enumerate(files, start=1)),
        expected=expect(seen, *rows, applied=len(files)),
        settings=settings or _ours(),
    )


def _softly(
    name: str, title: str, *files: list[tuple[Any, ...]], section: str = "5.8 5.10", **more: Any
) -> Vector:
    settings = _ours(delete="soft")
    return _case(name, title, *files, section=section, settings=settings, seen=_MARKED, **more)


def _of_partition(partition: str, number: int, *changes: tuple[Any, ...]) -> Item:
    return Item(f"{ORDERS}/{partition}/{number:020d}.parquet", file(number, _V, *changes).data)


CASES = [
    _case(
        "every-operation",
        "Each row has the file, the number, the row and the operation of the change of its values",
        [(0, 1, "a"), (0, 2, "b"), (0, 3, "c"), (0, 4, "d"), (0, 4, "e")],
        [(1, 2, "B"), (4, 3, "C"), (2, 1, None), (4, 5, "f"), (1, 6, "g"), (4, 4, "h")],
        [(0, 1, "A")],
        rows=[
            (1, "A", *_by(3, 1, "insert")),
            (2, "B", *_by(2, 1, "update")),
            (3, "C", *_by(2, 2, "upsert")),
            (4, "h", *_by(2, 6, "upsert")),
            (4, "h", *_by(2, 6, "upsert")),
            (5, "f", *_by(2, 4, "upsert")),
            (6, "g", *_by(2, 5, "update")),
        ],
    ),
    _case(
        "changes-of-one-key",
        "Of several changes of a key the last that wrote a row counts",
        [
            (0, 1, "a"),
            (4, 1, "b"),
            (0, 1, "c"),
            (0, 2, "d"),
            (2, 2, None),
            (0, 2, "e"),
            (1, 2, "f"),
            (0, 2, "g"),
        ],
        rows=[
            (1, "b", *_by(1, 2, "upsert")),
            (1, "c", *_by(1, 3, "insert")),
            (2, "f", *_by(1, 7, "update")),
            (2, "g", *_by(1, 8, "insert")),
        ],
    ),
    _case(
        "partial-updates",
        "A row has the place of the partial update that wrote it, whatever that left as it was",
        [("0", 1, "a", 10), ("0", 2, "b", 20)],
        [('101 ["v"]', 1, None, 11), ("4", 2, "c", 21), ('101 ["w"]', 2, "d", None)],
        rows=[
            (1, "a", 11, *_by(2, 1, "partialUpdate")),
            (2, "d", 21, *_by(2, 3, "partialUpdate")),
        ],
        section="5.7 5.10",
        columns=_PARTIAL,
        seen=f"id:long v:string w:long {_OURS}",
    ),
    _case(
        "truncate",
        "What a truncate leaves behind it has its own place",
        [(0, 1, "a")],
        [(4, 2, "b"), (100, 0, None), (0, 3, "c")],
        rows=[(3, "c", *_by(2, 3, "insert"))],
        section="5.7 5.10",
    ),
    _case(
        "older-changes",
        "A change that does not count for a row leaves its lineage as it is",
        [(0, 1, "m"), (0, 1, "x"), (0, 2, "m")],
        [(4, 1, "p"), (1, 2, "a")],
        rows=[
            (1, "p", *_by(2, 1, "upsert")),
            (1, "x", *_by(1, 2, "insert")),
            (2, "m", *_by(1, 3, "insert")),
        ],
        section="5.6 5.10",
        ConditionalUpdateColumn="v",
    ),
    _case(
        "versions-and-deletes-of-one-key",
        "So it does where each row of a versioned key meets its changes by itself",
        [(0, 1, "m"), (0, 1, "x"), (0, 2, "b")],
        [(2, 1, "p"), (4, 1, "q"), (0, 1, "c"), (2, 2, "a"), (1, 2, "b")],
        rows=[
            (1, "c", *_by(2, 3, "insert")),
            (1, "x", *_by(1, 2, "insert")),
            (2, "b", *_by(2, 5, "update")),
        ],
        section="5.6 5.10",
        ConditionalUpdateColumn="v",
    ),
    _case(
        "inserts-as-upserts",
        "An insert that is taken for an upsert is one",
        [(0, 1, "a")],
        [(0, 1, "b")],
        rows=[(1, "b", *_by(2, 1, "upsert"))],
        section="5.1 5.10",
        settings=_ours(insert="upsert"),
    ),
    _softly(
        "marked-rows",
        "A marked row has the place of the delete that marked it, an update that came back its own",
        [(0, 1, "a"), (0, 2, "b"), (0, 3, "c"), (0, 4, "d"), (2, 4, None)],
        [(2, 1, None), (2, 1, None), (2, 2, None), (4, 2, "B"), (4, 5, "e"), (2, 5, None)],
        [(2, 4, None), (0, 1, "A")],
        rows=[
            (1, "A", None, *_by(3, 2, "insert")),
            (1, "a", _DECIDED, *_by(2, 1, "delete")),
            (2, "B", None, *_by(2, 4, "upsert")),
            (3, "c", None, *_by(1, 3, "insert")),
            (4, "d", _DECIDED, *_by(1, 5, "delete")),
            (5, "e", _DECIDED, *_by(2, 6, "delete")),
        ],
    ),
    _softly(
        "rows-marked-by-a-truncate",
        "A row that a truncate marked has the truncate's place",
        [(0, 1, "a"), (0, 2, "b"), (0, 3, "c"), (2, 3, None)],
        [(4, 1, "A"), (0, 4, "d"), (100, 0, None), (0, 1, "x"), (100, 0, None), (0, 5, "e")],
        rows=[
            (1, "A", _DECIDED, *_by(2, 3, "truncate")),
            (1, "x", _DECIDED, *_by(2, 5, "truncate")),
            (2, "b", _DECIDED, *_by(2, 3, "truncate")),
            (3, "c", _DECIDED, *_by(1, 4, "delete")),
            (4, "d", _DECIDED, *_by(2, 3, "truncate")),
            (5, "e", None, *_by(2, 6, "insert")),
        ],
        section="5.7 5.8 5.10",
    ),
    _softly(
        "rows-marked-with-versions",
        "Where rows have versions, the delete that counted for a row wrote it",
        [(0, 1, "m"), (0, 1, "x"), (0, 2, "b"), (2, 2, "c")],
        [(2, 1, "p"), (4, 1, "q"), (2, 1, "r"), (4, 2, "a")],
        rows=[
            (1, "x", None, *_by(1, 2, "insert")),
            (2, "a", None, *_by(2, 4, "upsert")),
        ],
        section="5.6 5.8 5.10",
        ConditionalUpdateColumn="v",
    ),
    _softly(
        "older-deletes",
        "A delete that does not count for a row leaves its lineage as it is",
        [(0, 1, "a"), (0, 1, "x"), (0, 2, "m"), (2, 2, "n")],
        [(2, 1, "m"), (2, 2, "z")],
        rows=[
            (1, "a", _DECIDED, *_by(2, 1, "delete")),
            (1, "x", None, *_by(1, 2, "insert")),
            (2, "m", _DECIDED, *_by(1, 4, "delete")),
        ],
        section="5.6 5.8 5.10",
        ConditionalUpdateColumn="v",
    ),
    vector(
        "lineage/without-keys",
        "Tables without key columns have lineage as well",
        "5.10",
        file(1, "id:int64", (1,), (1,)),
        file(2, "id:int64 v:string", (2, "b")),
        expected=expect(
            f"id:long {_OURS} v:string",
            (1, *_by(1, 1, "insert"), None),
            (1, *_by(1, 2, "insert"), None),
            (2, *_by(2, 1, "insert"), "b"),
            applied=2,
        ),
        settings=_ours(),
    ),
    vector(
        "lineage/rows-of-a-text",
        "The rows of delimited text are counted without its header",
        "4.6 5.10",
        keys("id", FileFormat="CSV"),
        raw("00000000000000000001.csv", b"id,v\n1,a\n2,b\n"),
        raw("00000000000000000002.csv", b'__rowMarker__,id,v\n4,1,"c\nd"\n4,3,e\n'),
        expected=expect(
            f"id:string v:string {_OURS}",
            ("1", "c\nd", "00000000000000000002.csv", 2, 1, _DECIDED, "upsert"),
            ("2", "b", "00000000000000000001.csv", 1, 2, _DECIDED, "insert"),
            ("3", "e", "00000000000000000002.csv", 2, 2, _DECIDED, "upsert"),
            applied=2,
        ),
        settings=_ours(),
    ),
    vector(
        "lineage/ledger",
        "In a table with a ledger the number is the ledger's, and the name has the partition",
        "3.2 3.3 5.10",
        step(
            keys("id", isPartitionEnabled=True),
            _of_partition("Year=2025", 1, (0, 1, "a")),
        ),
        step(_of_partition("Year=2024", 1, (0, 2, "b"), (4, 1, "A"))),
        expected=expect(
            _SEEN,
            (1, "A", f"Year=2024/{1:020d}.parquet", 2, 2, _DECIDED, "upsert"),
            (2, "b", f"Year=2024/{1:020d}.parquet", 2, 1, _DECIDED, "insert"),
            applied=2,
        ),
        settings=_ours(),
    ),
    vector(
        "lineage/types-that-grow",
        "A table that is written anew for a wider type keeps what its rows have",
        "5.10 6.3",
        keys("id"),
        file(1, "m id:int64 v:int32", (0, 1, 7), (0, 2, 8)),
        file(2, "m id:int64 v:int64", (4, 2, 2**40)),
        expected=expect(
            f"id:long v:long {_OURS}",
            (1, 7, *_by(1, 1, "insert")),
            (2, 2**40, *_by(2, 1, "upsert")),
            applied=2,
        ),
        settings=_ours(),
    ),
    vector(
        "lineage/on-and-off",
        "What is written before and after has NULL there, and what stays keeps what it has",
        "5.7 5.10",
        step(keys("id"), file(1, _PARTIAL, ("0", 1, "a", 1), ("0", 2, "b", 2))),
        step(
            Settings(_ours()),
            file(2, _PARTIAL, ("4", 2, "B", 2), ("0", 3, "c", 3), ("0", 4, "d", 4)),
        ),
        step(Settings({}), file(3, _PARTIAL, ('101 ["w"]', 3, "C", None), ("0", 5, "e", 5))),
        step(Settings(_ours()), file(4, _PARTIAL, ("1", 5, "E", 5))),
        expected=expect(
            f"id:long v:string w:long {_OURS}",
            (1, "a", 1, *_NOTHING),
            (2, "B", 2, *_by(2, 1, "upsert")),
            (3, "C", 3, *_NOTHING),
            (4, "d", 4, *_by(2, 3, "insert")),
            (5, "E", 5, *_by(4, 1, "update")),
            applied=4,
        ),
        settings={},
    ),
    vector(
        "lineage/marked-while-off",
        "A row that is marked while lineage is off has no lineage of what wrote it before",
        "5.8 5.10",
        step(keys("id"), file(1, _V, (0, 1, "a"), (0, 2, "b"))),
        step(Settings(_ours(delete="soft", lineage=False)), file(2, _V, (2, 1, None))),
        expected=expect(
            _MARKED, (1, "a", _DECIDED, *_NOTHING), (2, "b", None, *_by(1, 2, "insert")), applied=2
        ),
        settings=_ours(delete="soft"),
    ),
    vector(
        "lineage/emptied-while-off",
        "So has one that a truncate marks then",
        "5.7 5.8 5.10",
        step(keys("id"), file(1, _V, (0, 1, "a"), (0, 2, "b"), (2, 2, None))),
        step(Settings(_ours(delete="soft", lineage=False)), file(2, _V, (100, 0, None))),
        expected=expect(
            _MARKED,
            (1, "a", _DECIDED, *_NOTHING),
            (2, "b", _DECIDED, *_by(1, 3, "delete")),
            applied=2,
        ),
        settings=_ours(delete="soft"),
    ),
    vector(
        "lineage/gone-by-a-reseed",
        "A table that is rebuilt without lineage has no such columns",
        "5.10",
        step(keys("id"), file(1, _V, (0, 1, "a"))),
        step(Settings({}), asked("reseed")),
        expected=expect("id:long v:string", (1, "a"), applied=1),
        settings=_ours(),
    ),
    vector(
        "lineage/hard-deletes-again",
        "Rows keep their lineage when marked ones are removed for good",
        "5.8 5.10",
        step(keys("id"), file(1, _V, (0, 1, "a"), (0, 2, "b"), (2, 1, None))),
        step(Settings(_ours()), asked("confirm-hard-deletes"), file(2, _V, (0, 3, "c"))),
        expected=expect(
            _SEEN, (2, "b", *_by(1, 2, "insert")), (3, "c", *_by(2, 1, "insert")), applied=2
        ),
        settings=_ours(delete="soft"),
    ),
    vector(
        "lineage/one-table",
        "One table alone may have lineage",
        "5.10",
        keys("id"),
        file(1, _V, (0, 1, "a")),
        keys("id", folder="Items"),
        file(1, _V, (0, 1, "a"), folder="Items"),
        expected=(
            expect(_SEEN, (1, "a", *_by(1, 1, "insert")), applied=1),
            expect("id:long v:string", (1, "a"), applied=1, folder="Items"),
        ),
        settings={"openmirror": {"tables": {"dbo.orders": {"lineage": True}}}},
    ),
    vector(
        "lineage/column-of-our-name",
        "No file may have a column of such a name, in any casing, also once lineage is off",
        "5.10 6.1",
        step(keys("id"), file(1, _V, (0, 1, "a"))),
        step(Settings({}), file(2, "id:int64 _FILE:string", (2, "b"))),
        expected=expect(
            _SEEN,
            (1, "a", *_by(1, 1, "insert")),
            applied=1,
            state=paused("ColumnNameReserved", 2),
        ),
        settings=_ours(),
    ),
    vector(
        "lineage/column-of-our-name-before",
        "A table that has a column of such a name of its publisher cannot have lineage",
        "5.10 6.1",
        step(keys("id"), file(1, "id:int64 _Row:int64", (1, 7))),
        step(Settings(_ours()), file(2, "id:int64", (2,))),
        expected=expect("id:long _Row:long", (1, 7), applied=1, state=paused("ColumnNameReserved")),
        settings={},
    ),
    vector(
        "lineage/version-column-of-our-name",
        "A ConditionalUpdateColumn of such a name would order rows by what we write",
        "5.6 5.10",
        keys("id", ConditionalUpdateColumn="_sequence"),
        file(1, "id:int64", (1,)),
        expected=expect(applied=0, state=paused("ColumnNameReserved")),
        settings=_ours(),
    ),
]
