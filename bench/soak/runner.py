"""The runner of a soak: `openmirror up`, which can be killed as well as stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from bench.alternatives.process import clean_environment, last_words

_STOPPING = 120.0


class Runner(Protocol):
    """Whoever applies files; started anew after each end."""

    def start(self) -> None:
        """Begin; returns at once."""
        ...

    def check(self) -> None:
        """Raise RuntimeError with its last words if it has ended by itself."""
        ...

    def stop(self) -> None:
        """End after the batches underway; returns when nothing of it is left."""
        ...

    def kill(self, *, leaves_jvm: bool) -> None:
        """End it at once."""
        ...


class Up:
    """`openmirror up` over a root, in a process group of its own."""

    def __init__(self, root: Path, log: Path) -> None:
        self._root = root
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begin; returns at once."""
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "openmirror.cli", "up", "--root", str(self._root)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=clean_environment(),
                start_new_session=True,
            )

    def check(self) -> None:
        """Raise RuntimeError with its last words if it has ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            raise RuntimeError(f"the runner has ended:\n{last_words(self._log)}")

    def stop(self) -> None:
        """End after the batches underway; returns when nothing of it is left."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOPPING)
        self._end()

    def kill(self, *, leaves_jvm: bool) -> None:
        """SIGKILL. Its JVM may go on for a moment, and commit what it has begun."""
        assert self._process is not None
        self._process.kill()
        if leaves_jvm:
            self._process.wait()
            _wait_for_group(self._process.pid)
        self._end()

    def _end(self) -> None:
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process = None


def _wait_for_group(group: int) -> None:
    """Until its last process has ended by itself, or for some seconds."""
    ends = time.monotonic() + _STOPPING / 4
    with suppress(ProcessLookupError):
        while time.monotonic() < ends:
            os.killpg(group, 0)
            time.sleep(0.05)
