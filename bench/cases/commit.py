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
HARD = "mixed, hard deletes"
POLICIES: dict[str, tuple[dict[str, object], str]] = {
    "mixed, soft deletes": ({"delete": "soft"}, "_deleted_at IS NULL"),
    "mixed, with a history": ({"history": "scd2"}, "true"),
}
"""What a table's policy is to be, and which of its rows count then."""


def run(running: Running) -> Measured:
    """Seconds of a commit, by what the file has."""
    counted = Counted(NAME)
    warm_up(running, NEEDS, NAME)
    for mix in (MIXED, UPSERTS, DELETES):
        _commits(running, counted, mix, (OPENMIRROR, TUNED, DELTA_RS))
    _commits(running, counted, INSERTS, (OPENMIRROR, APPEND))
    _policies(running, counted)
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


def _policies(running: Running, counted: Counted) -> None:
    """The same files for tables of ours that take turns, some of which keep what was.

    A history is a second table of the same files: the seconds of its line are those until both
    have them, by the two workers that all of these lines have.
    """
    scale, table = running.scale, "policies"
    policies = {HARD: ({}, "true"), **POLICIES}
    ways = {line: running.way(OPENMIRROR, "-".join([NAME, *line.split()[1:]])) for line in policies}
    for line, way in ways.items():
        way.place.settings(**{f"dbo.{table}": policies[line][0]})
    source = Source(f"{NAME} of {table}")
    land(ways.values(), table, 1, source.changes(scale.small_table))
    for way in ways.values():
        way.apply([table], 1, 1, "drain")
    running.say(f"{NAME}: {', '.join(policies)}")
    for number in range(scale.warm_up + scale.commits):
        sequence = number + 2
        land(ways.values(), table, sequence, source.changes(scale.rows, MIXED))
        for line, way in ways.items():
            if number >= scale.warm_up:
                rest()
            seconds = way.apply([table], sequence, sequence, "drain")
            if number >= scale.warm_up:
                counted.add(line, OPENMIRROR, seconds)
    for line, way in ways.items():
        way.check(table, source.totals(), policies[line][1])


def _how(alternative: Alternative) -> How:
    return "append" if alternative is APPEND else "merge"
