"""§5.9: every version that a row has had, beside the table as it is."""

from __future__ import annotations

from typing import Any

from tests.vectors.catalogue.words import (
    ORDERS,
    Columns,
    Event,
    Item,
    Settings,
    Vector,
    asked,
    deleted,
    expect,
    file,
    keys,
    paused,
    step,
    vector,
)

_HISTORY = f"_history/{ORDERS}"
_OURS = (
    "_valid_from:timestamp _valid_to:timestamp _is_current:boolean "
    "_operation:string _incarnation:string _sequence:long _row:long "
    "_closed_operation:string _closed_incarnation:string _closed_sequence:long _closed_row:long"
)
_V = "m id:int64 v:string"
_SEEN = "id:long v:string"
_ON = {"openmirror": {"history": "scd2"}}
Place = tuple[str, int, int | None]
"""Operation, sequence and row; of the present incarnation of the folder."""


def _version(
    *values: Any, by: Place, until: Place | None = None, of: str = "this", ended: str = "this"
) -> tuple[Any, ...]:
    operation, sequence, row = by
    closed = (until[0], ended, until[1], until[2]) if until else (None,) * 4
    time = "decided" if until else None
    return (*values, "decided", time, until is None, operation, of, sequence, row, *closed)


def _kept(
    *versions: tuple[Any, ...], applied: int, columns: str = f"{_SEEN} {_OURS}", **more: Any
) -> dict[str, Any]:
    return expect(
        columns,
        *versions,
        applied=applied,
        folder=_HISTORY,
        table=f"dbo.{ORDERS}__history",
        **more,
    )


def _case(
    name: str,
    title: str,
    *items: Item | tuple[Event, ...],
    now: dict[str, Any],
    kept: dict[str, Any],
    settings: dict[str, Any] | None = _ON,
    section: str = "5.9",
) -> Vector:
    return vector(
        f"histories/{name}", title, section, *items, expected=(now, kept), settings=settings
    )


def _v(number: int, *rows: tuple[Any, ...], columns: Columns = _V) -> Item:
    return file(number, columns, *rows)


_NO_V = "__rowMarker__:string id:int64 v:string w:int64"


CASES = [
    _case(
        "several-changes-of-a-key-in-one-file",
        "Each change of a key makes a version of its own, also where a batch has several",
        keys("id"),
        _v(1, (0, 1, "a"), (1, 1, "b"), (2, 1, None), (4, 2, "c")),
        now=expect(_SEEN, (2, "c"), applied=1),
        kept=_kept(
            _version(1, "a", by=("insert", 1, 1), until=("update", 1, 2)),
            _version(1, "b", by=("update", 1, 2), until=("delete", 1, 3)),
            _version(2, "c", by=("upsert", 1, 4)),
            applied=1,
        ),
    ),
    _case(
        "changes-in-several-files",
        "A version says in which file it began and ended; the same values again are a version",
        keys("id"),
        _v(1, (0, 1, "a"), (0, 2, "b")),
        _v(2, (4, 1, "a"), (2, 3, None)),
        _v(3, (2, 2, None), (0, 2, "c")),
        now=expect(_SEEN, (1, "a"), (2, "c"), applied=3),
        kept=_kept(
            _version(1, "a", by=("insert", 1, 1), until=("upsert", 2, 1)),
            _version(1, "a", by=("upsert", 2, 1)),
            _version(2, "b", by=("insert", 1, 2), until=("delete", 3, 1)),
            _version(2, "c", by=("insert", 3, 2)),
            applied=3,
        ),
    ),
    _case(
        "rows-of-one-key",
        "Each row of a bag has a version, and an update makes one of each",
        keys("id"),
        _v(1, (0, 1, "a"), (0, 1, "a"), (0, 1, "b")),
        _v(2, (1, 1, "c")),
        now=expect(_SEEN, *[(1, "c")] * 3, applied=2),
        kept=_kept(
            _version(1, "a", by=("insert", 1, 1), until=("update", 2, 1)),
            _version(1, "a", by=("insert", 1, 2), until=("update", 2, 1)),
            _version(1, "b", by=("insert", 1, 3), until=("update", 2, 1)),
            *[_version(1, "c", by=("update", 2, 1))] * 3,
            applied=2,
        ),
    ),
    _case(
        "truncate",
        "A truncate ends every open version, at its place in the order",
        keys("id"),
        _v(1, (0, 1, "a"), (0, 2, "b"), (2, 2, None)),
        _v(2, (4, 3, "c"), (100, None, None), (0, 1, "d")),
        now=expect(_SEEN, (1, "d"), applied=2),
        kept=_kept(
            _version(1, "a", by=("insert", 1, 1), until=("truncate", 2, 2)),
            _version(2, "b", by=("insert", 1, 2), until=("delete", 1, 3)),
            _version(3, "c", by=("upsert", 2, 1), until=("truncate", 2, 2)),
            _version(1, "d", by=("insert", 2, 3)),
            applied=2,
        ),
    ),
    _case(
        "load-of-a-database",
        "A load's file ends every open version, and begins one for each row that the source has",
        keys("id"),
        _v(1, (0, 1, "a"), (0, 2, "b"), (0, 3, "c")),
        _v(2, (100, None, None), (4, 1, "a"), (4, 3, "d"), (4, 4, "e"), (1, 3, "f"), (2, 4, None)),
        now=expect(_SEEN, (1, "a"), (3, "f"), applied=2),
        kept=_kept(
            _version(1, "a", by=("insert", 1, 1), until=("truncate", 2, 1)),
            _version(2, "b", by=("insert", 1, 2), until=("truncate", 2, 1)),
            _version(3, "c", by=("insert", 1, 3), until=("truncate", 2, 1)),
            _version(1, "a", by=("upsert", 2, 2)),
            _version(3, "d", by=("upsert", 2, 3), until=("update", 2, 5)),
            _version(4, "e", by=("upsert", 2, 4), until=("delete", 2, 6)),
            _version(3, "f", by=("update", 2, 5)),
            applied=2,
        ),
    ),
    _case(
        "partial-updates",
        "A version of a partial update has the values that it leaves as they are",
        keys("id"),
        file(1, _NO_V, ("0", 1, "a", 10), ("0", 2, "b", 20)),
        file(2, _NO_V, ('101 ["v"]', 1, None, 11), ('101 ["w"]', 1, "c", None)),
        now=expect("id:long v:string w:long", (1, "c", 11), (2, "b", 20), applied=2),
        kept=_kept(
            _version(1, "a", 10, by=("insert", 1, 1), until=("partialUpdate", 2, 1)),
            _version(1, "a", 11, by=("partialUpdate", 2, 1), until=("partialUpdate", 2, 2)),
            _version(1, "c", 11, by=("partialUpdate", 2, 2)),
            _version(2, "b", 20, by=("insert", 1, 2)),
            applied=2,
            columns=f"id:long v:string w:long {_OURS}",
        ),
    ),
    _case(
        "older-changes",
        "A change that does not count for a row ends no version of it, and begins none",
        keys("id", ConditionalUpdateColumn="v"),
        _v(1, (0, 1, "c"), (0, 1, "e")),
        _v(2, (1, 1, "d"), (2, 1, "d")),
        now=expect(_SEEN, (1, "e"), applied=2),
        kept=_kept(
            _version(1, "c", by=("insert", 1, 1), until=("update", 2, 1)),
            _version(1, "d", by=("update", 2, 1), until=("delete", 2, 2)),
            _version(1, "e", by=("insert", 1, 2)),
            applied=2,
        ),
        section="5.9 5.6",
    ),
    _case(
        "columns-and-types-that-come",
        "Columns and types come as in any table, behind ours; what ended before has NULL there",
        keys("id"),
        file(1, "m id:int32 v:string", (0, 1, "a")),
        file(2, "m id:int64 v:string w:int32", (1, 1, "b", 7), (0, 2, "c", 8)),
        now=expect("id:long v:string w:integer", (1, "b", 7), (2, "c", 8), applied=2),
        kept=_kept(
            (*_version(1, "a", by=("insert", 1, 1), until=("update", 2, 1)), None),
            (*_version(1, "b", by=("update", 2, 1)), 7),
            (*_version(2, "c", by=("insert", 2, 2)), 8),
            applied=2,
            columns=f"{_SEEN} {_OURS} w:integer",
        ),
        section="5.9 6.2 6.3",
    ),
    _case(
        "re-created",
        "A folder that is made again ends what is open, and its history goes on",
        step(keys("id"), _v(1, (0, 1, "a"), (0, 2, "b"), (2, 2, None))),
        step(deleted(), keys("id"), _v(1, (0, 1, "a"))),
        now=expect(_SEEN, (1, "a"), applied=1),
        kept=_kept(
            _version(1, "a", by=("insert", 1, 1), until=("re-create", 0, None), of="former"),
            _version(
                2, "b", by=("insert", 1, 2), until=("delete", 1, 3), of="former", ended="former"
            ),
            _version(1, "a", by=("insert", 1, 1)),
            applied=1,
        ),
    ),
    _case(
        "from-now",
        "A history of a table that has data begins with the rows that are there",
        step(keys("id"), _v(1, (0, 1, "a"), (0, 2, "b"), (2, 2, None))),
        step(Settings(_ON)),
        step(_v(2, (1, 1, "c"))),
        now=expect(_SEEN, (1, "c"), applied=2),
        kept=_kept(
            _version(1, "a", by=("begin", 1, None), until=("update", 2, 1)),
            _version(1, "c", by=("update", 2, 1)),
            applied=2,
        ),
        settings={},
    ),
    _case(
        "from-now-of-soft-deletes",
        "What is marked as deleted is no row that a history begins with",
        step(keys("id"), _v(1, (0, 1, "a"), (0, 2, "b"), (2, 2, None))),
        step(Settings({"openmirror": {"delete": "soft", "history": "scd2"}})),
        step(_v(2, (0, 2, "d"))),
        now=expect(
            f"{_SEEN} _deleted_at:timestamp",
            (1, "a", None),
            (2, "b", "decided"),
            (2, "d", None),
            applied=2,
        ),
        kept=_kept(
            _version(1, "a", by=("begin", 1, None)),
            _version(2, "d", by=("insert", 2, 1)),
            applied=2,
        ),
        settings={"openmirror": {"delete": "soft"}},
        section="5.9 5.8",
    ),
    _case(
        "reseeded",
        "A history that is reseeded begins anew from now, and keeps what had ended",
        step(keys("id"), _v(1, (0, 1, "a"), (1, 1, "b"))),
        step(asked("reseed", _HISTORY)),
        now=expect(_SEEN, (1, "b"), applied=1),
        kept=_kept(
            _version(1, "a", by=("insert", 1, 1), until=("update", 1, 2)),
            _version(1, "b", by=("update", 1, 2), until=("begin", 1, None)),
            _version(1, "b", by=("begin", 1, None)),
            applied=1,
        ),
    ),
    _case(
        "inserts-as-upserts",
        "Where marker 0 is an upsert in the table, it is one in its history",
        keys("id"),
        _v(1, (0, 1, "a"), (0, 1, "b")),
        now=expect(_SEEN, (1, "b"), applied=1),
        kept=_kept(
            _version(1, "a", by=("upsert", 1, 1), until=("upsert", 1, 2)),
            _version(1, "b", by=("upsert", 1, 2)),
            applied=1,
        ),
        settings={"openmirror": {"history": "scd2", "insert": "upsert"}},
    ),
    _case(
        "without-keys",
        "A table without key columns has no history, and goes on",
        _v(1, (0, 1, "a")),
        now=expect(_SEEN, (1, "a"), applied=1),
        kept=_kept(columns="", applied=0, state=paused("KeyColumnsUndeclared")),
    ),
    _case(
        "keys-declared-later",
        "A history begins from now where keys are declared once the table has data",
        step(_v(1, (0, 1, "a"), (0, 1, "b"))),
        step(keys("id")),
        step(_v(2, (4, 1, "c"), (4, 2, "d"))),
        now=expect(_SEEN, (1, "c"), (1, "c"), (2, "d"), applied=2),
        kept=_kept(
            _version(1, "a", by=("begin", 1, None), until=("upsert", 2, 1)),
            _version(1, "b", by=("begin", 1, None), until=("upsert", 2, 1)),
            *[_version(1, "c", by=("upsert", 2, 1))] * 2,
            _version(2, "d", by=("upsert", 2, 2)),
            applied=2,
        ),
        settings={"openmirror": {"history": "scd2", "insert": "upsert"}},
        section="5.9 4.4",
    ),
    _case(
        "column-of-our-name",
        "A column of our name stops the history, and not the table",
        keys("id"),
        _v(1, (0, 1, "a")),
        file(2, "m id:int64 v:string _Row:int32", (0, 2, "b", 1)),
        now=expect(f"{_SEEN} _Row:integer", (1, "a", None), (2, "b", 1), applied=2),
        kept=_kept(
            _version(1, "a", by=("insert", 1, 1)),
            applied=1,
            state=paused("ColumnNameReserved", 2),
        ),
    ),
]
