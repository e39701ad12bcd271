"""How old waiting rows are, and a thread that lands them when they are too old."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager


class Aging:
    """The age of a writer's oldest waiting row; all calls but `stop` are made under its lock."""

    def __init__(
        self,
        seconds: float | None,
        monotonic: Callable[[], float],
        lock: AbstractContextManager[object],
        land: Callable[[], object],
    ) -> None:
        """`land` is called in a thread of its own, under the writer's `lock`.

        None for `seconds` starts none.
        """
        self._seconds = seconds
        self._monotonic = monotonic
        self._lock = lock
        self._land = land
        self._since: float | None = None
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self._failure: Exception | None = None

    def begin(self) -> None:
        """Rows have come to wait; their age counts from the first."""
        if self._since is None:
            self._since = self._monotonic()
            if self._seconds is not None and self._thread is None:
                self._thread = threading.Thread(target=self._run, name="publishing", daemon=True)
                self._thread.start()

    def restart(self, *, waiting: bool) -> None:
        """Rows were landed; what still waits came just now."""
        self._since = self._monotonic() if waiting else None

    def is_due(self) -> bool:
        """Whether the oldest row has waited long enough."""
        if self._seconds is None or self._since is None:
            return False
        return self._monotonic() - self._since >= self._seconds

    def raise_failure(self) -> None:
        """Raise what went wrong in the thread, once; the rows still wait."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def forget_failure(self) -> None:
        """What went wrong is tried again by somebody who hears of it."""
        self._failure = None

    def stop(self) -> None:
        """End the thread, if there is one; it may still be landing a file."""
        self._stopped.set()

    def _run(self) -> None:
        assert self._seconds is not None
        while not self._stopped.wait(self._seconds / 4):
            with self._lock:
                try:
                    if self._land():
                        self._failure = None  # what could not be landed before has landed
                except Exception as error:  # noqa: BLE001
                    # Whatever it is: nobody hears what a thread raises, and rows would wait for
                    # ever behind a thread that ended. Whoever calls next hears of it.
                    self._failure = error
