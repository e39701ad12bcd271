"""Real time in tests of ports, which is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

Answer = TypeVar("Answer")


def real_time(duration: timedelta) -> None:
    """Let a service's own clock run, and a little more for its rounding."""
    time.sleep(duration.total_seconds() + 0.2)


def until(ask: Callable[[], Answer], seconds: float = 20) -> Answer:
    """Ask until the answer is one: for a service that is late, never for one that is wrong."""
    end = time.monotonic() + seconds
    while not (answer := ask()) and time.monotonic() < end:
        time.sleep(0.1)
    return answer
