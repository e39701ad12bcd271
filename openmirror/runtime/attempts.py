"""Counting reconciliations of a table that get no further than the one before."""

from __future__ import annotations

import threading

from openmirror.plan.decisions import Apply, Replace
from openmirror.protocol.names import TableFolder

MOST_ATTEMPTS_AT_ONE_POSITION = 20
"""A table that changes during so many batches in a row is somebody's error."""


class Attempts:
    """Counts each table's reconciliations that end as the one before; safe between threads."""

    def __init__(self) -> None:
        self._attempts: dict[TableFolder, tuple[object, int]] = {}
        self._lock = threading.Lock()

    def count(self, folder: TableFolder, outcome: object) -> int:
        """How often in a row, this time included, a table was reconciled and got no further."""
        position = outcome.batch.applied if isinstance(outcome, (Apply, Replace)) else None
        reached = (type(outcome), position)
        with self._lock:
            before, count = self._attempts.get(folder, (None, 0))
            count = count + 1 if before == reached else 1
            self._attempts[folder] = (reached, count)
        return count

    def forget(self, folder: TableFolder) -> None:
        """Count from one again."""
        with self._lock:
            self._attempts.pop(folder, None)
