"""Everything that a process which stays does: visits, sweeps, cleanup and status, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

from openmirror.ports import DoorbellLine, TableEngine
from openmirror.progress import PeriodicTask
from openmirror.protocol.names import TableFolder
from openmirror.services.lanes import SECONDS_TO_FINISH, Lanes
from openmirror.services.parts import Parts
from openmirror.services.running import Attendant
from openmirror.services.sweeping import clean, publish_all, sweep
from openmirror.services.timing import Repeating


@dataclass(frozen=True)
class Intervals:
    """How often what time starts is done."""

    sweep: timedelta
    cleanup: timedelta
    status: timedelta


class Staying:
    """Runs beside the main thread, which serves it until it stops it."""

    def __init__(
        self,
        parts: Parts,
        engine: TableEngine,
        doorbell: DoorbellLine,
        mirrors: Callable[[], Iterable[str]],
        lanes: int,
        every: Intervals,
    ) -> None:
        self._parts = parts
        self._mirrors = mirrors
        self._doorbell = doorbell
        self._lanes = Lanes(Attendant(parts, engine), lanes)
        self._sweep = Repeating(
            parts, PeriodicTask.SWEEP, every.sweep, lambda: sweep(parts, mirrors(), doorbell)
        )
        self._timers = (
            self._sweep,
            Repeating(parts, PeriodicTask.CLEANUP, every.cleanup, lambda: clean(parts, mirrors())),
            Repeating(
                parts, PeriodicTask.STATUS, every.status, lambda: publish_all(parts, mirrors())
            ),
        )

    def serve(self, seconds: float) -> None:
        """Hand a ring to the lanes, waiting at most so long for one.

        Raises what nothing can go on after.
        """
        folder = self._doorbell.take(seconds)
        if folder is not None:
            self._lanes.ring(folder)
        self._lanes.check()
        for timer in self._timers:
            timer.check()

    def ring(self, folder: TableFolder) -> None:
        """Look at this table soon."""
        self._doorbell.ring(folder)

    def sweep(self) -> None:
        """Look at every table soon."""
        self._sweep.now()

    def stop(self) -> frozenset[TableFolder]:
        """Stop within seconds; answers the tables whose batch had to be abandoned."""
        abandoned = self._lanes.stop(SECONDS_TO_FINISH)
        for timer in self._timers:
            timer.stop(1.0)
        if not abandoned:
            publish_all(self._parts, self._mirrors())
        return abandoned
