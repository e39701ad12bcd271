"""The sweep of a Function App: one at a time on a root, measured, and seen to happen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from openmirror.errors import AccessDenied, Unavailable, is_of_one_place, words_of
from openmirror.ingress.start_runner import Starter
from openmirror.ports import Lease, Leases, Waker
from openmirror.ports.jobs import StartOutcome
from openmirror.progress.runner import PeriodicTask, PeriodicTaskFailed
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.discovery import mirrors
from openmirror.reconcile.liveness import (
    WATCHED_FOR,
    WRITTEN_EVERY,
    SweepRecord,
    SweptBy,
    read_events,
    read_sweep,
    write_sweep,
)
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.resting import RestingTables
from openmirror.runtime.sweeping import Swept, publish_all, sweep
from openmirror.runtime.timers import Repeating

STALE = timedelta(minutes=2)
"""Four passes of the timer: after so long without one, a landing event sweeps."""
_LATE = timedelta(minutes=1)
"""An event takes seconds; a file this old should have had its own."""
_KEEP = timedelta(seconds=15)
"""A quarter of the time that a lease lasts."""


@dataclass(frozen=True, kw_only=True)
class SweepPass:
    """One sweep, with all that belongs to it."""

    mirrors: tuple[str, ...]
    swept: Swept
    started: StartOutcome
    took: timedelta
    overran: bool
    """Whether it took longer than the time between two."""
    unannounced: tuple[TableFolder, ...]
    """Tables with a file that no event announced, while none came for any other file either."""


class Sweeper:
    """Sweeps when the timer says so, or in its place; safe to share between threads.

    The lease only saves work: where it cannot be had because the store of leases fails, or is lost
    half way, two sweeps at once do no harm.
    """

    def __init__(
        self,
        ports: RootPorts,
        waker: Waker,
        starter: Starter,
        leases: Leases,
        resting: RestingTables,
        interval: timedelta,
    ) -> None:
        self._ports = ports
        self._waker = waker
        self._starter = starter
        self._leases = leases
        self._resting = resting
        self._interval = interval
        self._lock = Lock()
        self._asked: datetime | None = None
        self._written: SweepRecord | None = None

    def sweep(self, by: SweptBy) -> SweepPass | None:
        """Wake every table that has something to do, ask for a runner, write the status files.

        None when another process sweeps. Raises what keeps all tables from being swept.
        """
        with self._alone() as alone:
            return self._sweep(by) if alone else None

    def sweep_if_stale(self) -> SweepPass | None:
        """Sweep in the timer's place when no sweep has ended lately; else, or if it fails, None."""
        if not self._is_stale():
            return None
        try:
            return self.sweep(SweptBy.EVENT)
        except Exception as error:
            # An event that was handled must not come again because something else failed.
            if not is_of_one_place(error):
                raise
            self._ports.emit(PeriodicTaskFailed(PeriodicTask.SWEEP, words_of(error)))
            return None

    def _is_stale(self) -> bool:
        now = self._ports.clock()
        with self._lock:
            if self._asked is not None and now - self._asked < self._interval:
                return False
            self._asked = now
        record = read_sweep(self._ports.store)
        return record is None or now - record.ended > STALE

    def _sweep(self, by: SweptBy) -> SweepPass:
        began = self._ports.clock()
        names = mirrors(self._ports.store)
        events = read_events(self._ports.store)
        for folder, at in events.watched.items():
            if began - at < WATCHED_FOR:
                self._resting.forget(folder)
        swept = sweep(self._ports, names, self._waker, self._resting)
        started = self._starter.start_if_needed()
        unannounced = self._unannounced(swept, events.taken)
        if unannounced:
            # Events are lost, and not only these: nothing else would find files in seconds.
            self._resting.forget_all()
        try:
            # Last: no table may wait for it.
            publish_all(self._ports, names, swept.seen)
        finally:
            took = self._ports.clock() - began
            self._record(by, began, took)
        return SweepPass(
            mirrors=tuple(names),
            swept=swept,
            started=started,
            took=took,
            overran=took > self._interval,
            unannounced=unannounced,
        )

    def _unannounced(self, swept: Swept, event: datetime | None) -> tuple[TableFolder, ...]:
        now = self._ports.clock()
        # The last event is written down once in a while only: one that is a little older may
        # stand for a newer one.
        return tuple(
            folder
            for folder, at in swept.late.items()
            if now - at >= _LATE and (event is None or event + WRITTEN_EVERY + _LATE < at)
        )

    def _record(self, by: SweptBy, began: datetime, took: timedelta) -> None:
        ended = began + took
        before = self._written or read_sweep(self._ports.store)
        timer = began if by is SweptBy.TIMER else before.timer if before else None
        record = SweepRecord(ended=ended, seconds=took.total_seconds(), by=by, timer=timer)
        with self._lock:
            if self._written is not None and _says_enough(self._written, record, self._interval):
                return
            self._written = record
        write_sweep(self._ports.store, record)

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Whether to sweep: False while another process does."""
        try:
            lease: Lease | None = self._leases.take_sweep()
        except (AccessDenied, Unavailable) as error:
            self._ports.emit(PeriodicTaskFailed(PeriodicTask.RENEWAL, words_of(error)))
            yield True
            return
        if lease is None:
            yield False
            return
        keeping = Repeating(self._ports, PeriodicTask.RENEWAL, _KEEP, lease.renew)
        try:
            yield True
        finally:
            keeping.stop(1.0)
            with _reported(self._ports):
                lease.release()


@contextmanager
def _reported(ports: RootPorts) -> Iterator[None]:
    """A lease that cannot be given back ends by itself."""
    try:
        yield
    except (AccessDenied, Unavailable) as error:
        ports.emit(PeriodicTaskFailed(PeriodicTask.RENEWAL, words_of(error)))


def _says_enough(before: SweepRecord, now: SweepRecord, interval: timedelta) -> bool:
    """Whether what is written down still holds well enough."""
    longest = interval.total_seconds()
    same = before.by is now.by and (before.seconds > longest) == (now.seconds > longest)
    return same and now.ended - before.ended < WRITTEN_EVERY
