"""The other end of an alternative's process: started fresh, given tasks, stopped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from bench.alternatives.tasks import Task
from bench.alternatives.worker import ANSWER

_PATIENCE = 60.0
_LAST_WORDS = 3000


def clean_environment() -> dict[str, str]:
    """This process's own, without settings of openmirror: the bench measures its defaults."""
    return {name: value for name, value in os.environ.items() if not name.startswith("OPENMIRROR_")}


class Process:
    """One alternative, or two with the same Spark settings, in a process of their own."""

    def __init__(self, name: str, root: Path, log: Path) -> None:
        """Start it; what it is given waits until it is ready."""
        self.name = name
        self.log = log
        self.commits = 0
        """What it has behind it: a process of Java is slow at first."""
        root.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bench.alternatives.worker", name, str(root)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=clean_environment(),
            )
        self._is_ready = False

    def wait_until_ready(self) -> None:
        """Return when it takes tasks; raises RuntimeError if it has failed."""
        if not self._is_ready:
            self._answer()
            self._is_ready = True

    def do(self, task: Task) -> float:
        """The seconds that a task took; raises RuntimeError with the last words if it fails."""
        self.wait_until_ready()
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # then what it wrote last says why
            self._process.stdin.write(task.encode() + "\n")
            self._process.stdin.flush()
        seconds = float(self._answer()["seconds"])
        self.commits += len(task.tables)
        return seconds

    def stop(self) -> None:
        """Let it end, or end it."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _answer(self) -> dict[str, float]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(ANSWER):
                answer: dict[str, float] = json.loads(line.removeprefix(ANSWER))
                return answer
        code = self._process.wait()
        raise RuntimeError(f"{self.name} failed with exit code {code}:\n{last_words(self.log)}")


def last_words(log: Path) -> str:
    """The end of what a process wrote."""
    return log.read_text(errors="replace")[-_LAST_WORDS:]
