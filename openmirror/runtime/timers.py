"""Periodic tasks, each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Protocol

from openmirror.errors import is_of_one_place, words_of
from openmirror.progress.runner import PeriodicTask, PeriodicTaskFailed
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.root_ports import RootPorts

Wake = Callable[[TableFolder], None]
"""Asks for a table to be reconciled soon; from any thread."""


class Beside(Protocol):
    """What goes on in threads of its own beside the tables of a process."""

    def check(self) -> None:
        """Raise what ended it, if it was something after which nothing can go on."""
        ...

    def stop(self, seconds: float) -> None:
        """Begin nothing more, and wait about so long for what is underway."""
        ...


class Repeating:
    """A thread that does one thing at once, and then at every interval or when it is asked."""

    def __init__(
        self,
        ports: RootPorts,
        task: PeriodicTask,
        interval: timedelta,
        action: Callable[[], object],
    ) -> None:
        self._ports = ports
        self._task = task
        self._interval = interval.total_seconds()
        self._action = action
        self._asked = threading.Event()
        self._stopping = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name=task.value, daemon=True)
        self._thread.start()

    def now(self) -> None:
        """Do it soon, without waiting for the interval to end."""
        self._asked.set()

    def check(self) -> None:
        """Raise what ended the thread, if it was something after which nothing can go on."""
        if self._failure is not None:
            raise self._failure

    def stop(self, seconds: float) -> None:
        """Begin no further pass, and wait at most this long for the one underway."""
        self._stopping.set()
        self._asked.set()
        self._thread.join(seconds)

    def _work(self) -> None:
        while not self._stopping.is_set():
            self._asked.clear()
            try:
                self._action()
            except Exception as error:  # noqa: BLE001 - one pass that fails must not end all others
                if not is_of_one_place(error):
                    self._failure = error
                    return
                self._ports.emit(PeriodicTaskFailed(self._task, words_of(error)))
            self._asked.wait(self._interval)
