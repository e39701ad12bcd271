"""What is measured, in a fresh process for each alternative, and how its result is reported."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Protocol

from bench.workload import Place, TableWork, check, make_work

WARM_UP = 3
"""Commits of a kind before those that count: the JVM compiles during the first ones."""
_RESULT = "RESULT "


@dataclass(frozen=True)
class Plan:
    """What one process measures."""

    root: str
    started: float
    """The monotonic time at which the process was started."""
    commits: int
    tables: int
    files: int
    rows: int
    workers: int
    seed: int


@dataclass(frozen=True)
class Measured:
    """What one process found."""

    cold_start: float
    merge: float
    append: float
    throughput: float
    """Rows a second."""


class Alternative(Protocol):
    """One way to bring change files into Delta tables."""

    def apply(self, table: str, sequence: int, /) -> float:
        """Apply the one file of a table that is not applied yet; the time when it was committed."""
        ...

    def apply_all(self, tables: list[str], first: int, last: int, /) -> None:
        """Apply these files of every table, with as many threads as there are workers."""
        ...


def measure(alternative: Alternative, plan: Plan) -> Measured:
    """Run all measurements of one process, the cold start first."""
    place = Place(Path(plan.root))
    cold = make_work("cold", files=0, rows=plan.rows, seed=plan.seed)
    cold_start = alternative.apply(cold.name, 1) - plan.started
    check(place.delta(cold.name), cold.sums[0])
    merge = _commits(alternative, plan, appends=False)
    append = _commits(alternative, plan, appends=True)
    return Measured(cold_start, merge, append, _throughput(alternative, plan))


def _commits(alternative: Alternative, plan: Plan, *, appends: bool) -> float:
    """The median time of a warm commit of one file."""
    place = Place(Path(plan.root))
    name = "appended" if appends else "merged"
    files = WARM_UP + plan.commits
    work = make_work(name, files=files, rows=plan.rows, seed=plan.seed, appends=appends)
    times = []
    for sequence in range(1, files + 2):
        place.publish(work, sequence, sequence)
        before = time.monotonic()
        times.append(alternative.apply(name, sequence) - before)
    check(place.delta(name), work.sums[-1])
    return median(times[1 + WARM_UP :])


def _throughput(alternative: Alternative, plan: Plan) -> float:
    """Rows a second over many tables that hold rows already."""
    place = Place(Path(plan.root))
    works = [
        make_work(f"t{number:03d}", files=plan.files, rows=plan.rows, seed=plan.seed)
        for number in range(plan.tables)
    ]
    names = [work.name for work in works]
    _publish(place, works, 1, 1)
    alternative.apply_all(names, 1, 1)
    _publish(place, works, 2, plan.files + 1)
    before = time.monotonic()
    alternative.apply_all(names, 2, plan.files + 1)
    took = time.monotonic() - before
    for work in works:
        check(place.delta(work.name), work.sums[-1])
    return plan.tables * plan.files * plan.rows / took


def _publish(place: Place, works: Iterable[TableWork], first: int, last: int) -> None:
    for work in works:
        place.publish(work, first, last)


def run_in_fresh_process(module: str, plan: Mapping[str, int], root: Path, log: Path) -> Measured:
    """Measure one alternative; raises RuntimeError with the process's last words if it fails."""
    place = Place(root)
    cold = make_work("cold", files=0, rows=plan["rows"], seed=plan["seed"])
    place.publish(cold, 1, 1)
    started = time.monotonic()  # on Linux and macOS one clock for all processes
    words = json.dumps({**plan, "root": str(root), "started": started})
    with log.open("wb") as errors:
        done = subprocess.run(
            [sys.executable, "-m", module, words],
            stdout=subprocess.PIPE,
            stderr=errors,
            check=False,
        )
    lines = [line for line in done.stdout.decode().splitlines() if line.startswith(_RESULT)]
    if done.returncode or not lines:
        last_words = log.read_text(errors="replace")[-3000:]
        raise RuntimeError(f"{module} failed with exit code {done.returncode}:\n{last_words}")
    return Measured(**json.loads(lines[-1].removeprefix(_RESULT)))


def report(measured: Measured) -> None:
    """Report to the process that started this one."""
    print(_RESULT + json.dumps(asdict(measured)), flush=True)


def medians(runs: list[Measured]) -> Measured:
    """The median of each measurement over several runs."""
    values = [asdict(run) for run in runs]
    return Measured(**{name: median(run[name] for run in values) for name in values[0]})


def machine() -> dict[str, str]:
    """What the numbers depend on."""
    java = subprocess.run(
        [_java(), "-version"], capture_output=True, text=True, check=False
    ).stderr.splitlines()
    return {
        "cpu": f"{os.cpu_count()} x {_cpu()}",
        "memory": f"{_memory_gib():.0f} GiB",
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "java": java[0] if java else "not found",
        "pyspark": version("pyspark"),
        "delta-spark": version("delta-spark"),
        "openmirror": version("openmirror"),
    }


def load() -> float:
    """How many processes want a processor, over the last minute."""
    return os.getloadavg()[0]


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
