"""Lineage: which change wrote a row last, in columns of ours (PROTOCOL §5.10)."""

from __future__ import annotations

from enum import Enum

LINEAGE = ("_file", "_sequence", "_row", "_decided_at", "_operation")
"""The columns, in their order."""
FILE, NUMBER, ROW, DECIDED_AT, OPERATION = LINEAGE


class Lineage(Enum):
    """What a table has of it."""

    NONE = "none"
    """No such columns."""
    EMPTY = "empty"
    """Columns of former times: what is written now has NULL there."""
    WRITTEN = "written"
    """Each row that is written has the place of the change that writes it."""
