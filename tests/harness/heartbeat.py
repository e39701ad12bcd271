"""Says every 20 seconds which test is running: a pytest plugin (`-p tests.harness.heartbeat`)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator

import pytest

_EVERY = 20.0  # seconds


class Heartbeat:
    """Writes whole lines to `to`, a file descriptor that no test's capture takes away."""

    def __init__(self, to: int, every: float = _EVERY) -> None:
        self._to = to
        self._every = every
        self._total = self._done = 0
        self._now, self._since = "collecting", time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self._thread.start()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._total = len(session.items)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._now, self._since = item.nodeid, time.monotonic()
        try:
            return (yield)
        finally:
            self._done += 1

    def pytest_sessionfinish(self) -> None:
        self._now, self._since = "ending", time.monotonic()

    def pytest_unconfigure(self) -> None:
        self._stop.set()
        self._thread.join()
        os.close(self._to)

    def _beat(self) -> None:
        while not self._stop.wait(self._every):
            seconds = time.monotonic() - self._since
            line = f"{self._done:,} of {self._total:,} done; {seconds:.0f} s in {self._now}\n"
            os.write(self._to, line.encode())


def pytest_configure(config: pytest.Config) -> None:
    # Output is captured around each test, and not yet here.
    config.pluginmanager.register(Heartbeat(os.dup(2)), "heartbeat")
