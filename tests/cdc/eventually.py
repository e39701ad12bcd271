"""Waiting for what a broker or a database does in its own time."""

from __future__ import annotations

import time
from collections.abc import Callable

_PATIENCE = 30.0


def eventually(ask: Callable[[], bool]) -> None:
    """Until it is so; fails after half a minute."""
    until = time.monotonic() + _PATIENCE
    while not ask():
        assert time.monotonic() < until
        time.sleep(0.05)
