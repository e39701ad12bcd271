"""Waits for a publisher's command, and ends it with all that it has started when asked to stop."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Set
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue

_PROCESSES = Path("/proc")
_POLL_SECONDS = 0.05

HeardSignals = SimpleQueue[int | None]
"""The numbers of signals that were heard; None stands for the command's end."""


class Family:
    """A command with all that it has started, wherever that is by now."""

    def __init__(self, process: subprocess.Popen[bytes], mark: bytes) -> None:
        """`mark` is a NAME=value that stands in the environment of this command alone.

        By it they are known, not by their parents: whoever outlives its parent has another one.
        Where there is no /proc, as on macOS, the command itself is all that is known.
        """
        self._process = process
        self._mark = mark

    def living(self) -> Set[int]:
        """Process ids."""
        found = {self._process.pid} if self._process.poll() is None else set()
        with suppress(OSError):
            for place in _PROCESSES.iterdir():
                if place.name.isdigit() and self._is_marked(place):
                    found.add(int(place.name))
        return found

    def signal(self, number: int) -> None:
        """Send a signal to each of them, also to those that are being started just now."""
        halted: set[int] = set()
        # Whoever is halted starts nobody: else a child could be born behind our back, and be
        # left alone by its parent's end.
        while others := self.living() - halted:
            for one in others:
                _send(one, signal.SIGSTOP)
            halted |= others
        for one in halted:
            _send(one, number)
            _send(one, signal.SIGCONT)

    def _is_marked(self, place: Path) -> bool:
        try:
            return self._mark in (place / "environ").read_bytes().split(b"\0")
        except OSError:  # it has just ended, or is another user's
            return False


def wait_for_end(
    process: subprocess.Popen[bytes],
    family: Family,
    heard: HeardSignals,
    patience: float,
    stopping: Callable[[], None],
) -> int:
    """Its exit code, as a shell has it: 128 and the signal's number where a signal ended it.

    A SIGINT or SIGTERM that is heard ends the family. After Ctrl-C, which a terminal gives to the
    command as well, it has `patience` seconds before it gets SIGTERM, and as many again before
    SIGKILL; the second signal that is heard kills at once. `stopping` is called at the first.
    """
    threading.Thread(target=_announce_end, args=(process, heard), daemon=True).start()
    first = heard.get()
    if first is None:
        return _as_of_shell(process.wait())
    stopping()
    if first != signal.SIGINT:
        family.signal(first)
    _end(family, heard, patience)
    try:
        code = process.wait(patience)
    except subprocess.TimeoutExpired:
        return 128 + first  # by sudo it has become another user's, whom nobody here may end
    return 128 + first if code < 0 else code


def _end(family: Family, heard: HeardSignals, patience: float) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        is_hurried = _wait(family, heard, patience)
        if not family.living():
            return
        family.signal(signal.SIGKILL if is_hurried else number)
        if is_hurried:
            return


def _wait(family: Family, heard: HeardSignals, patience: float) -> bool:
    """Until nobody is left or the time is over; whether another signal cut it short."""
    until = time.monotonic() + patience
    while family.living() and time.monotonic() < until:
        with suppress(Empty):
            if heard.get(timeout=_POLL_SECONDS) is not None:
                return True
    return False


def _announce_end(process: subprocess.Popen[bytes], heard: HeardSignals) -> None:
    process.wait()
    heard.put(None)


def _send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _as_of_shell(code: int) -> int:
    return 128 - code if code < 0 else code
