"""The command line as a process of its own, followed by what it commits."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.alternatives.process import clean_environment, last_words
from openmirror.protocol.sequence import FENCED

_STOPPING = 60.0
_POLL = 0.1


@contextmanager
def started(arguments: list[str], log: Path, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Python module with its arguments, interrupted if it still runs at the end.

    What it writes goes to the log; `settings` are variables of its environment.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**clean_environment(), **settings},
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(_STOPPING)
        except subprocess.TimeoutExpired:
            process.kill()


@contextmanager
def up(root: Path, log: Path, **settings: str) -> Iterator[Up]:
    """`openmirror up` over a root."""
    with started(["openmirror.cli", "up", "--root", str(root)], log, **settings) as process:
        yield Up(process, log)


class Up:
    """`openmirror up` at work."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self._log = log

    def wait(self, commits: Commits, sequence: int, patience: float) -> float:
        """When this sequence was committed; raises RuntimeError if it is not, or `up` ends."""
        ends = time.monotonic() + patience
        while True:
            if (at := commits.when(sequence)) is not None:
                return at
            if self._process.poll() is not None or time.monotonic() > ends:
                raise RuntimeError(f"{sequence} is not committed:\n{last_words(self._log)}")
            time.sleep(_POLL)


class Commits:
    """When a table got which sequence, by the files of its log: nothing else is asked."""

    def __init__(self, table: Path) -> None:
        self._log = table / "_delta_log"
        self._known: dict[int, tuple[float, int]] = {}
        """Of each version, when it was written and the position that it has."""

    def when(self, sequence: int) -> float | None:
        """The wall-clock time of the first commit that has it; None when none has."""
        self._read()
        times = (at for at, position in self._known.values() if position >= sequence)
        return next(times, None)

    def first(self) -> float:
        """The time of the first commit."""
        self._read()
        return self._known[0][0]

    def _read(self) -> None:
        version = len(self._known)
        while (file := self._log / f"{version:020d}.json").exists():
            actions = map(json.loads, file.read_text().splitlines())
            self._known[version] = file.stat().st_mtime, position_of(actions)
            version += 1


def position_of(actions: Iterable[Mapping[str, Any]]) -> int:
    """The position that a commit's transaction has; 0 where it has none, or is a fence."""
    positions = (action["txn"]["version"] for action in actions if "txn" in action)
    return max((position for position in positions if position < FENCED), default=0)
