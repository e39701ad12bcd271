"""A clock that never gives the same time twice: what was made later has a later time."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from email.utils import format_datetime

_TICK = 100
"""Nanoseconds in a tick of Windows file times, which Azure counts creation in."""
_SECOND = 1_000_000_000
_EPOCH = 116_444_736_000_000_000
"""Ticks from 1601, where file times begin, to 1970."""


class Ticks:
    """Nanoseconds since 1970, a whole number of ticks, always growing; shared by all threads."""

    def __init__(self) -> None:
        self._last = 0
        self._lock = threading.Lock()

    def next(self, after: int = 0) -> int:
        """Now, or as little later as it takes to be later than `after` and all answers before."""
        with self._lock:
            now = time.time_ns() // _TICK * _TICK
            self._last = max(now, self._last + _TICK, after // _TICK * _TICK + _TICK)
            return self._last


def file_time(nanoseconds: int) -> int:
    """Ticks since 1601, as `creationTime` in a listing has them."""
    return nanoseconds // _TICK + _EPOCH


def http_date(nanoseconds: int) -> str:
    """As in `Last-Modified`: whole seconds."""
    return format_datetime(datetime.fromtimestamp(nanoseconds // _SECOND, UTC), usegmt=True)
