"""Changes of random keys in a large table: most of its files are touched."""

from __future__ import annotations

from bench.alternatives import DELTA_RS, OPENMIRROR, TUNED
from bench.cases.running import Counted, Running, Way, land, rest, warm_up
from bench.figures import Measured
from bench.workload import MIXED, UPSERTS, Source

NAME = "large"
TITLE = "A large table, random keys"
NEEDS = (OPENMIRROR, TUNED, DELTA_RS)
FILL_FILES = 10


def run(running: Running) -> Measured:
    """Seconds of a commit, by what the file has."""
    scale, counted = running.scale, Counted(NAME)
    warm_up(running, NEEDS, NAME)
    ways = [running.way(one, NAME) for one in NEEDS]
    source, table = Source("large"), "large"
    sequence = fill(running, ways, table, source, scale.large_table)
    for mix in (UPSERTS, MIXED):
        for number in range(scale.large_warm_up + scale.large_commits):
            sequence += 1
            land(ways, table, sequence, source.changes(scale.large_changes, mix))
            running.say(f"{NAME}: {mix.name}, {number + 1}")
            for way in ways:
                rest()
                seconds = way.apply([table], sequence, sequence)
                if number >= scale.large_warm_up:
                    counted.add(mix.name, way.alternative, seconds)
    for way in ways:
        way.check(table, source.totals())
    words = (
        f"{scale.large_changes:,} changes of keys all over a table of {scale.large_table:,} rows: "
        "80 % of known keys and 20 % of new ones; mixed: 10 % of all are deletes"
    )
    return Measured(NAME, TITLE, words, counted.figures)


def fill(running: Running, ways: list[Way], table: str, source: Source, rows: int) -> int:
    """Fill a new table by inserts of ascending keys; the newest sequence."""
    for sequence in range(1, FILL_FILES + 1):
        land(ways, table, sequence, source.changes(rows // FILL_FILES))
    for way in ways:
        running.say(f"filling {table} with {rows:,} rows, {way.alternative.title}")
        way.apply([table], 1, FILL_FILES, "append")
    return FILL_FILES
