"""Where the time of one batch goes: the phases from its observation to its commit."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Phase(StrEnum):
    """One part of the way of a batch; together they are all of it."""

    LIST = "list"
    """Finding out what is there: folders, documents and logs, and once more after reading."""
    INSPECT = "inspect"
    """Reading what describes the change files: footers and headers."""
    PLAN = "plan"
    """Planning, and writing down what was decided."""
    READ = "read"
    FOLD = "fold"
    """Folding, where the engine does that before the commit; Spark does it during the commit."""
    COMMIT = "commit"
    """Writing to the table: fences before a new epoch, and the commit."""


Phases = Mapping[Phase, float]
"""Seconds by phase; empty where they are not known."""
