"""What each folder of tests costs: seconds of wall clock and of CPU, with all processes started.

A pytest plugin (`-p tests.harness.cpu`). On a machine that does other things only CPU says whether
tests became slower. The processes of a test often outlive whoever started them (the JVM of a runner
that was killed), so this process adopts orphans: no CPU is lost, and none counts twice.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections import defaultdict
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)
_OBSERVE_EVERY = 8.0
"""Seconds; to ask all processes of a machine takes some hundredths of one."""
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Process:
    """One line of /proc/PID/stat."""

    pid: int
    parent: int
    ended: bool
    seconds: float
    """CPU of itself and of those of its children that have ended."""


def parse(stat: str) -> Process:
    """What the kernel says of a process; its name may hold anything, so count from behind it."""
    pid, _, rest = stat.partition(" ")
    words = rest.rpartition(")")[2].split()
    return Process(int(pid), int(words[1]), words[0] == "Z", sum(map(int, words[11:15])) / _TICKS)


def below(root: int, processes: Iterable[Process]) -> dict[int, Process]:
    """All that descend from this process, itself not among them."""
    children: dict[int, list[Process]] = defaultdict(list)
    for process in processes:
        children[process.parent].append(process)
    found: dict[int, Process] = {}
    waiting = [root]
    while waiting:
        for process in children[waiting.pop()]:
            found[process.pid] = process
            waiting.append(process.pid)
    return found


@dataclass
class Cost:
    """Of one folder, in seconds."""

    tests: int = 0
    wall: float = 0.0
    cpu: float = 0.0

    def add(self, other: Cost) -> None:
        self.tests += other.tests
        self.wall += other.wall
        self.cpu += other.cpu


def table(costs: dict[str, Cost]) -> list[str]:
    """The dearest first, and what all of them cost."""
    total = Cost()
    for cost in costs.values():
        total.add(cost)
    rows = sorted(costs.items(), key=lambda item: -item[1].cpu)
    return [
        f"{'folder':<32}{'tests':>7}{'wall s':>9}{'CPU s':>9}",
        *(
            f"{name:<32}{cost.tests:>7,}{cost.wall:>9.1f}{cost.cpu:>9.1f}"
            for name, cost in [*rows, ("all", total)]
        ),
    ]


@dataclass
class Meter:
    """CPU seconds of this process and of all that descend from it."""

    _known: frozenset[int] = frozenset()
    _parents: dict[int, int] = field(default_factory=dict)

    def observed(self) -> None:
        """Find out who descends from this process, and let go of orphans that have ended."""
        me = os.getpid()
        found = below(me, _all())
        self._known = frozenset(found)
        for process in found.values():
            first = self._parents.setdefault(process.pid, process.parent)
            # Those that this process itself started are waited for by whoever started them.
            if process.ended and process.parent == me and first != me:
                with suppress(ChildProcessError):
                    os.waitpid(process.pid, os.WNOHANG)
        self._parents = {pid: self._parents[pid] for pid in found}

    def seconds(self) -> float:
        own = os.times()
        ended_and_own = own.user + own.system + own.children_user + own.children_system
        return ended_and_own + sum(process.seconds for process in _of(self._known))


class Costs:
    """The plugin: behind the last test of a folder in a row, what was spent is that folder's."""

    def __init__(self) -> None:
        self._meter = Meter()
        self._costs: dict[str, Cost] = defaultdict(Cost)
        self._cpu = self._wall = 0.0
        self._tests = 0
        self._stop = threading.Event()
        self._sampling = threading.Thread(target=self._observe, name="cpu", daemon=True)

    def pytest_sessionstart(self) -> None:
        ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
        self._wall = time.monotonic()
        self._sampling.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        try:
            return (yield)
        finally:
            self._spent("(collecting)")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        try:
            return (yield)
        finally:
            self._tests += 1
            if nextitem is None or _folder(nextitem) != _folder(item):
                self._spent(_folder(item))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        self._stop.set()
        self._sampling.join()
        self._meter.observed()
        self._spent("(ending)")
        terminalreporter.write_sep("=", "what each folder took, with all processes it started")
        for line in table(self._costs):
            terminalreporter.write_line(line)

    def _observe(self) -> None:
        while not self._stop.wait(_OBSERVE_EVERY):
            self._meter.observed()

    def _spent(self, folder: str) -> None:
        wall, cpu = time.monotonic(), self._meter.seconds()
        self._costs[folder].add(Cost(self._tests, wall - self._wall, cpu - self._cpu))
        self._wall, self._cpu, self._tests = wall, cpu, 0


def _folder(item: pytest.Item) -> str:
    return "/".join(item.nodeid.partition("::")[0].split("/")[:2])


def _all() -> Iterable[Process]:
    return _of(int(name) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208 - quick


def _of(pids: Iterable[int]) -> Iterable[Process]:
    for pid in pids:
        # A process may end at any moment.
        with suppress(FileNotFoundError, ProcessLookupError):
            yield parse(Path(f"/proc/{pid}/stat").read_text(errors="replace"))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Costs(), "costs")
