"""One seeded schedule of a database's stream: two relays, two runners and a cleaner over one zone.

Every call of a store by any of them is a stall point, before which any other may go first, for any
time; each may be killed there, and begins anew. The database commits meanwhile, its connector sends
what it has sent before, and an operator asks it for snapshots, or deletes the stream's document.
Files are real ones, and Delta's logs too; rows are kept by the interpreter.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from greenlet import getcurrent, greenlet

from openmirror.cdc.relay.document import SharedDocument, document_path
from openmirror.cdc.relay.relay import Relay, RelayOptions
from openmirror.deltalog import LogReplay
from openmirror.errors import ConditionFailed, UnknownName
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.plan import Batch, Limits
from openmirror.plan.maintenance_steps import MaintenanceStep
from openmirror.ports import BadFile, CommitResult, Prepared, Step, Transaction
from openmirror.progress.tables import TablePaused
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.protocol.rows import EXTENSIONS
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.streams import StopCode
from openmirror.reconcile import clean, reconciliation
from openmirror.reconcile.mirrors import open_mirror
from openmirror.reconcile.root_ports import RootPorts
from openmirror.stores.memory.files import MemoryStore
from openmirror.table import layout
from openmirror.table.layout import StorePath
from openmirror.table.log import TableLog
from tests.cdc.relay.sources import Database, Event, Rows, Stream
from tests.conformance.reference_engine import ReferenceEngine
from tests.harness.stores import WatchedStore

MIRROR = "m"
ZONE = layout.landing_zone(MIRROR)
STREAM = "shop"
MOST_END_STEPS = 20_000
ALL = 100
"""More rows than a table ever has."""


class Connector:
    """Sends what a database commits, and snapshots of its tables.

    A restarted connector sends some of that again: transactions since the newest snapshot, or the
    snapshot that it had not ended.
    """

    def __init__(self, random: Random, database: Database, stream: Stream) -> None:
        self._random = random
        self._database = database
        self._stream = stream
        self._sent: list[list[Event]] = []
        self._at = 0
        self._snapshots = 0
        self._since = 0
        """The first transaction behind the newest snapshot."""
        self.bad = random.choice([0.0, 0.02, 0.05])
        """How often nobody can understand a record."""
        self._reading: tuple[str, Rows, list[Event]] | None = None
        """The table of the snapshot underway, its rows, and those that have not been sent."""

    def act(self) -> None:
        """Send one transaction, or a part of one and then some from before."""
        if self._reading is not None:
            return  # a snapshot of this kind holds all changes up
        if self._at == len(self._sent):
            self._sent.append([self._maybe_bad(e) for e in self._database.transaction()])
        events = self._sent[self._at]
        self._at += 1
        if self._random.random() < 0.2:
            self._stream.events += events[: self._random.randint(0, len(events))]
            self._at = max(self._since, self._at - self._random.randint(1, 3))
            return
        self._stream.events += events
        if self._random.random() < 0.2:
            self._stream.events.append(None)

    def _maybe_bad(self, event: Event) -> Event:
        """Now and then nobody can understand a record, however often it comes."""
        is_bad = self._random.random() < self.bad and event.pair is None
        return replace(event, bad=StopCode.EVENTS_LOST) if is_bad else event

    def finish(self) -> None:
        """Send all that was committed, and end what it has begun."""
        self.read_on(ALL)
        while self._at < len(self._sent):
            self._stream.events += self._sent[self._at]
            self._at += 1

    def snapshot(self, table: str) -> bool:
        """Begin a snapshot of a table as it is now; return whether one could begin."""
        if self._reading is not None or self._at < len(self._sent):
            return False
        if not self._database.now(table):
            # The stream would show nothing of it.
            self._sent.append(self._database.transaction())
            return False
        self._since = len(self._sent)
        self._begin(table, self._database.now(table))
        return True

    def _begin(self, table: str, whole: Rows) -> None:
        self._snapshots += 1
        place = (10**6 + self._snapshots, 0)
        rows = [Event(table, "r", number, text, place) for number, text in whole.items()]
        self._random.shuffle(rows)
        self._reading = table, whole, rows
        # Rows of such a snapshot become visible as they come.
        self._database.history[table].append({})

    def read_on(self, most: int) -> None:
        """Send so many rows of the snapshot underway."""
        if self._reading is None:
            return
        table, whole, rows = self._reading
        if most < ALL and self._random.random() < 0.05:
            # The connector was restarted, and takes the snapshot from its beginning.
            self._begin(table, whole)
            return
        history = self._database.history[table]
        for _ in range(min(most, len(rows))):
            row = rows.pop()
            assert row.id is not None
            history.append({**history[-1], row.id: row.text})
            self._stream.events.append(row)
        if not rows:
            self._reading = None


@dataclass
class Outcome:
    """How one schedule ended."""

    seed: int
    wrong: str | None = None
    steps: int = 0
    counts: dict[str, int] = field(default_factory=dict)


class _Engine:
    """The reference engine; before each of its calls any other may go first."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._inner = ReferenceEngine(schedule.store)

    def rows(self, log: TableLog) -> Rows:
        return {int(row["id"]): row.get("text") for row in self._inner.rows(log)}

    def read(self, batch: Batch) -> Prepared | BadFile:
        self._schedule.stall()
        return self._inner.read(batch)

    def commit(
        self, batch: Batch, prepared: Prepared, transaction: Transaction, batch_record: str
    ) -> CommitResult:
        self._schedule.stall()
        result = self._inner.commit(batch, prepared, transaction, batch_record)
        self._schedule.committed(batch.table)
        self._schedule.stall()
        return result

    def commit_without_rows(
        self, table: StorePath, transaction: Transaction, create: TableSchema | None = None
    ) -> CommitResult:
        self._schedule.stall()
        return self._inner.commit_without_rows(table, transaction, create)

    def maintain(self, table: StorePath, step: MaintenanceStep) -> CommitResult:
        self._schedule.stall()
        return self._inner.maintain(table, step)


class Schedule:
    """One seed's schedule."""

    def __init__(
        self, seed: int, steps: int = 900, chosen: Mapping[str, float] | None = None
    ) -> None:
        """`chosen`: habits that a test wants, by name."""
        self.seed, self.steps, self.step = seed, steps, 0
        self.random = random = Random(seed)
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.store = MemoryStore(lambda: self.now)
        self.main = getcurrent()
        self.database = Database(random, has_commits=random.random() < 0.5)
        # A topic that keeps its records, or one that lets go of what has landed.
        lets_go = random.random() < 0.3
        self.stream = Stream(events=[*self.database.snapshot()], lets_go=lets_go)
        self.connector = Connector(random, self.database, self.stream)
        self.engine = _Engine(self)
        self.wrong: str | None = None
        self.counts: dict[str, int] = {}
        self.reached = dict.fromkeys(self.database.tables, 0)
        """Which of its states each Delta table had last."""
        self.asked: list[str] = []
        """Tables of which a snapshot was asked for, and has not begun."""
        self.passes: dict[greenlet, int] = {}
        """How often each has gone through all that it does."""
        self.busy: set[greenlet] = set()
        """Who has found something to do since all were asked."""
        watched = WatchedStore(self.store, lambda call: self.stall(), lambda call: self.stall())
        self.watched = watched
        self.ports = RootPorts(
            store=watched,
            inspector=ChangeFileInspector(watched),
            logs=LogReplay(watched),
            clock=lambda: self.now,
            limits=Limits(metadata_grace=timedelta(), drop_grace=timedelta(seconds=60)),
            steps=self.stalled_step,
            emit=self.emitted,
        )
        self.kills = random.choice([0.0, 0.01, 0.03])
        self.committing = 1 / random.choice([10, 30, 80])
        self.asking = random.choice([0.0, 0.002, 0.02])
        self.losing = random.choice([0.0, 0.003, 0.02])
        """How often the stream's document is deleted."""
        for name, value in (chosen or {}).items():
            setattr(self.connector if name == "bad" else self, name, value)

    # What the parts call.

    def stall(self) -> None:
        """Let the scheduler decide who goes on."""
        if getcurrent() is not self.main:
            self.main.switch()

    def stalled_step(self, step: Step) -> None:
        del step
        self.stall()

    def emitted(self, event: ProgressEvent) -> None:
        self.count(event.name)
        if isinstance(event, TablePaused):
            self.is_wrong(f"{event.folder} is paused: {event.detail}")

    def count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def is_wrong(self, what: str) -> None:
        self.wrong = self.wrong or f"step {self.step}: {what[:600]}"

    def committed(self, table: StorePath) -> None:
        """Each version of a table is one that the database's had, and none goes back."""
        name = table.rpartition("/")[2]
        rows, at = self.rows_of(name), self.reached[name]
        history = self.database.history[name]
        later = [n for n, state in enumerate(history) if n >= at and state == rows]
        if not later:
            self.is_wrong(f"{name}: {rows} was not there after {history[at]}")
        else:
            self.reached[name] = later[0]

    # What the actors do.

    def relay(self) -> None:
        while True:
            most = self.random.randint(1, 12)
            options = RelayOptions(
                most_records=most, idle_seconds=0, takes=EXTENSIONS, monotonic=lambda: 0.0
            )
            relay = Relay(self.watched, ZONE, STREAM, self.stream, self.stream.decode, options)
            relay.open()
            for _ in range(self.random.randint(1, 30)):
                before = len(self.stream.events)
                if relay.step().records or before != len(self.stream.events):
                    self.busy.add(getcurrent())
                self.rest()

    def runner(self) -> None:
        while True:
            for folder in self.folders():
                limits = replace(self.ports.limits, batch_files=self.random.choice([1, 2, 5]))
                try:
                    done = reconciliation.reconcile(
                        replace(self.ports, limits=limits), self.engine, folder
                    )
                except ConditionFailed:
                    self.busy.add(getcurrent())
                    continue
                if done.reschedule:
                    self.busy.add(getcurrent())
            self.rest()

    def cleaner(self) -> None:
        while True:
            for folder in self.folders():
                try:
                    clean.clean_table(self.ports, folder)
                except ConditionFailed:
                    self.busy.add(getcurrent())
            self.rest()

    def rest(self) -> None:
        """A whole pass is over."""
        self.passes[getcurrent()] = self.passes.get(getcurrent(), 0) + 1
        self.stall()

    def folders(self) -> list[TableFolder]:
        paths = (TablePath("app", name) for name in self.database.tables)
        there = (TableFolder(MIRROR, path) for path in paths)
        return [one for one in there if self.store.incarnation(layout.table_folder(one))]

    # The schedule.

    def run(self) -> Outcome:
        self.store.make_folder(ZONE)
        self.store.make_folder(layout.LAKE)
        open_mirror(self.store, MIRROR)
        relays = [self.relay] if self.stream.lets_go else [self.relay, self.relay]
        bodies = [*relays, self.runner, self.runner, self.cleaner]
        self.actors = [greenlet(body) for body in bodies]
        try:
            self._run(bodies)
            if self.wrong is None:
                self._finish()
        finally:
            for actor in self.actors:
                actor.throw()
        return Outcome(self.seed, self.wrong, self.step, self.counts)

    def _run(self, bodies: list[Callable[[], None]]) -> None:
        random = self.random
        weights = [random.choice([1, 3, 10]) for _ in bodies]
        for step in range(self.steps):
            self.step = step
            if random.random() < self.committing:
                self.connector.act()
                self.connector.read_on(random.randint(0, 2))
            if random.random() < 0.02:
                weights = [random.choice([0, 1, 3, 10]) for _ in bodies]
            if random.random() < self.kills:
                at = random.randrange(len(bodies))
                self.actors[at].throw()
                self.actors[at] = greenlet(bodies[at])
                self.count("killed")
            self._operate()
            if any(weights):
                random.choices(self.actors, weights)[0].switch()
            if self.wrong:
                return

    def _operate(self) -> None:
        """What an operator does, between two steps of the others."""
        try:
            shared = SharedDocument.of_any(self.store, ZONE, STREAM)
        except UnknownName:
            return  # there is none just now
        if self.random.random() < self.losing:
            self.store.delete_file(document_path(ZONE, STREAM))
            self.count("document deleted")
            return
        if self.random.random() < self.asking and shared.now.tables:
            self._ask(self.random.choice(sorted(shared.now.tables)).table)
        self._answer()

    def _ask(self, table: str) -> None:
        if table not in self.asked:
            self.asked.append(table)

    def _answer(self) -> None:
        if self.asked and self.connector.snapshot(self.asked[0]):
            del self.asked[0]
            self.count("new snapshot")

    def _finish(self) -> None:
        """Let all come to rest, and compare."""
        self.connector.finish()
        for step in range(self.steps, self.steps + MOST_END_STEPS):
            self.step = step
            if step % 50 == 0:
                self._answer_all()
            self.random.choice(self.actors).switch()
            if self.wrong:
                return
            if all(self.passes.get(actor, 0) >= 2 for actor in self.actors):
                if not self.busy and self._has_all():
                    break
                self.passes.clear()
                self.busy.clear()
        else:
            self.is_wrong(f"it never comes to rest: {self._now()}")
            return
        for name in self.database.tables:
            if self.rows_of(name) != self.database.now(name):
                self.is_wrong(f"{name}: {self.rows_of(name)}, not {self.database.now(name)}")

    def _answer_all(self) -> None:
        try:
            shared = SharedDocument.of_any(self.store, ZONE, STREAM)
        except UnknownName:
            return  # there is none yet
        # A table that stopped goes on by itself where a snapshot of it waits to be read.
        is_through = shared.now.complete_to == len(self.stream.events)
        for path in shared.now.stopped if is_through else ():
            self._ask(path.table)
            self.count("stopped in the end")
        self._answer()
        self.connector.finish()

    def _has_all(self) -> bool:
        document = SharedDocument.of_any(self.store, ZONE, STREAM).now
        is_through = document.complete_to == len(self.stream.events)
        return is_through and not self.asked and not document.stopped

    def _now(self) -> Any:
        return SharedDocument.of_any(self.store, ZONE, STREAM).now, len(self.stream.events)

    def rows_of(self, name: str) -> Rows:
        """What the Delta table has now."""
        log = LogReplay(self.store).read(StorePath(f"lake/{MIRROR}/Tables/app/{name}"))
        return self.engine.rows(log) if isinstance(log, TableLog) else {}


def run(seed: int, chosen: Mapping[str, float] | None = None) -> Outcome:
    """Run one schedule."""
    return Schedule(seed, chosen=chosen).run()


if __name__ == "__main__":
    sys.stdout.write(f"{run(int(sys.argv[1]))}\n")
