"""Changes of random keys in a large table: most of its files are touched."""

from __future__ import annotations

from bench.alternatives import DELTA_RS, OPENMIRROR, TUNED
from bench.cases.running import Counted, Running, Way, land, rest, warm_up
from bench.figures import Measured
from bench.workload import MIXED, UPSERTS, Mix, Source

NAME = "large"
TITLE = "A large table, random keys"
NEEDS = (OPENMIRROR, TUNED, DELTA_RS)
_AS_IT_IS, _WITH_VECTORS, _SMALLER = "large", "vectors", "smaller"
_TENTH = 10
_FILL_FILES = 10
_MOST_ROWS = 1_000_000
"""Of one of them, so that a hundred million rows need no more memory than ten."""


def run(running: Running) -> Measured:
    """Seconds of a commit, by what the file has."""
    scale, counted = running.scale, Counted(NAME)
    warm_up(running, NEEDS, NAME)
    ways = [running.way(one, NAME) for one in NEEDS]
    ours = next(way for way in ways if way.alternative is OPENMIRROR)
    vectors = {_WITH_VECTORS: "auto", _SMALLER: True}
    ours.place.settings(**{f"dbo.{name}": {"deletionVectors": v} for name, v in vectors.items()})
    _warm_up_by_kind(running, ways)
    source = Source("large")
    tables = [(way, _AS_IT_IS) for way in ways] + [(ours, _WITH_VECTORS)]
    sequence = fill(running, ways, _AS_IT_IS, source, scale.large_table)
    fill(running, [ours], _WITH_VECTORS, Source("large"), scale.large_table)
    for mix in (UPSERTS, MIXED):
        for number in range(scale.large_warm_up + scale.large_commits):
            sequence += 1
            changes = source.changes(scale.large_changes, mix)
            running.say(f"{NAME}: {mix.name}, {number + 1}")
            for way, table in tables:
                land([way], table, sequence, changes)
                rest()
                seconds = way.apply([table], sequence, sequence)
                line = mix.name if table == _AS_IT_IS else with_vectors(mix)
                if number >= scale.large_warm_up:
                    counted.add(line, way.alternative, seconds)
                elif way is ours:
                    way.apply([table], sequence, sequence, "maintain")
    for way, table in tables:
        way.check(table, source.totals())
    words = (
        f"{scale.large_changes:,} changes of keys all over a table of {scale.large_table:,} rows: "
        "80 % of known keys and 20 % of new ones; mixed: 10 % of all are deletes; with vectors: "
        "`deletionVectors: auto`; before all of it each process has had such commits in a table "
        "of a tenth of the rows, and after each commit that does not count openmirror has had "
        "time to maintain its table"
    )
    return Measured(NAME, TITLE, words, counted.figures)


def _warm_up_by_kind(running: Running, ways: list[Way]) -> None:
    """Commits of as many rows, in a table of a tenth of the size: nobody's first ones count."""
    scale, source = running.scale, Source(_SMALLER)
    sequence = fill(running, ways, _SMALLER, source, scale.large_table // _TENTH)
    for number in range(scale.warm_up):
        sequence += 1
        changes = source.changes(scale.large_changes, (UPSERTS, MIXED)[number % 2])
        land(ways, _SMALLER, sequence, changes)
        for way in ways:
            way.apply([_SMALLER], sequence, sequence)
    for way in ways:
        way.check(_SMALLER, source.totals())


def with_vectors(mix: Mix) -> str:
    """The line of a table that may get deletion vectors."""
    return f"{mix.name}, with vectors"


def fill(running: Running, ways: list[Way], table: str, source: Source, rows: int) -> int:
    """Fill a new table by inserts of ascending keys; the newest sequence."""
    files = max(_FILL_FILES, rows // _MOST_ROWS)
    running.say(f"writing {rows:,} rows of {table}")
    for sequence in range(1, files + 1):
        land(ways, table, sequence, source.changes(rows // files))
    for way in ways:
        running.say(f"filling {table}, {way.alternative.title}")
        way.apply([table], 1, files, "append")
    return files
