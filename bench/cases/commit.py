"""One file into a table that is warm: what users wait for whose publisher is steady."""

from __future__ import annotations

from bench.alternatives import APPEND, DELTA_RS, OPENMIRROR, TUNED, Alternative
from bench.alternatives.tasks import How
from bench.cases.running import Counted, Running, land, rest, warm_up
from bench.figures import Measured
from bench.workload import DELETES, INSERTS, MIXED, UPSERTS, Mix, Source

NAME = "commit"
TITLE = "Warm commit of one file"
NEEDS = (OPENMIRROR, TUNED, DELTA_RS, APPEND)
HARD, SOFT = "mixed, hard deletes", "mixed, soft deletes"


def run(running: Running) -> Measured:
    """Seconds of a commit, by what the file has."""
    counted = Counted(NAME)
    warm_up(running, NEEDS, NAME)
    for mix in (MIXED, UPSERTS, DELETES):
        _commits(running, counted, mix, (OPENMIRROR, TUNED, DELTA_RS))
    _commits(running, counted, INSERTS, (OPENMIRROR, APPEND))
    _kinds_of_deletes(running, counted)
    scale = running.scale
    words = (
        f"{scale.rows:,} changes into a table of {scale.small_table:,} rows; medians of "
        f"{scale.commits} commits, with {scale.warm_up} of their kind before them"
    )
    return Measured(NAME, TITLE, words, counted.figures)


def _commits(
    running: Running, counted: Counted, mix: Mix, alternatives: tuple[Alternative, ...]
) -> None:
    scale = running.scale
    table = mix.name.replace(" ", "_")
    ways = [running.way(one, NAME) for one in alternatives]
    source = Source(f"commit {mix.name}")
    land(ways, table, 1, source.changes(scale.small_table))
    for way in ways:
        way.apply([table], 1, 1, "append")
    running.say(f"{NAME}: {mix.name}")
    for number in range(scale.warm_up + scale.commits):
        sequence = number + 2
        land(ways, table, sequence, source.changes(scale.rows, mix))
        for way in ways:
            if number >= scale.warm_up:
                rest()
            seconds = way.apply([table], sequence, sequence, _how(way.alternative))
            if number >= scale.warm_up:
                counted.add(mix.name, way.alternative, seconds)
    for way in ways:
        way.check(table, source.totals())


def _kinds_of_deletes(running: Running, counted: Counted) -> None:
    """The same files for two tables of ours that take turns, one of which keeps what is deleted."""
    scale, table = running.scale, "deletes"
    lines = {HARD: "true", SOFT: "_deleted_at IS NULL"}
    ways = {line: running.way(OPENMIRROR, f"{NAME}-{line.split()[-2]}") for line in lines}
    ways[SOFT].place.settings(**{f"dbo.{table}": {"delete": "soft"}})
    source = Source(f"{NAME} of deletes")
    land(ways.values(), table, 1, source.changes(scale.small_table))
    for way in ways.values():
        way.apply([table], 1, 1)
    running.say(f"{NAME}: {HARD}, {SOFT}")
    for number in range(scale.warm_up + scale.commits):
        sequence = number + 2
        land(ways.values(), table, sequence, source.changes(scale.rows, MIXED))
        for line, way in ways.items():
            if number >= scale.warm_up:
                rest()
            seconds = way.apply([table], sequence, sequence)
            if number >= scale.warm_up:
                counted.add(line, OPENMIRROR, seconds)
    for line, way in ways.items():
        way.check(table, source.totals(), lines[line])


def _how(alternative: Alternative) -> How:
    return "append" if alternative is APPEND else "merge"
