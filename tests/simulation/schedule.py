"""One seeded schedule of the product: runners, a cleaner and an operator over one table's folder.

Every call of a port is a stall point: before it takes effect, the scheduler may let any other
actor go first, for any time. An actor is a greenlet that runs the product's own services. The
publisher acts between two steps. One seed gives one schedule, in any process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from unittest import mock

from greenlet import getcurrent, greenlet

from openmirror.errors import ConditionFailed, DocumentUnreadable, NotThere, WrongRequest
from openmirror.operate import requests
from openmirror.operate.requests import Operator
from openmirror.plan import Batch, Decision, Limits, ObservedState, plan
from openmirror.plan.decisions import Apply, Continue, Held, Idle, Pause, Replace, Wait, WaitKind
from openmirror.plan.facts import Completeness, FileFacts
from openmirror.plan.maintaining import Due, survey_due
from openmirror.plan.maintenance_steps import MIB
from openmirror.plan.overwrites import accepted
from openmirror.ports import ABSENT, BadFile, Entry, Prepared, Step
from openmirror.progress.tables import AttemptFailed, TableMaintained, TablePaused
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.names import Incarnation, TableFolder
from openmirror.protocol.naming_scheme import NamingScheme
from openmirror.protocol.rules import Code
from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.protocol.sequence import Position, Sequence
from openmirror.protocol.text_format import TextFormat
from openmirror.reconcile import clean, maintaining, reconciliation
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.ledger_files import read_entries
from openmirror.reconcile.mirrors import open_mirror
from openmirror.reconcile.observing import observe
from openmirror.reconcile.reading_ahead import ReadingAhead
from openmirror.reconcile.root_ports import RootPorts
from openmirror.stores.memory.files import MemoryStore
from openmirror.table import layout
from openmirror.table.control import Applied, BeginReason, RequestKind
from openmirror.table.layout import StorePath
from openmirror.table.ledger import effective
from openmirror.table.log import Epoch
from tests.harness.executors import AtOnce
from tests.harness.stores import Call, WatchedStore
from tests.simulation.delta_model import (
    DAMAGED,
    UNFINISHED,
    InjectedError,
    ModelDelta,
    ModelFiles,
    ModelLogs,
    Row,
)
from tests.simulation.ledgers import PARTITIONS, LedgerPublisher, of_a_ledger
from tests.simulation.publishing import FOLDER, LANDING, Publisher

TABLE = StorePath("lake/m/Tables/dbo/T")
HISTORY = FOLDER.history
HISTORY_TABLE = StorePath("lake/m/Tables/dbo/T__history")
SCHEMA = TableSchema((Column("v", ColumnType("integer")),))
DROPPED = "lake/m/_openmirror/dropped/"


@dataclass
class ModelInspector:
    """Every change file has one row of one column, once its writer is done."""

    stall: Callable[[str, object], None]
    store: MemoryStore
    is_text: bool = False
    """Whether nothing but time shows that a writer is done."""

    def inspect(self, path: StorePath, entry: Entry, text: TextFormat | None = None) -> FileFacts:
        self.stall("inspect", path)
        parent, _, name = path.rpartition("/")
        for there in self.store.list_folder(StorePath(parent)).entries:
            if there.name == name:
                data = self.store.read(path).data
                if data == UNFINISHED:
                    return FileFacts(
                        etag=there.etag,
                        completeness=Completeness.INCOMPLETE,
                        reason="it is being written",
                    )
                if data == DAMAGED:
                    return FileFacts(
                        etag=there.etag, completeness=Completeness.BROKEN, reason="it is damaged"
                    )
                return FileFacts(
                    etag=there.etag,
                    completeness=Completeness.COMPLETE,
                    rows=1,
                    schema=SCHEMA,
                    needs_quiet_period=self.is_text,
                )
        raise NotThere(path)


class CountedAhead(ReadingAhead):
    """Reads ahead where it stands, and counts how often that was of use."""

    def __init__(self, ports: RootPorts, delta: ModelDelta, count: Callable[[str], None]) -> None:
        super().__init__(ports, delta, 1, AtOnce())
        self.delta = delta
        self.count = count

    def read(self, batch: Batch) -> Prepared | BadFile:
        reads = self.delta.reads
        found = super().read(batch)
        if self.delta.reads == reads:
            self.count("taken")
        return found


@dataclass
class Outcome:
    """How one schedule ended."""

    seed: int
    wrong: str | None = None
    paused: Code | None = None
    waits: str | None = None
    steps: int = 0
    counts: dict[str, int] = field(default_factory=dict)


LEGITIMATE = {Code.APPLIED_FILE_CHANGED, Code.RESEED_INCOMPLETE}
"""Problems that may be open in the end, since only a person can say how to go on."""

MOST_END_STEPS = 20_000

MOST_WAITED_OUT = 100
"""Quiet periods in a row: more of them do not end."""

MOST_REPORTED = 400
"""So many characters of what went wrong; a replay prints the rest."""


class Schedule:
    """One seed's schedule."""

    def __init__(
        self,
        seed: int,
        steps: int = 1200,
        emit: Callable[[str], None] | None = None,
        chosen: Mapping[str, Any] | None = None,
    ) -> None:
        self.rng = rng = Random(seed)
        self.seed, self.steps = seed, steps
        self.emit = emit
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.store = MemoryStore(lambda: self.now)
        self.main = getcurrent()
        self.delta = ModelDelta(self.store, self.stall, self.is_wrong, self.landed, rng)
        self.delta.now = lambda: self.now
        naming = (chosen or {}).get("naming", NamingScheme())
        self.publisher = _publisher(self.store, rng, naming)
        self.keeps_history = False
        """Whether the folder feeds a history as well, whose policy comes and goes."""
        self.errors: list[str] = []
        self.counts: dict[str, int] = {}
        self.still: object = None
        self.rested: set[str] = set()
        """Who found nothing to do in a whole pass since `still` was how everything stood."""
        self.step = 0
        self.unchecked: dict[str, int] = {}
        """Since when an actor observes, or reads what it has not checked yet."""
        self.limits = Limits(metadata_grace=timedelta(), drop_grace=timedelta(seconds=3))
        self.inspector = ModelInspector(self.stall, self.store)
        self.ports = RootPorts(
            store=WatchedStore(self.store, self.stalled_call, self.done_call),
            inspector=self.inspector,
            logs=ModelLogs(self.delta),
            data_files=ModelFiles(self.delta),
            clock=lambda: self.now,
            limits=self.limits,
            steps=self.stalled_step,
            emit=self.emitted,
        )
        self.purged: set[tuple[str | None, int]] = set()
        """Numbers that are rightly gone for good, by incarnation."""
        # What kind of schedule this is; a test may choose some of it.
        self.returns_old = rng.choice([0.2, 0.5])
        self.two_cleaners = rng.random() < 0.2
        self.habits = {
            "write": 70,
            "overwrite": rng.choice([0, 15, 15]),
            "change": rng.choice([0] * 9 + [3]),
            "reuse": rng.choice([0, 0, 0, 0, 2]),
            "delete": rng.choice([0, 7, 7, 20]),
            "re-create": rng.choice([0, 7, 7, 20]),
        }
        self.kills = rng.choice([0.0, 0.0, 0.01, 0.05])
        self.failing = rng.choice([0.0, 0.0, 0.0, 0.01, 0.05])
        self.operating = rng.choice([0.0, 0.0, 0.3, 1.0])
        self.publishing = 1 / rng.choice([10, 20, 40, 80])
        self.returning = rng.choice([1.0, 0.3, 0.1])
        self.jumps = rng.choice([0.0, 0.01, 0.03])
        self.days = rng.choice([0.0, 0.0, 0.002])
        self.dozing = rng.choice([0.0, 0.0, 0.0, 0.2])
        self.taking_back = rng.choice([0.0, 0.0, 0.0, 0.5])
        self.naming = naming
        self.late = 0.0
        self.slow = 0.0
        self.bounds = Random(f"bounds {seed}")
        self.maintaining = False
        """Whether two runners maintain the table as well."""
        self.reading_ahead = False
        """Whether runners read a table's next batch while they commit one."""
        self.throughs = Random(f"throughs {seed}")
        self.stopping = 0.0
        """How often a reseed is one through a file."""
        self.reseeds = 1
        """How much likelier than another act it is."""
        self.marking = False
        """Whether its deletes are soft, now and then, and hard again."""
        self.minds = Random(f"minds {seed}")
        self.losing = 0.0
        """How often the control document is lost."""
        self.lost = False
        # Drawn apart, so that the rest of a seed's schedule stays what it is.
        times = Random(f"times {seed}")
        self.text = times.random() < 0.15
        self.ahead = times.choice([0.0, 0.0, 0.3])
        self.rewriting = times.choice([0.0, 0.0, 0.1, 0.3])
        """How often the publisher writes the same bytes again, instead of anything else."""
        self.order: dict[str, dict[int, int]] = {}
        """By incarnation, which file took which position when it was applied first."""
        self.last_landed: tuple[Epoch, list[Row]] | None = None
        self.asleep: dict[str, int] = {}
        """Until when an actor that has just done a step of its own is passed over."""
        for name, value in (chosen or {}).items():
            setattr(self, name, value)
        self.inspector.is_text = self.text
        self.publisher.ahead, self.publisher.clock = self.ahead, lambda: self.now
        self.publisher.has_keys = self.marking or self.keeps_history
        self.turning = Random(f"history {seed}")
        if isinstance(self.publisher, LedgerPublisher):
            self.publisher.late, self.publisher.slow = self.late, self.slow

    # What the ports call.

    def stall(self, what: str, on: object) -> None:
        """A port is about to be called: let the scheduler decide who goes first."""
        me = getcurrent()
        if me is self.main:
            return
        self.main.switch()
        if self.emit:
            self.emit(f"{self.step:5} {me.name} {what} {on}")

    def stalled_call(self, call: Call) -> None:
        self.stall(call.method, call.path)

    def done_call(self, call: Call) -> None:
        if call.method == "move_folder" and call.to and call.to.startswith(DROPPED):
            self.delta.moved_to_dropped(call.to)
        elif call.method == "delete_file":
            self.was_purged(call.path)

    def stalled_step(self, step: Step) -> None:
        if step is not Step.OBSERVED and step is not Step.FOLDED:
            self.unchecked.pop(self.name, None)
        taken_back = step is Step.DECIDED and self.rng.random() < self.taking_back
        taken_back = taken_back and self.take_back()
        if taken_back or (self.dozing and self.rng.random() < self.dozing):
            self.asleep[self.name] = self.step + self.rng.choice([50, 150])
        self.stall("step", step.value)

    def emitted(self, event: ProgressEvent) -> None:
        self.count(event.name)
        if self.emit:
            self.emit(f"{self.step:5} {self.name} == {event}")
        match event:
            case TableMaintained(step=step):
                self.count(f"step: {step.value}")
            case AttemptFailed(error=error) if "InjectedError" not in error:
                self.is_wrong(f"a surprise: {error}")
            case TablePaused(code=Code.RESEED_INCOMPLETE) if not self.purged:
                self.is_wrong("a reseed misses a file where nothing was purged")

    @property
    def name(self) -> str:
        return getattr(getcurrent(), "name", "end")

    def is_wrong(self, what: str) -> None:
        shown = what if len(what) <= MOST_REPORTED else f"{what[:MOST_REPORTED]} ..."
        self.errors.append(f"step {self.step}, {self.name}: {shown}")

    def count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    # What the actors do.

    def state(self) -> object:
        """What one actor's effect may change for another."""
        log = self.delta.log_at(TABLE)
        folders = [LANDING, layout.archive_folder(FOLDER)]
        there = [folder for folder in folders if self.store.incarnation(folder)]
        past = self.delta.log_at(HISTORY_TABLE)
        return (
            self.etag(layout.control_document(FOLDER)),
            self.etag(layout.control_document(HISTORY)),
            past and (past.identity, past.version),
            log and (log.identity, log.version),
            [self.etags(at) for at in there],
        )

    def etag(self, path: StorePath) -> object:
        try:
            return self.store.read(path).etag
        except NotThere:
            return ABSENT

    def etags(self, folder: StorePath) -> list[object]:
        """What lies in a folder and its partitions."""
        return [
            self.etags(layout.join(folder, entry.name))
            if entry.is_folder and "=" in entry.name
            else entry.etag
            for entry in self.store.list_folder(folder).entries
        ]

    def rest(self, before: object) -> None:
        """Note a pass that began when all stood like `before`, and found nothing to do."""
        now = self.state()
        if now != self.still:
            self.still, self.rested = now, set()
        if before == now:
            self.rested.add(self.name)

    @property
    def at_rest(self) -> bool:
        """Whether everybody has had a whole pass since anything changed."""
        everybody = len(self.rested) == len(self.actors)
        return everybody and self.state() == self.still

    def historian(self) -> None:
        self.runner(HISTORY)

    def runner(self, folder: TableFolder = FOLDER) -> None:
        ahead = self.engine_ahead() if self.reading_ahead else None
        while True:
            before = self.state()
            self.unchecked[self.name] = self.step
            limits = replace(self.limits, batch_files=self.rng.choice([1, 2, 3]))
            ports = replace(self.ports, limits=limits)
            try:
                done = reconciliation.reconcile(ports, ahead or self.delta, folder)
            except ConditionFailed:
                self.count("never stood still")
                continue
            if not done.reschedule:
                self.rest(before)
            if self.emit:
                self.emit(f"{self.step:5} {self.name} -> {_brief(done.decision)}")

    def engine_ahead(self) -> ReadingAhead:
        limits = replace(self.limits, batch_files=self.rng.choice([1, 2, 3]))
        ports = replace(self.ports, limits=limits)
        return CountedAhead(ports, self.delta, self.count)

    def change_bounds(self) -> None:
        """Somebody corrects mirroring.json: few small files, or many, are worth being one."""
        few = self.bounds.choice([1, 1, 1000])
        often = {"everyCommits": 1, "pressingCommits": 1, "smallFiles": few}
        text = json.dumps({"openmirror": {"maintenanceBounds": often}})
        self.store.write(layout.mirror_settings(FOLDER.mirror), text.encode())

    def maintainer(self) -> None:
        while True:
            if self.bounds.random() < 0.2:
                self.change_bounds()
            before = self.state()
            self.unchecked[self.name] = self.step
            try:
                observed = observe(self.ports, FOLDER).observed
                decision = plan(observed, self.limits, self.now)
                due = survey_due(observed, decision) is not Due.NOT
                if self.maintaining and (due or self.bounds.random() < 0.5):
                    maintaining.maintain_table(self.ports, self.delta, FOLDER)
                    continue
            except (ConditionFailed, InjectedError):
                continue
            self.rest(before)

    def cleaner(self) -> None:
        while True:
            before = self.state()
            self.unchecked[self.name] = self.step
            try:
                clean.clean_table(self.ports, FOLDER)
                if self.keeps_history:
                    clean.clean_table(self.ports, HISTORY)
            except ConditionFailed:
                self.count("never stood still")
                continue
            self.rest(before)

    def operator(self) -> None:
        while True:
            self.stall("operator", "thinks")
            if self.rng.random() >= self.operating * 0.2:
                continue
            often = [self.undrop] * 2, [self.resume] * 3
            act = self.rng.choice(
                [
                    *often[0],
                    *often[1],
                    *[self.reseed] * self.reseeds,
                    self.retry,
                    self.pause,
                    self.accept,
                ]
            )
            try:
                act()
                self.count(f"operator: {act.__name__}")
            except (WrongRequest, ConditionFailed) as error:
                if self.emit:
                    self.emit(f"{self.step:5} {self.name} refused {act.__name__}: {error}")

    def undrop(self) -> None:
        requests.undrop(self.ports, FOLDER, _OPERATOR)

    def reseed(self) -> None:
        through = None
        if self.throughs.random() < self.stopping:
            applied = observe(self.ports, FOLDER).observed.applied
            through = Sequence(self.throughs.randint(1, max(1, applied)))
        requests.reseed(self.ports, self.either, _OPERATOR, through)

    @property
    def either(self) -> TableFolder:
        return HISTORY if self.keeps_history and self.turning.random() < 0.5 else FOLDER

    def turn(self, *, on: bool) -> None:
        """Somebody writes mirroring.json: the table is to have a history, or none."""
        text = json.dumps({"openmirror": {"history": "scd2" if on else "none"}})
        self.store.write(layout.mirror_settings(FOLDER.mirror), text.encode())
        if self.emit:
            self.emit(f"{self.step:5} history: {on}")

    def retry(self) -> None:
        requests.retry(self.ports, self.either, _OPERATOR)

    def pause(self) -> None:
        requests.hold(self.ports, self.either, _OPERATOR)

    def resume(self) -> None:
        requests.resume(self.ports, self.either, _OPERATOR)

    def accept(self) -> None:
        problem = observe(self.ports, FOLDER).observed.control.problem
        if problem and problem.code is Code.APPLIED_FILE_CHANGED and problem.file:
            self.accepted = True
            requests.skip_file(self.ports, FOLDER, problem.file, _OPERATOR)
            record = Documents(self.store).table(FOLDER).value.record
            # Another incarnation's file of this name, or one that a reseed has not reached, is not
            # accepted but passed over: what the operator asked for, and no longer what he meant.
            self.passed_over = bool(record and record.skips)

    accepted = False
    passed_over = False

    # The schedule.

    def run(self) -> Outcome:
        self.plan = reconciliation.plan
        try:
            with mock.patch.object(reconciliation, "plan", self.watched_plan):
                self._run()
        except DocumentUnreadable as error:
            self.is_wrong(str(error))
        finally:
            for actor in getattr(self, "actors", ()):
                actor.throw()
        final = self.final
        return Outcome(
            self.seed,
            self.errors[0] if self.errors else None,
            final.problem.code if isinstance(final, Pause) else None,
            final.waiting.kind.value if isinstance(final, Wait) else None,
            self.step,
            self.counts,
        )

    final: Decision | None = None

    def _run(self) -> None:
        rng = self.rng
        self.store.make_folder(layout.LAKE)
        self.publisher.create()
        open_mirror(self.store, FOLDER.mirror)
        bodies = [self.runner, self.runner, self.runner, self.cleaner, self.operator]
        if self.two_cleaners:
            bodies.append(self.cleaner)
        if self.maintaining:
            files = Random(f"files {self.seed}")
            self.delta.size = lambda: files.choice([1000, 1000, 10 * MIB])
            self.delta.takes_out = lambda: files.random() < 0.2
            self.change_bounds()
            bodies += [self.maintainer] * 2
        if self.keeps_history:
            self.turn(on=self.turning.random() < 0.7)
            bodies += [self.historian] * 2
        self.bodies = bodies
        self.actors = [self.actor(body, at) for at, body in enumerate(bodies)]
        weights = [rng.choice([1, 3, 10]) for _ in bodies]
        self.delta.failing = self.failing
        for step in range(self.steps):
            self.step = step
            if rng.random() < self.publishing:
                self.publish()
            if rng.random() < 0.01:
                weights = [rng.choice([0, 1, 3, 10]) for _ in bodies]
            if self.kills and rng.random() < self.kills:
                self.kill(rng.randrange(len(bodies)), bodies)
            if self.keeps_history and self.turning.random() < 0.003:
                self.turn(on=self.turning.random() < 0.7)
            self.pass_time()
            if self.losing and rng.random() < self.losing:
                self.lose()
            if self.marking and self.minds.random() < 0.01:
                self.change_deletes()
            awake = [
                0 if self.asleep.get(actor.name, 0) > step else weight
                for actor, weight in zip(self.actors, weights, strict=True)
            ]
            if any(awake):
                rng.choices(self.actors, awake)[0].switch()
            if self.errors:
                return
            if self.passed_over:
                self.count("passed over")
                return
        self.delta.failing = 0.0
        self.finish()

    def actor(self, body: Callable[[], None], at: int) -> greenlet:
        made = greenlet(body)
        # Three runners, a cleaner, the operator; a cleaner, and two who maintain.
        made.name = "ABCXO"[at] if at < 5 else f"{self.bodies[at].__name__}{at}"
        return made

    def kill(self, at: int, bodies: list[Callable[[], None]]) -> None:
        if self.emit:
            self.emit(f"{self.step:5} {self.actors[at].name} dies")
        self.actors[at].throw()
        self.unchecked.pop(self.actors[at].name, None)
        self.asleep.pop(self.actors[at].name, None)
        self.actors[at] = self.actor(bodies[at], at)

    def pass_time(self) -> None:
        chance = self.rng.random()
        if chance < 0.05:
            self.now += timedelta(seconds=1)
        elif chance < 0.05 + self.jumps:
            self.now += timedelta(seconds=self.rng.choice([1, 5, 5, 3600]))
        elif chance < 0.05 + self.jumps + self.days:
            self.now += timedelta(days=self.rng.choice([1, 8]))
            if self.publisher.incarnation is None:
                self.publisher.empty_bin()  # nobody brings a folder back after retention

    def lose(self) -> None:
        """The control document is gone, at any moment but while an epoch is being opened.

        Nobody could know of that one's runner, should the folder be re-created meanwhile.
        """
        log = self.delta.log_at(TABLE)
        stored = Documents(self.store).table(FOLDER)
        if stored.etag is ABSENT or log is None or set(stored.value.epochs) - set(log.transactions):
            return
        self.store.delete_file(layout.control_document(FOLDER))
        self.lost = True
        self.count("lost")
        if self.emit:
            self.emit(f"{self.step:5} the control document is lost")

    def change_deletes(self) -> None:
        """Somebody has deletes be soft, or hard, and may allow that marked rows go."""
        delete = self.minds.choice(["soft", "soft", "hard"])
        text = json.dumps({"openmirror": {"delete": delete}})
        self.store.write(layout.mirror_settings(FOLDER.mirror), text.encode())
        self.count(f"{delete} deletes")
        if delete == "hard" and self.minds.random() < 0.7:
            with suppress(WrongRequest, ConditionFailed):
                requests.confirm_hard_deletes(self.ports, FOLDER, _OPERATOR)
                self.count("confirmed")

    def publish(self) -> None:
        rng, publisher = self.rng, self.publisher
        unchecked = min(self.unchecked.values(), default=self.step + 1)
        if publisher.incarnation is None:
            if rng.random() > self.returning:
                return
            what = "restore" if rng.random() < self.returns_old else "create"
            if what == "create" or not publisher.restore(unchecked):
                publisher.create()
        elif self.rewriting and rng.random() < self.rewriting:
            what = "rewrite"
            publisher.rewrite()
        else:
            what = rng.choices(list(self.habits), list(self.habits.values()))[0]
            log = self.delta.log_at(TABLE)
            rows = log.rows if log else []
            if what == "write":
                publisher.write()
            elif what in ("overwrite", "change"):
                publisher.overwrite(rows, applied=what == "change")
            elif what == "empty":
                if self.keeps_history:  # which may need what its current table has applied
                    self.purged |= {(publisher.incarnation, n) for n in publisher.in_archive}
                publisher.empty_archive()
            elif what == "reuse":
                publisher.reuse()
            else:
                publisher.delete(self.step)
            if what == "re-create" and not (
                rng.random() < self.returns_old and publisher.restore(unchecked)
            ):
                publisher.create()
        if self.emit:
            files = publisher.in_folder if publisher.incarnation else None
            self.emit(f"{self.step:5} P {what}: {publisher.incarnation} {files}")

    def take_back(self) -> bool:
        """The incarnation that the table still has comes back: a replace of it was just decided."""
        publisher, log = self.publisher, self.delta.log_at(TABLE)
        live = Epoch.parse(log.live[0]) if log and log.live else None
        unchecked = min(self.unchecked.values(), default=self.step + 1)
        if live is None or publisher.incarnation in (None, live.incarnation):
            return False
        publisher.delete(self.step)
        back = publisher.restore(unchecked, live.incarnation)
        if not back:
            publisher.create()
        publisher.write()
        if self.step >= self.steps:
            publisher.finish()
        if self.emit:
            self.emit(f"{self.step:5} P takes back: {publisher.incarnation} {publisher.in_folder}")
        return back

    def finish(self) -> None:
        """Let everybody come to rest, and compare the table with what was published."""
        publisher, operator = self.publisher, _OPERATOR
        self.actors.pop(_OPERATOR_AT).throw()
        self.maintaining = False
        if publisher.incarnation is None:
            publisher.create()
        if self.keeps_history:
            self.turn(on=True)
        publisher.finish()
        publisher.write()
        publisher.finish()
        if self.emit:
            self.emit(f"{self.step:5} P end: {publisher.incarnation} {publisher.in_folder}")
        for step in range(self.steps, self.steps + MOST_END_STEPS):
            self.step = step
            if self.step % 200 == 0:
                self.let_go_on(operator)
            self.pass_time()
            self.rng.choice(self.actors).switch()
            if self.errors:
                return
            if self.at_rest and not self.is_stopped() and not self.waits_out():
                break
        else:
            self.is_wrong("it never comes to rest")
            return
        observed = observe(self.ports, FOLDER).observed
        self.final = self.plan(observed, self.limits, self.now)
        self.check_end(observed, self.final)
        if self.keeps_history and not self.errors:
            observed = observe(self.ports, HISTORY).observed
            begun = observed.control.begun
            self.count(f"began: {begun.why.value if begun else None}")
            if begun and begun.why is BeginReason.LOST:
                self.is_wrong("a history is lost that nobody took away")
            if begun and begun.why is BeginReason.GAP and not self.purged:
                self.is_wrong("a history misses files where none was purged")
            self.check_end(observed, self.plan(observed, self.limits, self.now))

    @property
    def folders(self) -> tuple[TableFolder, ...]:
        return (FOLDER, HISTORY) if self.keeps_history else (FOLDER,)

    def let_go_on(self, operator: requests.Operator) -> None:
        """End what only a person ends: a hold, and failures that a runner may write down late."""
        for folder in self.folders:
            control = observe(self.ports, folder).observed.control
            if control.hold:
                requests.resume(self.ports, folder, operator)
            if control.problem and control.problem.code is Code.APPLY_FAILED:
                requests.retry(self.ports, folder, operator)

    def waits_out(self) -> bool:
        """Whether a quiet period was what everybody rested for: then it is over."""
        decision = self.plan(observe(self.ports, FOLDER).observed, self.limits, self.now)
        match decision:
            case Wait(waiting) if waiting.kind is WaitKind.QUIET_PERIOD and waiting.until:
                self.now = max(self.now, min(waiting.until, self.now + timedelta(minutes=1)))
            case Apply() | Replace():
                pass  # it was over since the last of them had its pass
            case _:
                return False
        self.waited_out += 1
        self.rested.clear()
        return self.waited_out <= MOST_WAITED_OUT

    waited_out = 0

    def is_stopped(self) -> bool:
        controls = [observe(self.ports, folder).observed.control for folder in self.folders]
        return any(
            control.hold or (control.problem and control.problem.code is Code.APPLY_FAILED)
            for control in controls
        )

    def check_end(self, observed: ObservedState, final: Decision) -> None:
        log = self.delta.log_at(observed.table)
        rows = log.rows if log else []
        incarnation = self.publisher.incarnation
        truth = self.publisher.truth[incarnation or ""]
        if any(accepted(observed)):
            self.is_wrong("the same bytes under another ETag, which nobody writes down")
        match final:
            case Idle():
                complete = True
            case Pause(problem) if problem.code in LEGITIMATE:
                complete = False
                changes = any(map(self.habits.get, ("overwrite", "change", "reuse")))
                if problem.code is Code.APPLIED_FILE_CHANGED and not changes:
                    self.is_wrong(f"the publisher never changed a file: {problem.detail}")
            case Wait(waiting) if self.is_purged(incarnation, waiting.sequence):
                complete = False
            case _:
                self.is_wrong(f"in the end the table is not idle: {_brief(final)}")
                return
        mine = [row for row in rows if row.incarnation == incarnation]
        if not complete:
            return
        if sorted(row.sequence for row in mine) != sorted(truth) or len(mine) != len(rows):
            self.is_wrong(f"wanted {truth}, got {rows}")
            return
        for row in mine:
            known = not self.accepted and incarnation not in self.publisher.came_back
            allowed = truth[row.sequence][-1:] if known else truth[row.sequence]
            if row.content not in allowed:
                self.is_wrong(f"{row} is not the newest of {truth[row.sequence]}, unnoticed")
        if self.naming.has_ledger and incarnation is not None:
            self.check_ledger(incarnation, mine)

    def check_ledger(self, incarnation: Incarnation, rows: list[Row]) -> None:
        """What is written down is what was applied, and each partition's own numbers ascend."""
        publisher = self.publisher
        assert isinstance(publisher, LedgerPublisher)
        names = publisher.names[incarnation]
        entries = read_entries(self.store, FOLDER, incarnation)
        for name, manifest in effective(entries, self.naming, Position(len(rows))).items():
            if names[rows[manifest.sequence - 1].sequence - 1] != name:
                self.is_wrong(f"the ledger has {name} at {manifest.sequence}, the table {rows}")
        if self.naming.is_numbered:
            applied = [names[row.sequence - 1] for row in rows]
            for partition in PARTITIONS:
                own = [name for name in applied if name.rpartition("/")[0] == partition]
                if own != sorted(own):
                    self.is_wrong(f"out of order in {partition!r}: {own}")

    def is_purged(self, incarnation: str | None, number: int | None) -> bool:
        """Whether what has this place is rightly gone for good."""
        if self.naming.has_ledger:
            number = self.order.get(incarnation or "", {}).get(number or 0)
        return (incarnation, number) in self.purged

    def watched_plan(self, observed: ObservedState, limits: Limits, now: datetime) -> Decision:
        """The product's plan, and what it may never say."""
        decision = self.plan(observed, limits, now)
        if observed.control.hold and observed.log is not None and not isinstance(decision, Held):
            self.is_wrong(f"a held table is not left alone: {_brief(decision)}")
        if isinstance(decision, Held) and decision.hold and decision.hold.by == _OPERATOR.name:
            self.count(decision.hold.why.rpartition(" ")[0] or "held")
        if isinstance(decision, Wait) and decision.waiting.kind is WaitKind.GAP:
            number, partition = decision.waiting.sequence, decision.waiting.partition
            holes = getattr(self.publisher, "holes", ())
            if partition is not None:
                is_one = (observed.incarnation, partition, number) in holes
            else:
                is_one = self.is_purged(observed.incarnation, number)
            if not is_one:
                self.is_wrong(f"a gap at {number} where the publisher left none")
        return decision

    def landed(self, epoch: Epoch, rows: list[Row]) -> None:
        """Whatever lands, nothing of an epoch before it was decided later."""
        control = Documents(self.store).table(epoch.folder).value
        if not epoch.folder.is_history:
            self.check_order(epoch, rows, control.applied)
        if self.lost:
            return  # nobody knows any more what was decided
        decided = control.decided
        if decided is None or decided.epoch.number < epoch.number:
            later = f"{decided.kind} {decided.app_id}" if decided else "nothing"
            self.is_wrong(f"{epoch.app_id} lands after {later} was decided")
        stop = control.record.stops_after if control.record else None
        if stop is None or decided is None or decided.app_id != epoch.app_id:
            return
        behind = [row for row in rows if row.place > stop.sequence]
        if behind and not control.asks_for(RequestKind.RESEED):
            self.is_wrong(f"{behind} lands, and the table stops after {stop.sequence}")

    def check_order(self, epoch: Epoch, rows: list[Row], applied: Applied | None) -> None:
        """What was applied, and seen to be, keeps its place for good.

        A replace that was given up may land just before it is fenced: the one that follows it has
        an order of its own.
        """
        landed, before = self.last_landed or (epoch, [])
        if applied is not None and applied.app_id == landed.app_id:
            order = self.order.setdefault(landed.incarnation, {})
            order.update((row.place, row.sequence) for row in before[: applied.position])
        order = self.order.setdefault(epoch.incarnation, {})
        for row in rows:
            if order.get(row.place, row.sequence) != row.sequence:
                self.is_wrong(f"{row} has another's place: {order}")
        self.last_landed = epoch, rows

    def was_purged(self, path: StorePath) -> None:
        if not path.startswith(layout.archive_folder(FOLDER)):
            self.count("entry purged")
            return
        name = path.removeprefix(layout.archive_folder(FOLDER) + "/")
        self.purged.add((self.publisher.incarnation, self.publisher.number_of(name)))
        self.count("purged")


def _publisher(store: MemoryStore, rng: Random, naming: NamingScheme) -> Publisher:
    return LedgerPublisher(store, rng, naming) if naming.has_ledger else Publisher(store, rng)


def _brief(decision: Decision) -> str:
    name = type(decision).__name__
    batch = getattr(decision, "batch", None)
    if batch is not None:
        return f"{name} {batch.kind} {batch.epoch.app_id} {batch.first}-{batch.last}"
    match decision:
        case Idle():
            return name
        case Pause(problem):
            return f"{name} {problem.code.value}: {problem.detail}"
        case Wait(waiting):
            return f"{name} {waiting.kind.value}: {waiting.detail}"
        case Continue(epoch, continues):
            return f"{name} {epoch.app_id} after {continues.app_id}"
    return str(decision)[:200]


_OPERATOR = Operator("somebody")
_OPERATOR_AT = 4


def run(seed: int, steps: int = 1200, chosen: Mapping[str, Any] | None = None) -> Outcome:
    """Run one schedule."""
    return Schedule(seed, steps, chosen=chosen).run()


OF_MAINTENANCE: dict[str, Any] = {
    "maintaining": True,
    # Files get old enough to be deleted, and there is time to survey them between two batches.
    "days": 0.01,
    "publishing": 1 / 60,
    "dozing": 0.1,
    "operating": 0.0,
    "habits": dict.fromkeys(("overwrite", "change", "reuse", "delete", "re-create"), 0)
    | {"write": 70, "re-create": 5},
}


def run_maintained(seed: int) -> Outcome:
    """Run one schedule of a table that runners maintain."""
    return run(seed, 4000, chosen=OF_MAINTENANCE)


OF_A_BACKLOG: dict[str, Any] = {
    "reading_ahead": True,
    # There is always more than one batch to apply.
    "publishing": 1 / 8,
}


def run_reading_ahead(seed: int) -> Outcome:
    """Run one schedule whose runners read ahead."""
    return run(seed, chosen=OF_A_BACKLOG)


OF_SOFT_DELETES: dict[str, Any] = {"marking": True, "failing": 0.01, "kills": 0.01}


def run_soft(seed: int) -> Outcome:
    """Run one schedule of a table whose deletes are soft, now and then."""
    return run(seed, chosen=OF_SOFT_DELETES)


OF_HISTORY: dict[str, Any] = {
    "keeps_history": True,
    "rewriting": 0.0,
    "habits": dict.fromkeys(("overwrite", "change", "reuse"), 0)
    | {"write": 70, "delete": 3, "re-create": 5, "empty": 3},
}


def run_with_history(seed: int) -> Outcome:
    """Run one schedule of a folder that feeds a history as well."""
    return run(seed, 2000, chosen=OF_HISTORY)


def run_ledger(seed: int) -> Outcome:
    """Run one schedule of a table with a ledger."""
    return run(seed, chosen=of_a_ledger(seed))


REBUILT: dict[str, Any] = {
    "operating": 1.0,
    "stopping": 0.7,
    "reseeds": 6,
    "publishing": 1 / 20,
    "habits": dict.fromkeys(("overwrite", "change", "reuse"), 0)
    | {"write": 70, "delete": 1, "re-create": 1},
}
"""Operators often have a table rebuilt through a file, and resume it; it lasts long enough."""


def run_rebuilt(seed: int) -> Outcome:
    """Run one schedule of a table that is rebuilt through its files; every third has a ledger."""
    return run(seed, chosen=(REBUILT if seed % 3 else of_a_ledger(seed) | REBUILT))
