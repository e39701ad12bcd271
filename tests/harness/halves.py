"""All tests in two processes side by side, both heard as they go: `python -m tests.harness.halves`.

Those that need Spark share one session, and much of their time they wait for it. A few of them go
with all others, so that neither half has much longer to go.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import IO, NoReturn

_PYTEST = (
    *(sys.executable, "-m", "pytest", "--durations=40"),
    *("-p", "tests.harness.cpu", "-p", "tests.harness.heartbeat"),
)
_ALL = "not soak and not check_infra"
_WITH_SPARK = (
    "tests/cdc/decoding",
    "tests/chain",
    "tests/conformance",
    "tests/contract",
    "tests/deployment/test_sample.py",
    "tests/emulator/test_abfs.py",
    "tests/infra/test_role_matrix.py",
    "tests/integration",
    "tests/kill",
    "tests/property",
    "tests/publishing/test_from_spark.py",
    "tests/text",
)
"""Where tests are that need Spark: their half collects no others. A test elsewhere is an error."""
_WITH_SOURCES = (
    "tests/cdc/kafka/test_connectors.py",
    "tests/cdc/kafka/test_in_the_runner.py",
    "tests/cdc/postgresql",
)
"""But for these: they wait for databases and brokers, which the other half has for more tests, and
which cost as much as the session that it has for them."""
HALVES: Mapping[str, Sequence[str]] = {
    "spark": (*_PYTEST, "-m", f"half_with_spark and {_ALL}", *_WITH_SPARK),
    "other": (*_PYTEST, "-m", f"not half_with_spark and {_ALL}"),
}
_INTERRUPTED = 130
_HEADING = re.compile("=+ (?P<title>.+) =+")
_FAILURES = {"ERRORS", "FAILURES"}
_SUMMARY = "short test summary info"
_REPEATED = 100
"""Lines of a half's failures, the last ones, that stand once more at the very end."""
_PATIENCE = 20.0
"""Seconds in which an interrupted half ends by itself."""


def is_in_the_half_with_spark(test: str) -> bool:
    """Where a test that needs Spark is gone through; `test` is its node ID.

    Raises ValueError where neither half would run it.
    """
    if test.startswith(_WITH_SOURCES):
        return False
    if not test.startswith(_WITH_SPARK):
        raise ValueError(f"{test} needs Spark: name its place in {__name__}")
    return True


class Terminated(KeyboardInterrupt):
    """Somebody ended this process alone; Ctrl-C in a terminal goes to the halves as well."""


class Half:
    """One process whose lines are passed on, each after the half's name.

    Its last line, which says how many passed, is kept for the end, where both stand together, and
    so are its failures: thousands of lines of the other half may come after them, and whoever runs
    these tests elsewhere may keep the end of the output only.
    """

    def __init__(self, name: str, command: Sequence[str], to: IO[str], lock: threading.Lock):
        self._name = name
        self._to = to
        self._lock = lock
        self._kept = ""
        self._title = ""
        self._failures: deque[str] = deque(maxlen=_REPEATED)
        self._began = time.monotonic()
        self._process = subprocess.Popen(
            command,
            env=os.environ | {"COLUMNS": str(_columns() - len(self._prefix))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,  # apart, or it would cut a line of results in two
            encoding="utf-8",
            errors="replace",
        )
        self._readers = [
            threading.Thread(target=self._pass_on, args=(self._process.stdout, True), daemon=True),
            threading.Thread(target=self._pass_on, args=(self._process.stderr, False), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def wait(self) -> int:
        """Until it has ended and all its output is passed on; its exit code."""
        code = self._process.wait()
        for reader in self._readers:
            reader.join(_PATIENCE)  # an orphan of a test may hold the pipe open for ever
        return code

    def show_end(self) -> None:
        seconds = time.monotonic() - self._began
        self._say(f"ended after {seconds:.0f} s, exit code {self._process.returncode}")

    def show_failures(self) -> None:
        for line in self._failures:
            self._say(line)

    def show_result(self) -> None:
        self._say(self._kept)

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def end(self) -> None:
        """Wait for an interrupted half to say how far it came, but not for ever."""
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self.wait()
        self.show_result()

    @property
    def _prefix(self) -> str:
        return f"{self._name} │ "

    def _pass_on(self, lines: IO[str], results: bool) -> None:
        with lines:
            for line in lines:
                if not results:
                    self._say(line.rstrip("\n"))
                    continue
                if self._kept:
                    self._say(self._kept)
                self._kept = line.rstrip("\n")
                self._keep_failures(self._kept)

    def _keep_failures(self, line: str) -> None:
        if heading := _HEADING.fullmatch(line):
            self._title = heading["title"]
        failed = self._title == _SUMMARY and line.startswith(("FAILED ", "ERROR "))
        if self._title in _FAILURES or failed:
            self._failures.append(line)

    def _say(self, line: str) -> None:
        with self._lock:
            self._to.write(f"{self._prefix}{line}\n")
            self._to.flush()


def run(halves: Mapping[str, Sequence[str]], to: IO[str]) -> int:
    """0 when both ended well; else the exit code of one that did not.

    A half without any test has not ended well: pytest says 5, which goes on as it is.
    """
    lock = threading.Lock()
    started: list[Half] = []
    codes: dict[Half, int] = {}

    def follow(half: Half) -> None:
        codes[half] = half.wait()
        half.show_end()

    try:
        started.extend(Half(name, command, to, lock) for name, command in halves.items())
        followers = [threading.Thread(target=follow, args=(half,), daemon=True) for half in started]
        for follower in followers:
            follower.start()
        for follower in followers:
            follower.join()
    except KeyboardInterrupt as interrupt:
        if isinstance(interrupt, Terminated):
            for half in started:
                half.interrupt()
        for half in started:
            half.end()
        return _INTERRUPTED
    for half in started:
        half.show_failures()
    for half in started:
        half.show_result()
    return next((code for code in codes.values() if code), 0)


def _columns() -> int:
    return shutil.get_terminal_size((100, 24)).columns


def terminate(number: int, frame: FrameType | None) -> NoReturn:
    """The handler of SIGTERM."""
    raise Terminated


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, terminate)
    sys.exit(run(HALVES, sys.stdout))
