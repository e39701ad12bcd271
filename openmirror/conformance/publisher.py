"""The publisher's own program, which may be killed and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence

from openmirror.conformance.exchanges import InjectedFault
from openmirror.errors import CannotStart

StartCommand = Callable[[], subprocess.Popen[bytes]]
"""Starts a command, which leads a session of its own. Raises CannotStart."""


def beginning(command: Sequence[str], environment: Mapping[str, str], output: int) -> StartCommand:
    """Starts it with this environment; what it prints goes to the file descriptor `output`."""

    def begin() -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                start_new_session=True,
            )
        except OSError as error:
            raise CannotStart(f"{command[0]} cannot be started: {error}") from error

    return begin


class PublisherCommand:
    """A command that is run until it ends by itself."""

    def __init__(self, begin: StartCommand) -> None:
        self._begin = begin
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._again = False

    def run(self) -> int:
        """Run it, again for each restart; answers its last exit code. Raises CannotStart."""
        while True:
            process = self._start()
            try:
                code = process.wait()
            except BaseException:
                _kill(process)
                raise
            with self._lock:
                again, self._again = self._again, False
            if not again:
                return code

    def restart(self, fault: InjectedFault) -> None:
        """Kill it with all that it has started, at once; `run` starts it again."""
        with self._lock:
            process = self._process
            if process is None or process.poll() is not None:
                return
            self._again = fault.is_restart
            _kill(process)

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            self._process = self._begin()
            return self._process


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the whole session that it leads: it is a new one, so nobody else is in it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it has just ended by itself
    process.wait()
