"""What cases run in: places and processes of the alternatives, which take turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from bench.alternatives import OPENMIRROR, Alternative
from bench.alternatives.process import Process
from bench.alternatives.tasks import How, Task
from bench.figures import Figure, Line, Unit
from bench.measuring import PAUSE
from bench.scale import Scale
from bench.workload import MIXED, Place, Source, Totals, check, publish


@dataclass
class Running:
    """One run of the bench, in a folder that is empty at first."""

    folder: Path
    scale: Scale
    say: Callable[[str], None]
    """Progress, a line at a time."""
    _processes: dict[str, Process] = field(default_factory=dict)

    def start(self, needed: Iterable[Alternative]) -> None:
        """Start the processes of these alternatives, side by side, and wait until all are ready."""
        for name in dict.fromkeys(alternative.process for alternative in needed):
            if name not in self._processes:
                self.say(f"starting {name}")
                log = self.folder / f"{name}.log"
                self._processes[name] = Process(name, self.folder / OPENMIRROR.name, log)
        for process in self._processes.values():
            process.wait_until_ready()

    def way(self, alternative: Alternative, mirror: str) -> Way:
        """An alternative, which was started, over a mirror of its own."""
        place = Place(self.folder / alternative.name, mirror)
        return Way(alternative, place, self._processes[alternative.process])

    def keep(self, needed: Iterable[Alternative]) -> None:
        """Stop the processes of all others, so that they are not in anybody's way."""
        names = {alternative.process for alternative in needed}
        for name in self._processes.keys() - names:
            self._processes.pop(name).stop()


@dataclass(frozen=True)
class Way:
    """An alternative at work in a place."""

    alternative: Alternative
    place: Place
    process: Process

    def apply(self, tables: Sequence[str], first: int, last: int, how: How = "merge") -> float:
        """The seconds that it took to apply these files."""
        if how == "merge" and self.alternative.each_file:
            how = "each"
        place = self.place
        return self.process.do(Task(str(place.root), place.mirror, tuple(tables), first, last, how))

    def check(self, table: str, expected: Totals, rows: str = "true") -> None:
        """Raise unless the table has the rows that it must have, of those that count by SQL."""
        check(self.place.delta(table), expected, rows)


def land(ways: Iterable[Way], table: str, sequence: int, changes: pa.Table) -> None:
    """Land the same file for several ways."""
    publish([way.place for way in ways], table, sequence, changes)


def warm_up(running: Running, alternatives: Iterable[Alternative], case: str) -> None:
    """Have each process do so many small MERGEs that the next ones take as long as any."""
    ways = [running.way(one, "warm-up") for one in alternatives]
    cold = [way for way in ways if way.process.commits < running.scale.process_warm_up]
    if not cold:
        return
    running.say(f"{case}: warming up {', '.join(way.alternative.title for way in cold)}")
    source = Source(case)
    for sequence in range(1, running.scale.process_warm_up + 1):
        land(cold, case, sequence, source.changes(10_000 if sequence == 1 else 1_000, MIXED))
        for way in cold:
            way.apply([case], sequence, sequence)


def rest() -> None:
    """The pause before what counts."""
    time.sleep(PAUSE)


@dataclass
class Counted:
    """The figures of one case, as they come."""

    case: str
    runs: dict[tuple[str, str, Unit], list[float]] = field(default_factory=dict)

    def add(self, line: str, alternative: Alternative, value: float, unit: Unit = "s") -> None:
        """One more run."""
        self.runs.setdefault((line, alternative.name, unit), []).append(value)

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All that were counted."""
        return tuple(
            Figure(Line(self.case, line, by), unit, tuple(runs))
            for (line, by, unit), runs in self.runs.items()
        )
