"""A capture that goes on after what passes: a server that is restarted, a snapshot that failed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from openmirror.cdc.capture.asked_snapshots import AskedSnapshot
from openmirror.cdc.capture.process import CaptureInterrupted, CaptureProcess
from openmirror.protocol.names import TablePath
from openmirror.protocol.streams import Resnapshot

_WAITS = (1.0, 5.0, 15.0, 60.0)
"""Seconds before each further attempt."""
_LASTING = 300.0
"""Seconds after which one that has begun counts as one that goes well."""


class KeptCapture:
    """A capturing process that is begun again when it ends by something that passes.

    It is begun again for each new snapshot of a table as well, which takes seconds and loses
    nothing.
    """

    def __init__(
        self,
        begin: Callable[[AskedSnapshot | None], CaptureProcess],
        may_take: Callable[[], bool],
        say: Callable[[str], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`begin` makes a process that is ready; what it raises the first time is raised here.

        `may_take` says whether a new snapshot of a table can be taken: not amid the first one.
        """
        self._begin = begin
        self._may_take = may_take
        self._say = say
        self._monotonic = monotonic
        self._process: CaptureProcess | None = begin(None)
        self._taking: AskedSnapshot | None = None
        self._begun_at = monotonic()
        self._attempts = 0
        self._next_at = 0.0

    def check(self, wanted: Mapping[TablePath, Resnapshot]) -> None:
        """Begin it again where that helps, once it is time to; else raise why it has ended.

        `wanted`: the new snapshots that were asked for, and have not landed.
        """
        if self._process is not None:
            try:
                self._process.check()
            except CaptureInterrupted as error:
                if self._monotonic() - self._begun_at > _LASTING:
                    self._attempts = 0
                self._wait(error)
                return
            asked = self._to_take(wanted)
            if asked is not None:
                self._process.stop()
                self._begin_again(asked)
        elif self._monotonic() >= self._next_at and self._begin_again(self._to_take(wanted)):
            self._say("capturing again")

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.stop()

    def _to_take(self, wanted: Mapping[TablePath, Resnapshot]) -> AskedSnapshot | None:
        """The snapshot that is to be begun now; none while one is taken."""
        taking = self._taking
        if taking is not None and any(one.number == taking.number for one in wanted.values()):
            return None
        asked = AskedSnapshot.first_of(wanted)
        return asked if asked is not None and self._may_take() else None

    def _begin_again(self, asked: AskedSnapshot | None) -> bool:
        self._process = self._taking = None
        try:
            self._process = self._begin(asked)
        except CaptureInterrupted as error:
            self._wait(error)
            return False
        self._taking = asked
        self._begun_at = self._monotonic()
        if asked is not None:
            self._say(f"{asked.path}: a new snapshot of it is taken")
        return True

    def _wait(self, error: CaptureInterrupted) -> None:
        if self._process is not None:
            self._process.kill()
        self._process = self._taking = None
        wait = _WAITS[min(self._attempts, len(_WAITS) - 1)]
        self._attempts += 1
        self._next_at = self._monotonic() + wait
        self._say(f"not captured, and tried again in {wait:g} s: {error}")
