"""The publisher's process, seen from the demo's own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from openmirror.demo.publisher import KEY, arguments
from openmirror.demo.scope import Scope


class DemoFailed(Exception):
    """Something went wrong that a person should read."""


class PublisherProcess:
    """A running publisher; `hear` gets each line that it writes, in another thread."""

    def __init__(
        self, process: subprocess.Popen[str], complaints: IO[str], hear: Callable[[str], None]
    ) -> None:
        self._process = process
        self._complaints = complaints
        self._hear = hear
        self._listening = threading.Thread(target=self._listen, name="publisher", daemon=True)
        self._listening.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._hear(line.strip())

    def has_ended(self) -> bool:
        """Whether it has written everything; raises DemoFailed when it broke."""
        code = self._process.poll()
        if code:
            self._complaints.seek(0)
            complaint = self._complaints.read()[-2000:].strip()
            raise DemoFailed(f"the publisher ended with {code}\n{complaint}")
        return code == 0

    def end(self) -> None:
        """Stop it, if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._listening.join()


@contextmanager
def publishing(
    root: str, scope: Scope, hear: Callable[[str], None], key: str | None = None
) -> Iterator[PublisherProcess]:
    """Run a publisher while this lasts, towards a folder or an account with this key."""
    command = [sys.executable, "-m", "openmirror.demo.publisher", *arguments(root, scope)]
    env = os.environ | ({KEY: key} if key else {})
    with tempfile.TemporaryFile("w+") as complaints:
        process = subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            start_new_session=True,  # Ctrl-C is for us; we end it
        )
        publisher = PublisherProcess(process, complaints, hear)
        try:
            yield publisher
        finally:
            publisher.end()
