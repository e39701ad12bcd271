"""Remembering the state that was last emitted, so that what has not changed is emitted rarely."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

FIGURES_SECONDS = 60.0
"""What changes all the time, such as a count of files, is emitted no more often than this."""
MOST_AT_ONCE = 1000
"""Things emitted at a time: a sender's queue holds two thousand records, and drops the oldest."""


Thing = TypeVar("Thing", bound=Hashable)


@dataclass(frozen=True)
class Report:
    """What there is to emit about a thing."""

    state: Hashable
    """Emitted at once when it is another."""
    figures: object = None
    """Emitted when they are others, and some time has passed."""


@dataclass(frozen=True)
class _Emitted:
    report: Report
    at: float


class ReportSchedule:
    """Which things are due to be emitted; safe to share between threads."""

    def __init__(self, repeat: timedelta, clock: Callable[[], float] = time.monotonic) -> None:
        """After `repeat` anything is emitted again; the clock counts seconds."""
        self._repeat = repeat.total_seconds()
        self._clock = clock
        self._lock = threading.Lock()
        self._emitted: dict[str, dict[Hashable, _Emitted]] = {}

    def due(self, group: str, things: Mapping[Thing, Report]) -> list[Thing]:
        """Those things of a group that are to be emitted now; from now on they were.

        Whatever is not among the things of its group any more is forgotten. When more are due than
        can be emitted at once, those emitted longest ago come first, the rest next time.
        """
        with self._lock:
            now, known = self._clock(), self._emitted.get(group, {})
            due = [
                thing
                for thing, report in things.items()
                if self._is_due(known.get(thing), report, now)
            ]
            due.sort(key=lambda thing: known[thing].at if thing in known else -math.inf)
            due = due[:MOST_AT_ONCE]
            emitted: dict[Hashable, _Emitted] = {key: known[key] for key in things if key in known}
            emitted.update((thing, _Emitted(things[thing], now)) for thing in due)
            self._emitted[group] = emitted
            return due

    def _is_due(self, emitted: _Emitted | None, report: Report, now: float) -> bool:
        if emitted is None or emitted.report.state != report.state:
            return True
        passed = now - emitted.at
        if passed >= self._repeat:
            return True
        return passed >= FIGURES_SECONDS and emitted.report.figures != report.figures
