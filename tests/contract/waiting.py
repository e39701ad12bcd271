"""Time in tests of ports: a clock that is turned, or the real one, which is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

Answer = TypeVar("Answer")


class TurnedClock:
    """A clock that only a test turns."""

    def __init__(self) -> None:
        self.now = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def turn(self, duration: timedelta) -> None:
        self.now += duration


def real_time(duration: timedelta) -> None:
    """Let a service's own clock run, and a little more for its rounding."""
    time.sleep(duration.total_seconds() + 0.2)


def until(ask: Callable[[], Answer], seconds: float = 20) -> Answer:
    """Ask until the answer is one: for a service that is late, never for one that is wrong."""
    end = time.monotonic() + seconds
    while not (answer := ask()) and time.monotonic() < end:
        time.sleep(0.1)
    return answer
