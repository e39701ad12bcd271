"""Runs that are ended from outside, and clean up after themselves all the same."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended_cleanly() -> Iterator[None]:
    """SIGTERM ends the programs that were started too, and leaves no folder behind."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
