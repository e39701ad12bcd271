"""The plain interpreter for one key, as Spark's Python workers run it. Knows nothing of Spark."""

from __future__ import annotations

from collections.abc import Sequence

from openmirror.protocol.rows import Change, ChangeFile, Marker, Value, interpret


def rows_left(markers: Sequence[int], version_columns: Sequence[Value]) -> list[int]:
    """Which of the changes of one key are its rows in the end, each as often as it is one.

    `guards` are the values of the column that guards rows; they must be of one type, and ordered
    as PROTOCOL §5.6 says.
    """
    changes = [
        Change(Marker(marker), {"version_column": version_column, "at": at})
        for at, (marker, version_column) in enumerate(zip(markers, version_columns, strict=True))
    ]
    table = interpret([ChangeFile(("at",), changes)], ["key"], "version_column")
    return [int(str(row["at"])) for row in table.rows]
