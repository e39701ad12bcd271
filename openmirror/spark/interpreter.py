"""The plain interpreter for one key, as Spark's Python workers run it. Knows nothing of Spark."""

from __future__ import annotations

from collections.abc import Sequence

from openmirror.protocol.rows import Change, ChangeFile, Marker, Value, interpret


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
