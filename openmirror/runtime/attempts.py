"""Telling a table that gets on from one that is visited again and again in vain."""

from __future__ import annotations

import threading

from openmirror.plan.decisions import Apply, Reset
from openmirror.protocol.names import TableFolder

MOST_ATTEMPTS_AT_ONE_POSITION = 20
"""A table that changes under so many batches in a row is somebody's error."""


class Attempts:
    """Counts visits of each table that end as the one before; safe to share between threads."""

    def __init__(self) -> None:
        self._attempts: dict[TableFolder, tuple[object, int]] = {}
        self._lock = threading.Lock()

    def count(self, folder: TableFolder, outcome: object) -> int:
        """How often in a row, this time among them, a table was visited without getting further."""
        at = outcome.batch.applied if isinstance(outcome, (Apply, Reset)) else None
        report_statuses = (type(outcome), at)
        with self._lock:
            before, count = self._attempts.get(folder, (None, 0))
            count = count + 1 if before == report_statuses else 1
            self._attempts[folder] = (report_statuses, count)
        return count

    def forget(self, folder: TableFolder) -> None:
        """Count from one again."""
        with self._lock:
            self._attempts.pop(folder, None)
