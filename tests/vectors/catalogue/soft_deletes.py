"""§5.8: what is deleted stays, marked; what is live is the table that there would be without."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from tests.vectors.catalogue.words import (
    Item,
    Settings,
    Vector,
    asked,
    expect,
    file,
    keys,
    paused,
    step,
    vector,
)

_TIME = pa.timestamp("us", "UTC")
_DECIDED = "decided"
_SEEN = "id:long v:string at:timestamp _deleted_at:timestamp"
_SHORT = "id:long v:string _deleted_at:timestamp"
_V = "m id:int64 v:string"


def _ours(**switches: Any) -> dict[str, Any]:
    return {"openmirror": {"delete": "soft", **switches}}


def _at(hour: int) -> datetime:
    return datetime(2024, 2, 29, hour, tzinfo=UTC)


def _is(hour: int | None) -> str | None:
    return None if hour is None else f"2024-02-29T{hour:02d}:00:00.000000Z"


def _timed(number: int, *rows: tuple[int, int, str | None, int | None]) -> Item:
    """Marker, key, value, and the publisher's own hour."""
    columns = [("__rowMarker__", "int32"), ("id", "int64"), ("v", "string"), ("at", _TIME)]
    return file(
        number, columns, *((m, k, v, None if at is None else _at(at)) for m, k, v, at in rows)
    )


def _case(
    name: str,
    title: str,
    *files: list[tuple[int, int, str | None, int | None]],
    rows: list[tuple[int, str | None, int | None, int | str | None]],
    section: str = "5.8",
    **more: Any,
) -> Vector:
    """A table whose publisher says when it deletes: each row, and the hour of its deletion."""
    seen = [(k, v, _is(at), d if isinstance(d, str) else _is(d)) for k, v, at, d in rows]
    return vector(
        f"soft-deletes/{name}",
        title,
        section,
        keys("id", **more),
        *(_timed(n, *changes) for n, changes in enumerate(files, start=1)),
        expected=expect(_SEEN, *seen, applied=len(files)),
        settings=_ours(deletedAt="AT"),
    )


_FIRST: list[tuple[int, int, str | None, int | None]] = [
    (0, 1, "a", 1),
    (0, 1, "b", 1),
    (0, 2, "c", 1),
]
"""Key 1 has two rows."""
_PARTIAL = "__rowMarker__:string id:int64 v:string w:int64"


CASES = [
    _case(
        "delete",
        "A delete marks every live row of its key, with its latest values",
        [*_FIRST, (1, 2, "C", 2)],
        [(2, 1, None, 3), (2, 2, None, 4), (2, 3, None, 5)],
        rows=[(1, "a", 1, 3), (1, "b", 1, 3), (2, "C", 2, 4)],
    ),
    _case(
        "delete-twice",
        "What is marked is not marked again",
        _FIRST,
        [(2, 2, None, 3)],
        [(2, 2, None, 4)],
        rows=[(1, "a", 1, None), (1, "b", 1, None), (2, "c", 1, 3)],
    ),
    _case(
        "insert-and-delete",
        "A row that comes and goes in one file is marked too",
        [(0, 1, "a", 1), (2, 1, None, 2), (4, 2, "b", 1), (1, 2, "c", 2), (2, 2, None, 3)],
        rows=[(1, "a", 1, 2), (2, "c", 2, 3)],
    ),
    _case(
        "insert-after-delete",
        "An insert adds a live row beside the marked ones",
        _FIRST,
        [(2, 2, None, 3), (0, 2, "d", 4)],
        [(0, 2, "e", 5), (2, 2, None, 6), (0, 2, "f", 7)],
        rows=[
            (1, "a", 1, None),
            (1, "b", 1, None),
            (2, "c", 1, 3),
            (2, "d", 4, 6),
            (2, "e", 5, 6),
            (2, "f", 7, None),
        ],
    ),
    _case(
        "upsert-after-delete",
        "An upsert takes the marked rows of its key away, and adds one where none is live",
        [*_FIRST, (0, 3, "d", 1)],
        [(2, 1, None, 3), (2, 2, None, 3), (2, 3, None, 3)],
        [(4, 1, "A", 4), (1, 2, "C", 4)],
        rows=[(1, "A", 4, None), (2, "C", 4, None), (3, "d", 1, 3)],
    ),
    _case(
        "upsert-of-live-and-marked-rows",
        "An upsert changes the live rows of its key, and takes the marked ones away",
        [(0, 1, "a", 1), (2, 1, None, 2), (0, 1, "b", 3), (0, 1, "c", 3)],
        [(4, 1, "d", 4)],
        rows=[(1, "d", 4, None), (1, "d", 4, None)],
    ),
    _case(
        "delete-and-upsert",
        "What a delete marks, an upsert of the same file takes away",
        _FIRST,
        [(2, 1, None, 2), (4, 1, "d", 3), (2, 2, None, 2), (0, 2, "e", 3), (1, 2, "f", 4)],
        rows=[(1, "d", 3, None), (2, "f", 4, None)],
    ),
    _case(
        "upsert-and-delete",
        "An upsert and a delete of it: marked, with the upsert's values",
        _FIRST,
        [(4, 1, "d", 2), (2, 1, None, 3), (4, 4, "n", 2), (2, 4, None, 3)],
        rows=[(1, "d", 2, 3), (1, "d", 2, 3), (2, "c", 1, None), (4, "n", 2, 3)],
    ),
    _case(
        "everything-of-one-key",
        "Only what follows the last update of a key can stay marked",
        [(0, 1, "a", 1), (0, 1, "b", 1)],
        [
            (2, 1, None, 2),
            (0, 1, "c", 3),
            (4, 1, "d", 4),
            (0, 1, "e", 5),
            (2, 1, None, 6),
            (0, 1, "f", 7),
            (2, 1, None, 8),
            (0, 1, "g", 9),
        ],
        rows=[(1, "d", 4, 6), (1, "e", 5, 6), (1, "f", 7, 8), (1, "g", 9, None)],
    ),
    _case(
        "key-change",
        "A row that gets another key stays, marked, under its old one",
        _FIRST,
        [(2, 2, None, 3), (0, 5, "c", 3)],
        rows=[(1, "a", 1, None), (1, "b", 1, None), (2, "c", 1, 3), (5, "c", 3, None)],
    ),
    _case(
        "time-that-is-missing",
        "A delete without a time of its own takes that of its batch",
        _FIRST,
        [(2, 2, None, None)],
        rows=[(1, "a", 1, None), (1, "b", 1, None), (2, "c", 1, _DECIDED)],
    ),
    _case(
        "truncate",
        "A truncate marks every live row, at the time of its batch",
        [*_FIRST, (2, 2, None, 2)],
        [(100, 0, None, 5)],
        rows=[(1, "a", 1, _DECIDED), (1, "b", 1, _DECIDED), (2, "c", 1, 2)],
    ),
    _case(
        "truncate-between-rows",
        "A truncate marks what its file brought before, and leaves what comes behind",
        _FIRST,
        [(4, 3, "d", 2), (100, 0, None, 5), (4, 1, "e", 6), (0, 3, "f", 6)],
        rows=[
            (1, "e", 6, None),
            (2, "c", 1, _DECIDED),
            (3, "d", 2, _DECIDED),
            (3, "f", 6, None),
        ],
    ),
    _case(
        "load-of-a-database",
        "A load's file, of a truncate, rows and later changes, marks the rows that the source lost",
        [*_FIRST, (0, 4, "d", 1), (2, 4, None, 3)],
        [
            (100, None, None, None),
            (4, 1, "e", 5),
            (4, 4, "f", 5),
            (4, 5, "g", 5),
            (2, 4, None, 7),
            (1, 5, "h", 8),
        ],
        rows=[
            (1, "e", 5, None),
            (2, "c", 1, _DECIDED),
            (4, "f", 5, 7),
            (5, "h", 8, None),
        ],
        section="5.8",
    ),
    _case(
        "older-delete",
        "With a version column a delete marks the rows for which it counts",
        [(0, 1, "a", 3), (0, 1, "b", 9), (0, 2, "c", 3)],
        [(2, 1, None, 5), (2, 2, None, 1)],
        rows=[(1, "a", 3, 5), (1, "b", 9, None), (2, "c", 3, None)],
        section="5.6 5.8",
        ConditionalUpdateColumn="at",
    ),
    _case(
        "older-update",
        "An update that counts for no live row takes marked ones away all the same",
        [(0, 1, "a", 3), (2, 1, None, 5), (0, 1, "b", 9), (0, 2, "c", 3), (2, 2, None, 5)],
        [(4, 1, "d", 7), (4, 2, "e", 1), (4, 3, "f", 1)],
        rows=[(1, "b", 9, None), (2, "e", 1, None), (3, "f", 1, None)],
        section="5.6 5.8",
        ConditionalUpdateColumn="at",
    ),
    _case(
        "versions-and-deletes-of-one-key",
        "Each row of a versioned key meets its deletes by itself",
        [(0, 1, "a", 3), (0, 1, "b", 9)],
        [(2, 1, None, 5), (4, 1, "c", 6), (0, 1, "d", 2), (2, 1, None, 7), (0, 1, "e", 1)],
        rows=[(1, "b", 9, None), (1, "d", 2, 7), (1, "e", 1, None)],
        section="5.6 5.8",
        ConditionalUpdateColumn="at",
    ),
    vector(
        "soft-deletes/time-of-the-decision",
        "Where no column is named, rows are marked with the time at which their batch was decided",
        "5.8",
        step(keys("id"), file(1, _V, (0, 1, "a"), (0, 2, "b"), (2, 2, None))),
        step(file(2, _V, (2, 1, None), (0, 1, "c"))),
        expected=expect(_SHORT, (1, "a", _DECIDED), (1, "c", None), (2, "b", _DECIDED), applied=2),
        settings=_ours(),
    ),
    vector(
        "soft-deletes/without-keys",
        "A table without key columns takes no deletes: it has no such column, and is emptied",
        "5.8",
        file(1, "id:int64 m", (1, 0), (2, 0), (0, 100), (3, 0)),
        expected=expect("id:long", (3,), applied=1),
        settings=_ours(),
    ),
    vector(
        "soft-deletes/keys-declared-later",
        "A table that gets its keys later has soft deletes from then on",
        "5.8 4.4",
        step(file(1, "id:int64", (1,), (2,))),
        step(keys("id"), file(2, "id:int64 m", (1, 2))),
        expected=expect("id:long _deleted_at:timestamp", (1, _DECIDED), (2, None), applied=2),
        settings=_ours(),
    ),
    vector(
        "soft-deletes/inserts-as-upserts",
        "Where inserts are upserts they take marked rows away",
        "5.8 5.1",
        keys("id"),
        _timed(1, (0, 1, "a", 1), (2, 1, None, 2)),
        _timed(2, (0, 1, "b", 3)),
        expected=expect(_SEEN, (1, "b", _is(3), None), applied=2),
        settings=_ours(insert="upsert", deletedAt="at"),
    ),
    vector(
        "soft-deletes/partial-updates",
        "Rows are marked with the values that partial updates left",
        "5.8 5.7",
        keys("id"),
        file(1, "id:int64 v:string w:int64", (1, "a", 10), (2, "b", 20)),
        file(2, _PARTIAL, ('101 ["v"]', 1, None, 11), ("2", 1, None, None), ("2", 2, None, None)),
        file(3, _PARTIAL, ("4", 2, "c", 21), ('101 ["w"]', 2, "d", None), ("0", 1, "e", 30)),
        expected=expect(
            "id:long v:string w:long _deleted_at:timestamp",
            (1, "a", 11, _DECIDED),
            (1, "e", 30, None),
            (2, "d", 21, None),
            applied=3,
        ),
        settings=_ours(),
    ),
    vector(
        "soft-deletes/partial-update-of-a-marked-row",
        "A row that is marked is none that a partial update could leave columns of",
        "5.8 5.7",
        keys("id"),
        file(1, _PARTIAL, ("0", 1, "a", 10), ("2", 1, None, None)),
        file(2, _PARTIAL, ('101 ["v"]', 1, None, 11)),
        expected=expect(
            "id:long v:string w:long _deleted_at:timestamp",
            (1, "a", 10, _DECIDED),
            applied=1,
            state=paused("NoRowToUpdate", 2),
        ),
        settings=_ours(),
    ),
    vector(
        "soft-deletes/columns-and-types-that-come",
        "Marked rows live through new columns and types that grow",
        "5.8 6.2 6.3",
        keys("id"),
        file(1, "m id:int32 v:int32", (0, 1, 7), (0, 2, 8), (2, 1, None)),
        file(2, "m id:int32 v:int64 w:string", (2, 2, None, None), (0, 3, 2**40, "x")),
        file(3, "m id:int32 w:string", (4, 1, "y")),
        expected=expect(
            "id:integer v:long _deleted_at:timestamp w:string",
            (1, None, None, "y"),
            (2, 8, _DECIDED, None),
            (3, 2**40, None, "x"),
            applied=3,
        ),
        settings=_ours(),
    ),
    vector(
        "soft-deletes/from-hard-to-soft",
        "A table that has rows marks from now on; what was deleted before is gone",
        "5.8",
        step(keys("id"), file(1, _V, (0, 1, "a"), (0, 2, "b"), (2, 1, None))),
        step(Settings(_ours()), file(2, _V, (2, 2, None), (0, 3, "c"))),
        expected=expect(_SHORT, (2, "b", _DECIDED), (3, "c", None), applied=2),
        settings={},
    ),
    vector(
        "soft-deletes/from-soft-to-hard",
        "A table that may have marked rows goes on marking until somebody allows their removal",
        "5.8",
        step(keys("id"), file(1, _V, (0, 1, "a"), (0, 2, "b"), (2, 1, None))),
        step(Settings({}), file(2, _V, (2, 2, None), (0, 3, "c"))),
        expected=expect(
            _SHORT,
            (1, "a", _DECIDED),
            (2, "b", _DECIDED),
            (3, "c", None),
            applied=2,
            warnings=("TableSettingUnmet",),
        ),
        settings=_ours(),
    ),
    vector(
        "soft-deletes/from-soft-to-hard-once-confirmed",
        "Once somebody allows it, the next batch removes marked rows, and the column that says so",
        "5.8",
        step(keys("id"), file(1, _V, (0, 1, "a"), (0, 2, "b"), (2, 1, None))),
        step(
            Settings({}),
            asked("confirm-hard-deletes"),
            file(2, "m id:int64 v:string _deleted_at:int32", (0, 1, "c", None), (0, 3, "d", 7)),
        ),
        step(file(3, _V, (2, 2, None), (4, 1, "C"))),
        expected=expect(
            "id:long v:string _deleted_at:integer", (1, "C", None), (3, "d", 7), applied=3
        ),
        settings=_ours(),
    ),
    vector(
        "soft-deletes/from-soft-to-hard-with-versions",
        "So it does in a versioned table whose rows need the interpreter",
        "5.6 5.8",
        step(
            keys("id", ConditionalUpdateColumn="g"),
            file(1, "m id:int64 g:int64", (0, 1, 3), (2, 1, None), (0, 1, 9), (0, 2, 1), (2, 2, 2)),
        ),
        step(
            Settings({}),
            asked("confirm-hard-deletes"),
            file(2, "m id:int64 g:int64", (2, 1, 5), (4, 1, 6), (2, 2, 5), (4, 2, 1)),
        ),
        expected=expect("id:long g:long", (1, 9), (2, 1), applied=2),
        settings=_ours(),
    ),
    vector(
        "soft-deletes/from-soft-to-hard-by-a-reseed",
        "A table that is rebuilt is as its settings say now",
        "5.8",
        step(keys("id"), file(1, _V, (0, 1, "a"), (0, 2, "b"), (2, 1, None))),
        step(Settings({}), asked("reseed")),
        expected=expect("id:long v:string", (2, "b"), applied=1),
        settings=_ours(),
    ),
    vector(
        "soft-deletes/one-table",
        "Deletes may be soft in one table alone",
        "5.8",
        keys("id"),
        file(1, _V, (0, 1, "a"), (2, 1, None)),
        keys("id", folder="Items"),
        file(1, _V, (0, 1, "a"), (2, 1, None), folder="Items"),
        expected=(
            expect(_SHORT, (1, "a", _DECIDED), applied=1),
            expect("id:long v:string", applied=1, folder="Items"),
        ),
        settings={"openmirror": {"tables": {"dbo.orders": {"delete": "soft"}}}},
    ),
    vector(
        "soft-deletes/column-of-our-name",
        "No file may have a column of the name of ours, in any casing",
        "5.8 6.1",
        keys("id"),
        file(1, _V, (0, 1, "a")),
        file(2, "id:int64 _Deleted_At:string", (2, "b")),
        file(3, _V, (0, 3, "c")),
        expected=expect(_SHORT, (1, "a", None), applied=1, state=paused("ColumnNameReserved", 2)),
        settings=_ours(),
    ),
    vector(
        "soft-deletes/column-of-our-name-before",
        "A table that has a column of this name of its publisher cannot mark rows in it",
        "5.8 6.1",
        step(keys("id"), file(1, "id:int64 _deleted_at:string", (1, "a"))),
        step(Settings(_ours()), file(2, "id:int64", (2,))),
        expected=expect(
            "id:long _deleted_at:string",
            (1, "a"),
            applied=1,
            state=paused("ColumnNameReserved"),
        ),
        settings={},
    ),
    vector(
        "soft-deletes/time-column-that-is-missing",
        "A file after which the column that says when rows were deleted is none stops its table",
        "5.8",
        keys("id"),
        _timed(1, (0, 1, "a", 1)),
        file(2, _V, (2, 1, None)),
        keys("id", folder="Items"),
        file(1, _V, (0, 1, "a"), folder="Items"),
        expected=(
            expect(_SEEN, (1, "a", _is(1), _DECIDED), applied=2),
            expect(applied=0, folder="Items", state=paused("MirrorSettingsInvalid", 1)),
        ),
        settings=_ours(deletedAt="at"),
    ),
    vector(
        "soft-deletes/time-column-of-another-type",
        "So does one in which it is no time",
        "5.8",
        keys("id"),
        file(1, "id:int64 at:string", (1, "a")),
        expected=expect(applied=0, state=paused("MirrorSettingsInvalid", 1)),
        settings=_ours(deletedAt="at"),
    ),
]
