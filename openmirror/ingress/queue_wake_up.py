"""The Waker port over a work queue: wakes a runner in another process."""

from __future__ import annotations

from openmirror.ports import WorkItem, WorkQueue
from openmirror.protocol.names import TableFolder


class QueueWaker:
    """Wakes by sending a work item, with its reason for people."""

    def __init__(self, queue: WorkQueue, reason: str, correlation: str = "") -> None:
        self._queue = queue
        self._reason = reason
        self._correlation = correlation

    def wake(self, folder: TableFolder) -> None:
        """Ask for a reconciliation of this folder."""
        self._queue.send(WorkItem(folder, self._reason, self._correlation))
