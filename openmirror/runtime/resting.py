"""Tables at rest, which a sweep observes less often the longer nothing happens to them.

A table is at rest when all that was sent is applied. What moves it then is an event, or what its
mirror shows in any case: its folder is gone or another one, its control document was written, or
`mirroring.json`, or an operator holds the whole mirror. So only a file whose event is lost waits
for the slow observation, and never longer than `slowest`. Nothing of this is stored: a process that
starts observes all.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from openmirror.plan.decisions import Decision, Idle
from openmirror.protocol.names import ETag, TableFolder
from openmirror.reconcile.discovery import Traces
from openmirror.status import TableStatus
from openmirror.table.control import Hold


@dataclass(frozen=True)
class Marks:
    """What a table's mirror shows of it without an observation."""

    traces: Traces
    settings: ETag | None
    """The ETag of `mirroring.json`; None without one."""
    hold: Hold | None
    """An operator's hold of the whole mirror."""


@dataclass(frozen=True)
class _Rest:
    marks: Marks
    status: TableStatus | None
    observed: datetime
    wait: timedelta
    """How long after `observed` the table is observed again."""


class RestingTables:
    """What one process remembers of tables at rest; safe to share between threads."""

    def __init__(self, shortest: timedelta, slowest: timedelta) -> None:
        self._shortest = shortest
        # A pass comes every `shortest`, and the next one would be too late.
        self._longest = max(shortest, slowest - shortest)
        self._lock = Lock()
        self._resting: dict[TableFolder, _Rest] = {}
        self._stirred: set[TableFolder] = set()

    def is_due(self, folder: TableFolder, marks: Marks, now: datetime) -> bool:
        """Whether a pass that began at `now` has to observe this table."""
        with self._lock:
            rest = self._resting.get(folder)
        if rest is None or rest.marks != marks or now < rest.observed:
            return True
        # Half a pass of tolerance: passes do not begin to the second.
        return now - rest.observed >= rest.wait - self._shortest / 2

    def had_rested(self, folder: TableFolder) -> bool:
        """Whether what is on its way in this table began while it was seldom observed."""
        with self._lock:
            return folder in self._stirred

    def status(self, folder: TableFolder) -> TableStatus | None:
        """The status of a table that is not due, which time does not change."""
        with self._lock:
            rest = self._resting.get(folder)
        return rest.status if rest is not None else None

    def note(
        self,
        folder: TableFolder,
        marks: Marks,
        now: datetime,
        decision: Decision,
        status: TableStatus | None,
    ) -> None:
        """Remember what a pass that began at `now` has observed.

        All but a table with nothing to do is observed by the next pass too: a file that is not
        applied, a quiet period, a grace, a drop, a problem, a hold.
        """
        with self._lock:
            before = self._resting.pop(folder, None)
            if not isinstance(decision, Idle):
                if before is not None and before.wait > self._shortest:
                    self._stirred.add(folder)
                return
            self._stirred.discard(folder)
            wait = self._shortest
            if before is not None and before.marks == marks:
                wait = min(before.wait * 2, self._longest)
            self._resting[folder] = _Rest(marks, status, now, wait)

    def forget(self, folder: TableFolder) -> None:
        """Observe this table in the next pass."""
        with self._lock:
            self._resting.pop(folder, None)

    def forget_all(self) -> None:
        """Observe every table in the next pass, and slow down anew."""
        with self._lock:
            self._resting.clear()
            self._stirred.clear()
