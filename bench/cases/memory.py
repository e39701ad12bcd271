"""The memory that a backlog takes: it must not grow with the number of files."""

from __future__ import annotations

import time
from pathlib import Path

from bench.alternatives import OPENMIRROR
from bench.alternatives.process import last_words
from bench.cases.peak import Peak
from bench.cases.program import started
from bench.cases.running import Counted, Running
from bench.figures import Measured
from bench.workload import MIXED, Place, Source, check

NAME = "memory"
TITLE = "Memory of a backlog"
_TABLE = "backlog"
_EVERY = 0.5
_HEAP = "1g"
"""Java takes what it may have before it clears up: so less than either backlog makes it take."""


def run(running: Running) -> Measured:
    """The peak of `openmirror drain`, Python and JVM, over backlogs of two lengths."""
    counted = Counted(NAME)
    for line, files in zip(("short", "long"), running.scale.backlogs, strict=True):
        running.say(f"{NAME}: {files:,} files")
        if peak := _drained(running, line, files):
            counted.add(f"peak, {line} backlog", OPENMIRROR, peak, "MiB")
    short, long = running.scale.backlogs
    words = (
        f"`openmirror drain` over {short:,} and over {long:,} files of {running.scale.backlog_rows}"
        " changes in one folder, with a driver memory of 1 GB; resident memory of all its "
        "processes, each at its peak"
    )
    if not counted.figures:
        words = "not measured: this system has no /proc"
    return Measured(NAME, TITLE, words, counted.figures)


def _drained(running: Running, line: str, files: int) -> float | None:
    """The peak in MiB; None where the system does not say."""
    place, source = Place(running.folder / f"memory-{line}", NAME), Source(line)
    for sequence in range(1, files + 1):
        place.publish(_TABLE, sequence, source.changes(running.scale.backlog_rows, MIXED))
    log = running.folder / f"memory-{line}.log"
    arguments = ["openmirror.cli", "drain", "--root", str(place.root)]
    with started(arguments, log, OPENMIRROR_DRIVER_MEMORY=_HEAP) as process:
        peak = Peak(process.pid, Path("/proc"))
        while process.poll() is None:
            peak.update()
            time.sleep(_EVERY)
    if process.returncode:
        raise RuntimeError(f"the drain failed:\n{last_words(log)}")
    check(place.delta(_TABLE), source.totals())
    return peak.mebibytes
