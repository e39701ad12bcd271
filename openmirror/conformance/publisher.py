"""The publisher's own program, which may be killed and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence

from openmirror.conformance.exchanges import InjectedFault
from openmirror.errors import CannotStart


class PublisherCommand:
    """A command that is run until it ends by itself."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], output: int) -> None:
        """What it prints goes to the file descriptor `output`."""
        self._command = list(command)
        self._environment = dict(environment)
        self._output = output
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
            try:
                self._process = subprocess.Popen(
                    self._command,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=self._output,
                    start_new_session=True,
                )
            except OSError as error:
                raise CannotStart(f"{self._command[0]} cannot be started: {error}") from error
            return self._process


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the whole session that it leads: it is a new one, so nobody else is in it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it has just ended by itself
    process.wait()
