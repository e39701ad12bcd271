"""Runners that stop where a test says, and go on when it says so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from openmirror.ports import Step
from tests.zone import Product

_PATIENCE = 120.0
"""Seconds; only a test that hangs ever waits so long."""


class Stall:
    """Steps that hold a runner at one place, the first time it comes there."""

    def __init__(self, at: Step) -> None:
        self._at = at
        self._came = threading.Event()
        self._go = threading.Event()

    def __call__(self, step: Step) -> None:
        if step is self._at and not self._came.is_set():
            self._came.set()
            assert self._go.wait(_PATIENCE), "nobody let the stalled runner go on"

    def reached(self, runner: threading.Thread) -> bool:
        """Wait until the runner stands here; False when it ended without coming here."""
        while not self._came.wait(0.1):
            if not runner.is_alive():
                return self._came.is_set()
        return True

    def release(self) -> None:
        self._go.set()


@contextmanager
def stalled_runner(mirror: Product, table: str, at: Step) -> Iterator[Callable[[], None]]:
    """A runner of one table that stands still at a step until the given function lets it finish."""
    stall = Stall(at)
    errors: list[BaseException] = []

    def run() -> None:
        try:
            mirror.with_steps(stall).reconcile_until_idle(table)
        except BaseException as error:  # noqa: BLE001 - shown in the test's own thread
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert stall.reached(thread), f"the runner never came to {at}: {errors}"

        def finish() -> None:
            stall.release()
            thread.join(_PATIENCE)
            assert not thread.is_alive()
            assert not errors, errors

        yield finish
    finally:
        stall.release()
        thread.join(_PATIENCE)
