"""A root in memory that a Function App sweeps, with every observation of a table counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from openmirror.ingress.start_runner import Starter
from openmirror.plan import Limits
from openmirror.ports import Content, Leases
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.liveness import SweptBy
from openmirror.runtime.resting import RestingTables
from openmirror.runtime.sweeper import Sweeper, SweepPass
from openmirror.stores.memory.files import MemoryStore
from openmirror.stores.memory.work import MemoryLeases, MemoryWorkQueue
from openmirror.table import layout
from openmirror.table.layout import StorePath
from tests.harness.clock import Clock
from tests.harness.paper import PaperEngine
from tests.harness.publishing import table
from tests.harness.stores import WatchedStore
from tests.harness.world import World

TICK = timedelta(seconds=30)
SLOWEST = timedelta(minutes=5)


class ObservedStore(WatchedStore):
    """Remembers when each table was observed, and which files are still being copied."""

    def __init__(self, inner: MemoryStore, clock: Clock) -> None:
        super().__init__(inner)
        self._clock = clock
        self.observed: dict[str, list[datetime]] = defaultdict(list)
        self.on_observation: Callable[[], object] = lambda: None
        self.copied: set[StorePath] = set()
        """Files that the store still copies into."""

    def read(self, path: StorePath, offset: int = 0, length: int | None = None) -> Content:
        if "/_openmirror/folders/" in path:
            self.observed[path].append(self._clock())
            self.on_observation()
        content = super().read(path, offset, length)
        return replace(content, growing=path in self.copied)


class _Bell:
    """A Waker that wakes nobody."""

    def wake(self, folder: TableFolder) -> None:
        """Nothing: what was woken is in what a sweep returns."""


class SweptWorld(World):
    """A mirror whose tables have applied all that was sent, and an app that sweeps it."""

    def __init__(self, *names: str, slowest: timedelta = SLOWEST) -> None:
        super().__init__(Limits(metadata_grace=timedelta(0)))
        self.watched: ObservedStore = ObservedStore(self.store, self.clock)
        self.engine = PaperEngine(self.watched, now=lambda: self.clock().timestamp())
        self.ports = self.process()
        self.leases: Leases = MemoryLeases(self.clock)
        self.slowest = slowest
        self.tables = [table("m", name) for name in names]
        for folder in self.tables:
            self.land(folder, 1)
            self.reconcile_until_idle(folder)
        self.app = self.started()
        self.forget_times()

    def started(self) -> Sweeper:
        """An instance of the app, which remembers nothing."""
        return Sweeper(
            self.ports,
            _Bell(),
            Starter(MemoryWorkQueue(self.clock), None, self.clock),
            self.leases,
            RestingTables(TICK, self.slowest),
            TICK,
        )

    def pass_over(self, by: SweptBy = SweptBy.TIMER) -> SweepPass:
        """The next pass of the timer, 30 s after the last."""
        self.clock.turn(TICK)
        done = self.app.sweep(by)
        assert done is not None
        return done

    def passes(self, span: timedelta) -> list[SweepPass]:
        return [self.pass_over() for _ in range(span // TICK)]

    def times(self, folder: TableFolder) -> list[datetime]:
        """When a table was observed."""
        return sorted(set(self.watched.observed[layout.control_document(folder)]))

    def forget_times(self) -> None:
        self.watched.observed.clear()

    def just_observed(self, folder: TableFolder) -> None:
        """Go on to a pass that observed this table, so that the next one would not by itself."""
        while self.times(folder) != [self.clock()]:
            self.forget_times()
            self.pass_over()
        self.forget_times()
