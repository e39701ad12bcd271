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
