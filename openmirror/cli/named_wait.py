"""What nothing goes on without, named while it lasts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from openmirror.cli.console import say
from openmirror.durations import short

REMIND_SECONDS = 10.0


class NamedWait:
    """What is waited for during a block: printed at once and every ten seconds, and when asked."""

    def __init__(
        self, what: str, emit: Callable[[str], None] = say, remind: float = REMIND_SECONDS
    ) -> None:
        self._what = what
        self._emit = emit
        self._remind = remind
        self._began: float | None = None

    def text(self) -> str | None:
        """What is waited for, and for how long by now; None outside of the block."""
        if (began := self._began) is None:
            return None
        return f"{self._what}, for {short(round(time.monotonic() - began))} so far"

    @contextmanager
    def named(self) -> Iterator[None]:
        """The block that is waited for."""
        over = threading.Event()

        def remind() -> None:
            while not over.wait(self._remind):
                if text := self.text():
                    self._emit(text)

        self._began = time.monotonic()
        self._emit(self._what)
        reminder = threading.Thread(target=remind, name="reminder", daemon=True)
        reminder.start()
        try:
            yield
        finally:
            self._began = None
            over.set()
            reminder.join()
