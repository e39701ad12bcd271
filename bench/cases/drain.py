"""Many tables with many files of changes: where folding files into one commit pays."""

from __future__ import annotations

from bench.alternatives import BY_BATCH, DELTA_RS, OPENMIRROR, PER_FILE, TUNED
from bench.cases.running import Counted, Running, Way, land, rest
from bench.figures import Measured
from bench.workload import MIXED, Source

NAME = "drain"
TITLE = "Drain: tables with a backlog of files"
NEEDS = (OPENMIRROR, PER_FILE, BY_BATCH, TUNED, DELTA_RS)
_SEED_TIMES = 10
"""A table begins with this many times the rows of one file."""


def run(running: Running) -> Measured:
    """Rows a second of warm drains; a MERGE per file is measured once, on fewer files."""
    scale, counted = running.scale, Counted(NAME)
    ways = [running.way(one, NAME) for one in (OPENMIRROR, BY_BATCH, TUNED, DELTA_RS)]
    sources = {f"t{number:03d}": Source(f"drain {number}") for number in range(scale.tables)}
    names = list(sources)
    for name, source in sources.items():
        land(ways, name, 1, source.changes(_SEED_TIMES * scale.rows))
    for way in ways:
        running.say(f"{NAME}: filling and warming up, {way.alternative.title}")
        way.apply(names, 1, 1)
    reached = 1
    for _ in range(-(-scale.process_warm_up // scale.tables)):
        reached = _land_files(sources, ways, reached, 1, scale.rows)
        for way in ways:
            way.apply(names, reached, reached)
    for number in range(scale.drains):
        if number == scale.drains_by_default:  # its tables stay as they are from here on
            by_default = next(way for way in ways if way.alternative is BY_BATCH)
            ways.remove(by_default)
            _check(by_default, sources)
        first = reached + 1
        reached = _land_files(sources, ways, reached, scale.files, scale.rows)
        for way in ways:
            running.say(f"{NAME}: {number + 1} of {scale.drains}, {way.alternative.title}")
            rest()
            seconds = way.apply(names, first, reached)
            rows = scale.tables * scale.files * scale.rows
            counted.add("changes a second", way.alternative, rows / seconds, "rows/s")
    for way in ways:
        _check(way, sources)
    _per_file(running, counted)
    words = (
        f"{scale.tables} tables x {scale.files} files x {scale.rows:,} rows: 70 % updates, 20 % "
        f"inserts, 10 % deletes; the MERGE per file once, on {scale.per_file_tables} tables x "
        f"{scale.per_file_files} files"
    )
    return Measured(NAME, TITLE, words, counted.figures)


def _per_file(running: Running, counted: Counted) -> None:
    """Each file costs a whole MERGE, so that the rate does not depend on how many there are.

    Its process has done the other MERGE by hand before, and is warm.
    """
    scale = running.scale
    way = running.way(PER_FILE, NAME)
    sources = {f"t{n:03d}": Source(f"drain {n}") for n in range(scale.per_file_tables)}
    names = list(sources)
    running.say(f"{NAME}: filling, {way.alternative.title}")
    for name, source in sources.items():
        land([way], name, 1, source.changes(_SEED_TIMES * scale.rows))
    way.apply(names, 1, 1)
    reached = _land_files(sources, [way], 1, scale.per_file_files, scale.rows)
    running.say(f"{NAME}: {way.alternative.title}")
    rest()
    seconds = way.apply(names, 2, reached)
    rows = scale.per_file_tables * scale.per_file_files * scale.rows
    counted.add("changes a second", way.alternative, rows / seconds, "rows/s")
    _check(way, sources)


def _land_files(
    sources: dict[str, Source], ways: list[Way], reached: int, files: int, rows: int
) -> int:
    """So many files more of each table; the newest sequence."""
    for name, source in sources.items():
        for sequence in range(reached + 1, reached + files + 1):
            land(ways, name, sequence, source.changes(rows, MIXED))
    return reached + files


def _check(way: Way, sources: dict[str, Source]) -> None:
    for name, source in sources.items():
        way.check(name, source.totals())
