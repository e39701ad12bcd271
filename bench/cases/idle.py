"""Busy tables beside many that have nothing new, in one `openmirror up`."""

from __future__ import annotations

import time
from collections.abc import Iterable
from statistics import mean

from bench.alternatives import OPENMIRROR
from bench.cases.program import Commits, Up, up
from bench.cases.running import Counted, Running
from bench.figures import Measured
from bench.workload import Place, Source, check

NAME = "idle"
TITLE = "Busy tables beside idle ones"
_PATIENCE = 1800.0
_ROWS = 100
_SELDOM = {"OPENMIRROR_CLEANUP_INTERVAL": "1h"}
"""Else the first cleanup may come at any time of the rounds: it observes every table."""


class _Table:
    """A table, what is published of it, and what has come of that."""

    def __init__(self, place: Place, name: str) -> None:
        self.name = name
        self.sequence = 0
        self.source = Source(name)
        self.commits = Commits(place.delta(name))

    def publish(self, place: Place) -> float:
        """One file more; when it landed."""
        self.sequence += 1
        place.publish(self.name, self.sequence, self.source.changes(_ROWS))
        return time.time()


def run(running: Running) -> Measured:
    """The mean time from landing to commit, of rounds in which each busy table gets a file."""
    scale, counted = running.scale, Counted(NAME)
    place = Place(running.folder / "idle", NAME)
    busy = [_Table(place, f"busy{number:04d}") for number in range(scale.busy_tables)]
    idle = [_Table(place, f"idle{number:04d}") for number in range(scale.idle_tables)]
    running.say(f"{NAME}: filling {len(busy)} tables")
    first = [table.publish(place) for table in busy]  # so that the mirror is there from the start
    with up(place.root, running.folder / "idle.log", **_SELDOM) as program:
        _lags(program, busy, first)
        for name, others in (("alone", []), ("beside idle ones", idle)):
            if others:
                running.say(f"{NAME}: filling {len(others)} tables")
                _round(program, place, others)
                time.sleep(scale.idle_rest)
            warm_up = 1 if others else scale.idle_warm_up
            for number in range(warm_up + scale.idle_rounds):
                running.say(f"{NAME}: busy tables {name}, {number + 1}")
                lag = _round(program, place, busy)
                if number >= warm_up:
                    counted.add(f"busy tables {name}", OPENMIRROR, lag)
    for table in (*busy, *idle[:3]):
        check(place.delta(table.name), table.source.totals())
    words = (
        f"{len(busy)} tables get a file of {_ROWS} inserts each at the same time; mean time from "
        f"landing to commit, alone and with {len(idle)} tables more in the mirror, in one process"
    )
    return Measured(NAME, TITLE, words, counted.figures)


def _round(program: Up, place: Place, tables: Iterable[_Table]) -> float:
    """A file more of each table; the mean time from landing to commit."""
    tables = list(tables)
    return _lags(program, tables, [table.publish(place) for table in tables])


def _lags(program: Up, tables: list[_Table], landed: list[float]) -> float:
    return mean(
        program.wait(table.commits, table.sequence, _PATIENCE) - at
        for table, at in zip(tables, landed, strict=True)
    )
