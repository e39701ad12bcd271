"""The Doorbell port over a work queue: a ring for a runner in another process."""

from __future__ import annotations

from openmirror.ports import WorkItem, WorkQueue
from openmirror.protocol.names import TableFolder


class QueueWaker:
    """Rings by sending; saying for people what made it ring."""

    def __init__(self, queue: WorkQueue, reason: str, correlation: str = "") -> None:
        self._queue = queue
        self._reason = reason
        self._correlation = correlation

    def wake(self, folder: TableFolder) -> None:
        """Ask for a look at this folder."""
        self._queue.send(WorkItem(folder, self._reason, self._correlation))
