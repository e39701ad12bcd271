"""Changes of keys that lie beside each other: files that cannot have them need not be read."""

from __future__ import annotations

import random

from bench.alternatives import OPENMIRROR
from bench.cases.large import fill
from bench.cases.running import Counted, Running, land, rest, warm_up
from bench.figures import Measured
from bench.workload import CHANGES, Source

NAME = "adjacent"
HUGE = "adjacent-100m"
TITLE = "Adjacent keys, in tables of two sizes"
NEEDS = (OPENMIRROR,)
_HUGE_ROWS = 100_000_000


def run(running: Running) -> Measured:
    """Seconds of a commit, by the size of the table."""
    small, large = running.scale.adjacent_tables
    return _beside(running, NAME, {"small table": small, "large table": large})


def run_huge(running: Running) -> Measured:
    """The same with 100 million rows: some minutes, and 15 GB of disk."""
    small = running.scale.adjacent_tables[0]
    return _beside(running, HUGE, {"small table": small, "huge table": _HUGE_ROWS})


def _beside(running: Running, case: str, tables: dict[str, int]) -> Measured:
    scale, counted = running.scale, Counted(case)
    warm_up(running, NEEDS, case)
    way = running.way(OPENMIRROR, case)
    draw = random.Random(case)
    sources = {line: Source(line) for line in tables}
    reached = {
        line: fill(running, [way], _table(line), sources[line], rows)
        for line, rows in tables.items()
    }
    for number in range(scale.adjacent_warm_up + scale.adjacent_commits):
        for line, rows in tables.items():
            running.say(f"{case}: {line}, {number + 1}")
            low = draw.randrange(rows - scale.adjacent_changes)
            within = low, low + scale.adjacent_changes
            changes = sources[line].changes(scale.adjacent_changes, CHANGES, within)
            reached[line] += 1
            land([way], _table(line), reached[line], changes)
            rest()
            seconds = way.apply([_table(line)], reached[line], reached[line])
            if number >= scale.adjacent_warm_up:
                counted.add(line, OPENMIRROR, seconds)
    for line in tables:
        way.check(_table(line), sources[line].totals())
    sizes = ", ".join(f"{line} {rows:,} rows" for line, rows in tables.items())
    words = f"upserts of {scale.adjacent_changes:,} keys in a row, anywhere in the table; {sizes}"
    return Measured(case, TITLE, words, counted.figures)


def _table(line: str) -> str:
    return line.replace(" ", "_")
