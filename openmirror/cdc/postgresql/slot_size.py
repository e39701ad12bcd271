"""How much of its log a database keeps for a stream, asked now and then beside all else."""

from __future__ import annotations

import threading
from collections.abc import Callable

from openmirror.errors import CannotStart

EVERY = 15.0
"""Seconds."""


class SlotSize:
    """A thread that asks, so that a database which does not answer delays nothing."""

    def __init__(self, ask: Callable[[], int | None], every: float = EVERY) -> None:
        """`ask` may raise CannotStart, as asking a database does: then nobody knows."""
        self._ask = ask
        self._every = every
        self._stopping = threading.Event()
        self._now: int | None = None
        self._thread = threading.Thread(target=self._work, name="slot size", daemon=True)

    def now(self) -> int | None:
        """Bytes, as of some seconds ago; None while nobody knows."""
        return self._now

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Ask no more; an answer that is awaited is not waited for."""
        self._stopping.set()

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                self._now = self._ask()
            except CannotStart:
                self._now = None
            self._stopping.wait(self._every)
