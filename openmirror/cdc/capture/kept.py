"""A capture that goes on after what passes: a server that is restarted, a race of the connector."""

from __future__ import annotations

import time
from collections.abc import Callable

from openmirror.cdc.capture.process import CaptureInterrupted, CaptureProcess

_WAITS = (1.0, 5.0, 15.0, 60.0)
"""Seconds before each further attempt."""
_LASTING = 300.0
"""Seconds after which one that has begun counts as one that goes well."""


class KeptCapture:
    """A capturing process that is begun again when it ends by something that passes."""

    def __init__(
        self,
        begin: Callable[[], CaptureProcess],
        say: Callable[[str], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`begin` makes a process that is ready; what it raises the first time is raised here."""
        self._begin = begin
        self._say = say
        self._monotonic = monotonic
        self._process: CaptureProcess | None = begin()
        self._begun_at = monotonic()
        self._attempts = 0
        self._next_at = 0.0
        self.starts = 1
        """How often it has begun: each time it has forgotten what it was asked for."""

    def check(self) -> None:
        """Begin it again where that helps, once it is time to; else raise why it has ended."""
        if self._process is not None:
            try:
                self._process.check()
            except CaptureInterrupted as error:
                if self._monotonic() - self._begun_at > _LASTING:
                    self._attempts = 0
                self._wait(error)
        elif self._monotonic() >= self._next_at:
            try:
                self._process = self._begin()
            except CaptureInterrupted as error:
                self._wait(error)
                return
            self._begun_at = self._monotonic()
            self.starts += 1
            self._say("capturing again")

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.stop()

    def _wait(self, error: CaptureInterrupted) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None
        wait = _WAITS[min(self._attempts, len(_WAITS) - 1)]
        self._attempts += 1
        self._next_at = self._monotonic() + wait
        self._say(f"not captured, and tried again in {wait:g} s: {error}")
