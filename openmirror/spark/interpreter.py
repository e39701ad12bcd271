"""The plain interpreter for one key, as Spark's Python workers run it. Knows nothing of Spark."""

from __future__ import annotations

from collections.abc import Sequence

from openmirror.protocol.rows import (
    DELETED_AT,
    Change,
    ChangeFile,
    Marker,
    SoftDeletes,
    Value,
    interpret,
)
from openmirror.protocol.versions import apply_to_history, empty_history

Passed = tuple[int, int | None, list[int]]
"""A version: which entry opened it, which one closed it (None: none), and for each column that any
change leaves as it is, whose value it has."""
AS_IT_WAS = -1
"""In place of a delete: the row was marked before all of the changes."""


def rows_left(markers: Sequence[int], versions: Sequence[Value]) -> list[int]:
    """Which of the changes of one key are its rows in the end, each as often as it is one.

    `versions` are their values in the version column; they must be of one type, and ordered as
    PROTOCOL §5.6 says.
    """
    changes = [
        Change(Marker(marker), {"version": version, "at": at})
        for at, (marker, version) in enumerate(zip(markers, versions, strict=True))
    ]
    table = interpret([ChangeFile(("at",), changes)], ["key"], "version")
    return [int(str(row["at"])) for row in table.rows]


def rows_left_softly(
    markers: Sequence[int], versions: Sequence[Value], marked: Sequence[bool]
) -> list[tuple[int, int | None]]:
    """The same where deletes are soft: each row with the delete that marked it, or None.

    Rows that were marked before come among the inserts at the beginning, as `marked` says.
    """

    def change(at: int) -> Change:
        row = {"version": versions[at], "at": at, "by": at}
        return Change(Marker(markers[at]), row)

    places = range(len(markers))
    changes = [
        *(change(at) for at in places if marked[at]),
        Change(Marker.DELETE, {"by": AS_IT_WAS}),
        *(change(at) for at in places if not marked[at]),
    ]
    table = interpret([ChangeFile(("at",), changes)], ["key"], "version", SoftDeletes("by"))
    return [(int(str(row["at"])), row[DELETED_AT]) for row in table.rows]  # type: ignore[misc]


def versions_passed(
    markers: Sequence[int],
    versions: Sequence[Value],
    absent: Sequence[Sequence[int]],
    before: int,
    left: int,
) -> list[Passed]:
    """The versions that the entries of one key open, and those of the table that they close.

    The first `before` entries are rows of the table, as inserts. Of those, the ones with one value
    in the version column fare alike, and stand here once. `absent` are the columns that each entry
    leaves as they are, of the `left` ones that any change of the batch does, numbered from 0.
    """
    changes = [
        Change(
            Marker(marker),
            {"version": version, "at": at} | {f"from{column}": at for column in range(left)},
            frozenset(f"from{column}" for column in absent[at]),
        )
        for at, (marker, version) in enumerate(zip(markers, versions, strict=True))
    ]
    history = empty_history(["key"], "version")
    apply_to_history(history, ChangeFile(("at",), changes), 0)
    passed: list[Passed] = []
    alike = set[object]()
    for version in (*history.closed, *history.open):
        at = int(str(version.row["at"]))
        # The entry of this number closed it; entries are counted from 0.
        closed = version.closed.row - 1 if version.closed and version.closed.row else None
        if at < before:
            same = _as_a_key(versions[at])
            if closed is None or same in alike:
                continue
            alike.add(same)
        passed.append(
            (at, closed, [int(str(version.row[f"from{column}"])) for column in range(left)])
        )
    return passed


def _as_a_key(value: Value) -> object:
    if isinstance(value, float) and value != value:
        return "NaN"
    # Before Spark 4.1, bytes come to Python as what has no hash.
    return bytes(value) if isinstance(value, bytearray) else value
