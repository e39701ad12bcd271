"""All that a long-running process does: reconciling, sweeps, cleanup and status, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

from openmirror.ports import TableEngine, WakerQueue
from openmirror.progress.runner import PeriodicTask
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.isolation import Reconciler
from openmirror.runtime.resting import RestingTables
from openmirror.runtime.sweeping import clean, publish_all, publish_resting, sweep
from openmirror.runtime.timers import Beside, Repeating, Wake
from openmirror.runtime.waking import tables_of
from openmirror.runtime.workers import SECONDS_TO_FINISH, WorkerPool


@dataclass(frozen=True)
class Intervals:
    """How often each periodic task runs."""

    sweep: timedelta
    cleanup: timedelta
    status: timedelta
    slowest: timedelta
    """How long the status of a table with nothing to do may be the one from before."""


class Daemon:
    """A worker pool and periodic tasks; the main thread calls `serve` until it calls `stop`."""

    def __init__(
        self,
        ports: RootPorts,
        engine: TableEngine,
        waker: WakerQueue,
        mirrors: Callable[[], Iterable[str]],
        workers: int,
        every: Intervals,
        beside: Callable[[Wake], Beside] | None = None,
    ) -> None:
        """`beside` begins what is to go on besides, and may wake tables."""
        self._ports = ports
        self._mirrors = mirrors
        self._waker = waker
        self._resting = RestingTables(every.status, every.slowest)
        self._workers = WorkerPool(Reconciler(ports, engine), workers)
        self._sweep = Repeating(
            ports,
            PeriodicTask.SWEEP,
            every.sweep,
            lambda: sweep(ports, mirrors(), waker, surveys=True),
        )
        self._timers: tuple[Beside, ...] = (
            self._sweep,
            Repeating(ports, PeriodicTask.CLEANUP, every.cleanup, lambda: clean(ports, mirrors())),
            Repeating(
                ports,
                PeriodicTask.STATUS,
                every.status,
                lambda: publish_resting(ports, mirrors(), self._resting),
            ),
            *([beside(waker.wake)] if beside else ()),
        )

    def serve(self, seconds: float) -> None:
        """Hand one wake-up to the workers, waiting at most so long for one.

        Raises the error that ended a worker or a timer: nothing can go on after it.
        """
        folder = self._waker.take(seconds)
        if folder is not None:
            for table in tables_of(self._ports, folder):
                self._resting.forget(table)
                self._workers.wake(table)
        self._workers.check()
        for timer in self._timers:
            timer.check()

    def wake(self, folder: TableFolder) -> None:
        """Reconcile this table soon."""
        self._waker.wake(folder)

    def sweep(self) -> None:
        """Sweep soon: observe every table."""
        self._sweep.now()

    def stop(self) -> frozenset[TableFolder]:
        """Stop within seconds; returns the tables whose batch had to be abandoned."""
        abandoned = self._workers.stop(SECONDS_TO_FINISH)
        for timer in self._timers:
            timer.stop(1.0)
        if not abandoned:
            publish_all(self._ports, self._mirrors())
        return abandoned
