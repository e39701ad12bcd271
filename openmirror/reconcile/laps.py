"""Measuring the phases of one reconciliation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from openmirror.ports import Clock
from openmirror.table.phases import Phase, Phases


class Laps:
    """Gives each phase the seconds since the last one ended, so that none is lost or counted twice.

    For one thread. `seconds` is a clock that is never turned back; `clock` says when it began.
    """

    def __init__(self, clock: Clock, seconds: Callable[[], float]) -> None:
        self.begun_at = clock()
        self._seconds = seconds
        self._at = seconds()
        self._spent: defaultdict[Phase, float] = defaultdict(float)

    def end(self, phase: Phase, within: Phases | None = None) -> None:
        """What has passed since the last end was this phase, but for what was others' `within`."""
        now = self._seconds()
        passed, self._at = now - self._at, now
        for other, seconds in (within or {}).items():
            self._spent[other] += seconds
            passed -= seconds
        self._spent[phase] += max(0.0, passed)

    @property
    def phases(self) -> Phases:
        """Seconds of every phase so far, to a tenth of a millisecond."""
        return {phase: round(self._spent[phase], 4) for phase in Phase}
