"""The capturing process, as the one that starts it sees it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue

from openmirror.cdc.capture.settings import CaptureSettings
from openmirror.errors import CannotStart, OpenmirrorError


class CaptureFailed(OpenmirrorError):
    """The capturing process has ended; the message says why, and what to do."""


class CaptureInterrupted(CaptureFailed):
    """It has ended by something that passes: beginning again is all that it needs."""


class CaptureProcess:
    """A process of its own, which may be killed at any time: what it has spooled is there.

    It ends with the process that started it, however that ends.
    """

    def __init__(self, settings: CaptureSettings) -> None:
        self._settings = settings
        self._lines: SimpleQueue[dict[str, object] | None] = SimpleQueue()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "openmirror.cdc.capture"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdin is not None
        # Not as an argument, which every user of the machine could read: it holds the password.
        self._process.stdin.write(settings.as_json() + "\n")
        self._process.stdin.flush()
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._listening.start()

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._process.poll()

    def wait_ready(self, seconds: float, say: Callable[[str], None]) -> tuple[str, ...]:
        """The tables that are captured, once it has begun; `say` hears of those that are not.

        Raises CannotStart where it cannot begin, and CaptureInterrupted where it cannot yet, or has
        not in time.
        """
        try:
            line = self._lines.get(timeout=seconds)
        except Empty:
            raise CaptureInterrupted(
                f"{self._settings.url} was not captured within {seconds:g} s"
            ) from None
        if line is None or "error" in line:
            if _passes(line):
                raise CaptureInterrupted(self._why(line))
            raise CannotStart(self._why(line))
        for note in _texts(line["notes"]):
            say(note)
        return _texts(line["ready"])

    def check(self) -> None:
        """Raise CaptureFailed if it has ended."""
        if self._process.poll() is None:
            return
        try:
            line = self._lines.get(timeout=1.0)
        except Empty:
            line = None
        raise (CaptureInterrupted if _passes(line) else CaptureFailed)(self._why(line))

    def stop(self, seconds: float = 15.0) -> None:
        """End it; it is killed where it does not end in time, which loses nothing."""
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self.kill()

    def kill(self) -> None:
        """End it at once, where it has not ended."""
        self._process.kill()
        self._process.wait()
        self._listening.join()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for text in self._process.stdout:
            try:
                self._lines.put(json.loads(text))
            except ValueError:  # what a library prints
                continue
        self._lines.put(None)

    def _why(self, line: dict[str, object] | None) -> str:
        if line is not None and "error" in line:
            return str(line["error"])
        code = self._process.poll()
        return f"the process that captures {self._settings.url} has ended ({code})"


def _passes(line: dict[str, object] | None) -> bool:
    return line is not None and bool(line.get("passes"))


def _texts(values: object) -> tuple[str, ...]:
    assert isinstance(values, list)
    return tuple(map(str, values))
