"""What the first batch waits for: a process, a JVM, Spark, and all that is compiled first."""

from __future__ import annotations

import time

from bench.alternatives import OPENMIRROR, PLAIN, Alternative
from bench.alternatives.process import last_words
from bench.alternatives.tasks import Task
from bench.cases.program import Commits, started
from bench.cases.running import Counted, Running
from bench.figures import Measured
from bench.workload import Place, Source, check

NAME = "cold"
TITLE = "Cold start"
_TABLE = "cold"
_ROWS = 10_000


def run(running: Running) -> Measured:
    """Seconds from the start of a process to its first commit, in turns."""
    scale, counted = running.scale, Counted(NAME)
    for number in range(scale.cold_warm_up + scale.cold_starts):
        for alternative in (OPENMIRROR, PLAIN):
            running.say(f"{NAME}: {number + 1}, {alternative.title}")
            seconds = _start(running, alternative, number)
            if number >= scale.cold_warm_up:
                counted.add("to the first commit", alternative, seconds)
    words = (
        f"`openmirror drain`, and a Spark session with the same jars, over one file of {_ROWS:,} "
        "inserts into a new table"
    )
    return Measured(NAME, TITLE, words, counted.figures)


def _start(running: Running, alternative: Alternative, number: int) -> float:
    place = Place(running.folder / f"cold-{alternative.name}-{number}", NAME)
    source = Source(NAME)
    place.publish(_TABLE, 1, source.changes(_ROWS))
    if alternative is OPENMIRROR:
        arguments = ["openmirror.cli", "drain", "--root", str(place.root)]
    else:
        task = Task(str(place.root), place.mirror, (_TABLE,), 1, 1, "merge")
        arguments = ["bench.alternatives.plain_session", task.encode()]
    log = running.folder / f"cold-{alternative.name}-{number}.log"
    began = time.time()  # which is what files are dated by
    with started(arguments, log) as process:
        code = process.wait()
    if code:
        raise RuntimeError(f"{alternative.title} failed with exit code {code}:\n{last_words(log)}")
    check(place.delta(_TABLE), source.totals())
    return Commits(place.delta(_TABLE)).first() - began
