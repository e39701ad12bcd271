"""The worker pool: threads that reconcile tables, each table in at most one at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from openmirror.protocol.names import TableFolder

SECONDS_TO_FINISH = 8.0
"""How long a stop waits for batches underway; what is abandoned then is applied later, once."""


@dataclass(frozen=True)
class Reschedule:
    """When a table is to be reconciled once more."""

    after: timedelta = timedelta()
    backing_off: bool = False
    """Whether wake-ups before then are ignored: it is a delay after a failure, not a wait."""
    oldest: datetime | None = None
    """When the oldest of the files landed that it has left, where that is known."""


_Turn = tuple[int, float]
"""In which round a table has its turn, and the time of its oldest file there."""
_NOT_KNOWN = float("inf")


class WorkerPool:
    """Takes turns: a table with more to do waits for all others' turns, so that none starves.

    Of those that have had as many, the one with the oldest file comes next.
    Wake-ups of a table that is in line already, or that come while it is reconciled, count as one.
    """

    def __init__(self, reconcile: Callable[[TableFolder], Reschedule | None], count: int) -> None:
        self._reconcile = reconcile
        self._changed = threading.Condition()
        self._line: dict[TableFolder, _Turn] = {}
        self._round = 0
        self._busy: dict[TableFolder, int] = {}
        """The round of each table that is being reconciled."""
        self._woken_while_busy: set[TableFolder] = set()
        self._later: dict[TableFolder, tuple[float, Reschedule]] = {}
        self._stopping = False
        self._failure: BaseException | None = None
        # Daemons: a process that was asked twice to stop does not wait for a Spark job.
        self._threads = [
            threading.Thread(target=self._work, name=f"worker-{number}", daemon=True)
            for number in range(1, count + 1)
        ]
        for thread in self._threads:
            thread.start()

    def wake(self, folder: TableFolder) -> None:
        """Ask for a reconciliation of this table."""
        with self._changed:
            if folder in self._busy:
                self._woken_while_busy.add(folder)
                return
            if folder in self._later:
                if self._later[folder][1].backing_off:
                    return
                del self._later[folder]
            self._line.setdefault(folder, (self._round, _NOT_KNOWN))
            self._changed.notify()

    def wait(self) -> None:
        """Wait until no table has anything to do, now or later.

        Raises what ended a worker: something after which the whole program cannot go on.
        """
        with self._changed:
            while not self._failure and (self._line or self._busy or self._later):
                self._changed.wait()
        self.check()

    def are_idle(self) -> bool:
        """Whether no table is being reconciled, in line or backing off; waits do not count."""
        with self._changed:
            backing_off = any(reschedule.backing_off for _, reschedule in self._later.values())
            return not (self._line or self._busy or backing_off)

    def check(self) -> None:
        """Raise what ended a worker, if anything did."""
        if self._failure is not None:
            raise self._failure

    def failure(self) -> BaseException | None:
        """What ended a worker, if anything did."""
        return self._failure

    def stop(self, seconds: float) -> frozenset[TableFolder]:
        """Begin no further reconciliation, wait so long for those underway; returns the rest."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        until = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        with self._changed:
            return frozenset(self._busy)

    def _work(self) -> None:
        while (folder := self._next()) is not None:
            reschedule = None
            try:
                reschedule = self._reconcile(folder)
            except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
                with self._changed:
                    self._failure = self._failure or error
                    self._stopping = True
            self._done(folder, reschedule)

    def _next(self) -> TableFolder | None:
        with self._changed:
            while not self._stopping:
                now = time.monotonic()
                for folder in [f for f, (due, _) in self._later.items() if due <= now]:
                    del self._later[folder]
                    self._line[folder] = (self._round, _NOT_KNOWN)
                if self._line:
                    folder = min(self._line, key=lambda folder: self._line[folder])
                    turn, _ = self._line.pop(folder)
                    self._round = max(self._round, turn)
                    self._busy[folder] = self._round
                    return folder
                due = min((due for due, _ in self._later.values()), default=None)
                self._changed.wait(None if due is None else due - now)
            return None

    def _done(self, folder: TableFolder, reschedule: Reschedule | None) -> None:
        with self._changed:
            had = self._busy.pop(folder)
            woken = folder in self._woken_while_busy
            self._woken_while_busy.discard(folder)
            if (
                reschedule is not None
                and reschedule.after > timedelta()
                and (reschedule.backing_off or not woken)
            ):
                due = time.monotonic() + reschedule.after.total_seconds()
                self._later[folder] = (due, reschedule)
            elif woken or reschedule is not None:
                oldest = reschedule.oldest if reschedule else None
                # Whoever was busy for several rounds has not saved up turns.
                turn = max(had + 1, self._round)
                self._line[folder] = (turn, oldest.timestamp() if oldest else _NOT_KNOWN)
            self._changed.notify_all()
