"""A backlog of large files that only insert, beside what Spark can do at most."""

from __future__ import annotations

from bench.alternatives import APPEND, OPENMIRROR
from bench.cases.running import Counted, Running, land, rest, warm_up
from bench.figures import Measured
from bench.workload import Source

NAME = "inserts"
TITLE = "Drain of inserts"
NEEDS = (OPENMIRROR, APPEND)


def run(running: Running) -> Measured:
    """Rows a second of warm drains."""
    scale, counted = running.scale, Counted(NAME)
    warm_up(running, NEEDS, NAME)
    ways = [running.way(one, NAME) for one in NEEDS]
    source, table, reached = Source("inserts"), "inserts", 0
    for number in range(1 + scale.insert_drains):
        first = reached + 1
        reached += scale.insert_files
        for sequence in range(first, reached + 1):
            land(ways, table, sequence, source.changes(scale.insert_rows))
        for way in ways:
            running.say(f"{NAME}: {number} of {scale.insert_drains}, {way.alternative.title}")
            rest()
            seconds = way.apply([table], first, reached, "append")
            if number:
                rows = scale.insert_files * scale.insert_rows
                counted.add("rows a second", way.alternative, rows / seconds, "rows/s")
    for way in ways:
        way.check(table, source.totals())
    words = f"{scale.insert_files} files x {scale.insert_rows:,} rows into one table, 7 columns"
    return Measured(NAME, TITLE, words, counted.figures)
