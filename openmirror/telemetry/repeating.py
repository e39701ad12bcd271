"""Remembering how things stood when it was told, so that what has not changed is told rarely."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

FIGURES_SECONDS = 60.0
"""What changes all the time, such as a count of files, is told no more often than this."""
MOST_AT_ONCE = 1000
"""Things told at a time: a sender's queue holds two thousand records, and drops the oldest."""


Thing = TypeVar("Thing", bound=Hashable)


@dataclass(frozen=True)
class Stated:
    """How a thing stands."""

    state: Hashable
    """Told at once when it is another."""
    figures: object = None
    """Told when they are others, and some time has passed."""


@dataclass(frozen=True)
class _Reported:
    stated: Stated
    at: float


class Retelling:
    """Which things are due to be told; safe to share between threads."""

    def __init__(self, repeat: timedelta, clock: Callable[[], float] = time.monotonic) -> None:
        """After `repeat` anything is told again; the clock counts seconds."""
        self._repeat = repeat.total_seconds()
        self._clock = clock
        self._lock = threading.Lock()
        self._reported: dict[str, dict[Hashable, _Reported]] = {}

    def due(self, group: str, things: Mapping[Thing, Stated]) -> list[Thing]:
        """Those things of a group that are to be told now; from now on they were.

        Whatever is not among the things of its group any more is forgotten. When more are due than
        can be told at once, those that were told longest ago come first, the rest next time.
        """
        with self._lock:
            now, known = self._clock(), self._reported.get(group, {})
            due = [
                thing
                for thing, stated in things.items()
                if self._is_due(known.get(thing), stated, now)
            ]
            due.sort(key=lambda thing: known[thing].at if thing in known else -math.inf)
            due = due[:MOST_AT_ONCE]
            reported: dict[Hashable, _Reported] = {
                key: known[key] for key in things if key in known
            }
            reported.update((thing, _Reported(things[thing], now)) for thing in due)
            self._reported[group] = reported
            return due

    def _is_due(self, reported: _Reported | None, stated: Stated, now: float) -> bool:
        if reported is None or reported.stated.state != stated.state:
            return True
        passed = now - reported.at
        if passed >= self._repeat:
            return True
        return passed >= FIGURES_SECONDS and reported.stated.figures != stated.figures
