"""The Waker port within one process."""

from __future__ import annotations

import threading
import time

from openmirror.protocol.names import TableFolder


class LocalWaker:
    """Wake-ups of one process, each folder queued at most once; safe to share between threads."""

    def __init__(self) -> None:
        # A dict is an ordered set: a folder that is woken again keeps its place in the queue.
        self._woken: dict[TableFolder, None] = {}
        self._changed = threading.Condition()

    def wake(self, folder: TableFolder) -> None:
        """Queue this folder to be reconciled, unless it is queued already."""
        with self._changed:
            self._woken[folder] = None
            self._changed.notify()

    def take(self, seconds: float) -> TableFolder | None:
        """The folder that has waited longest, waiting for one at most so long."""
        until = time.monotonic() + seconds
        with self._changed:
            while not self._woken:
                left = until - time.monotonic()
                if left <= 0:
                    return None
                self._changed.wait(left)
            folder = next(iter(self._woken))
            del self._woken[folder]
            return folder
