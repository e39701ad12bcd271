"""When a table is maintained, by whom, and what is left of it in the control document."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from openmirror.cli.history_lines import history_lines
from openmirror.cli.maintenance_lines import maintained_tables
from openmirror.deltalog import LogReplay
from openmirror.errors import ConditionFailed, NotThere, WrongRequest
from openmirror.operate.report import history
from openmirror.operate.requests import Operator, hold, maintain, reseed
from openmirror.plan.decisions import Apply, Continue, Idle, Pause
from openmirror.plan.maintaining import Due, may_maintain, survey_due
from openmirror.plan.maintenance_steps import (
    MIB,
    Compact,
    DeadFile,
    LiveFile,
    MaintenanceStep,
    TableFiles,
    Vacuum,
)
from openmirror.plan.retention import FORGETS_TRANSACTIONS, KEPT
from openmirror.plan.transitions.maintained import asked_for, with_maintenance
from openmirror.plan.wake import needs_reconcile
from openmirror.ports import CommitResult, Step, Transaction
from openmirror.progress.tables import MaintenanceFailed, TableMaintained
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import FENCED, START, Position
from openmirror.reconcile.maintaining import maintain_table
from openmirror.reconcile.reconciliation import reconcile
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.draining import drain
from openmirror.runtime.isolation import Reconciler
from openmirror.runtime.sweeping import sweep
from openmirror.runtime.workers import Reschedule
from openmirror.status import TableStatus, Word, table_status, to_json
from openmirror.table import layout
from openmirror.table.control import Maintenance, StepKind
from openmirror.table.layout import StorePath
from openmirror.table.log import BrokenLog, TableLog
from tests.harness.world import NO_GRACE, World

ORDERS = TableFolder("m", TablePath.parse("orders"))
TABLE = StorePath("lake/m/Tables/dbo/orders")
DAY = timedelta(days=1)


class Files:
    """A DataFilesReader whose tables have the files that a test gives them."""

    def __init__(self, world: Maintained) -> None:
        self._world = world
        self.asked = 0
        self.live = tuple(LiveFile(1000) for _ in range(30))
        self.dead: tuple[DeadFile, ...] = ()
        self.noted: list[datetime] = []

    def data_files(self, table: StorePath) -> TableFiles | BrokenLog | None:
        assert table == TABLE
        self.asked += 1
        return TableFiles(version=self._world.version, live=self.live, dead=self.dead)

    def swept(self, table: StorePath, through: datetime) -> None:
        assert table == TABLE
        self.noted.append(through)


class Maintained(World):
    """A table with so many batches applied, whose small files wait to be one."""

    def __init__(self, batches: int = 20, settings: dict[str, object] | None = None) -> None:
        super().__init__(NO_GRACE)
        if settings is not None:
            text = json.dumps({"openmirror": settings}).encode()
            self.store.write(layout.mirror_settings("m"), text)
        self.files = Files(self)
        self.ports = replace(self.ports, data_files=self.files)
        self.count = 0
        for _ in range(batches):
            self.batch()

    def batch(self) -> None:
        self.publish()
        while not isinstance(self.reconcile(ORDERS), Idle):
            pass

    def publish(self) -> None:
        self.count += 1
        self.land(ORDERS, self.count)

    @property
    def version(self) -> int:
        log = self.ports.logs.read(TABLE)
        assert isinstance(log, TableLog)
        return log.version

    @property
    def known(self) -> Maintenance:
        return self.control(ORDERS).maintenance or Maintenance()

    @property
    def due(self) -> Due:
        seen = self.observed(ORDERS)
        return survey_due(seen, self.decision(ORDERS))

    def turn(self) -> Reschedule | None:
        """One turn of a worker of a process that goes on."""
        return Reconciler(self.ports, self.engine)(ORDERS)

    def turns(self) -> int:
        count = 0
        while self.turn() is not None:
            count += 1
            assert count < 50
        return count

    def is_compacted(self, step: MaintenanceStep) -> None:
        """What the engine of these tests does not do: files change."""
        if isinstance(step, Compact):
            self.files.live = (LiveFile(30_000),)

    def maintains(self, act: Callable[[MaintenanceStep], object]) -> None:
        """Have this done by the engine's next steps, before it does them."""
        inner = self.engine.maintain

        def maintain(table: StorePath, step: MaintenanceStep) -> CommitResult:
            answer = act(step)
            return answer if isinstance(answer, CommitResult) else inner(table, step)

        self.engine.maintain = maintain  # type: ignore[method-assign]

    def ask(self, *, full: bool = False) -> None:
        self.change(
            ORDERS,
            lambda control: with_maintenance(
                control, lambda known: asked_for(known, self.clock(), "ann", full=full)
            ),
        )


def test_a_table_is_surveyed_after_some_commits_and_not_before() -> None:
    world = Maintained(19)
    world.turn()
    assert (world.due, world.files.asked) == (Due.NOT, 0)
    world.batch()
    assert (world.due, world.files.asked) == (Due.WHEN_IDLE, 0)
    world.maintains(world.is_compacted)
    # One for each step, so that the table is observed again before another.
    assert world.turns() == 1
    assert (world.files.asked, [type(s) for s in world.engine.steps]) == (2, [Compact])
    assert world.due is Due.NOT
    world.turn()
    assert world.files.asked == 2


def test_what_was_done_and_found_is_in_the_control_document_and_is_reported() -> None:
    world = Maintained()
    world.maintains(world.is_compacted)
    world.turns()
    known = world.known
    assert known.compacted is not None
    assert (known.compacted.files, known.compacted.bytes) == (30, 30_000)
    assert known.found is not None
    assert (known.found.files, known.found.due, known.begun) == (1, None, None)
    [event] = [e for e in world.reported if isinstance(e, TableMaintained)]
    assert (event.step, event.files, event.bytes) == (StepKind.COMPACT, 30, 30_000)
    assert (event.live_files, event.live_bytes, event.dead_files) == (30, 30_000, 0)


def test_a_batch_that_waits_is_applied_before_another_step() -> None:
    world = Maintained()
    world.maintains(lambda step: world.publish())
    assert world.turn() == Reschedule()
    assert isinstance(world.decision(ORDERS), Apply)
    world.turn()
    assert len(world.engine.steps) == 1
    assert isinstance(world.decision(ORDERS), Idle)


def test_a_table_that_always_has_a_batch_waiting_is_maintained_between_two_of_them() -> None:
    world = Maintained(10, {"maintenanceBounds": {"everyCommits": 5, "pressingCommits": 12}})
    world.publish()
    world.reading = lambda batch: world.publish()
    for _ in range(2):
        world.turn()
    assert not world.engine.steps
    world.turn()
    assert len(world.engine.steps) == 1
    assert isinstance(world.decision(ORDERS), Apply)


def test_a_table_that_always_has_small_files_and_a_batch_waiting_is_vacuumed_too() -> None:
    bounds = {"maintenanceBounds": {"everyCommits": 5, "pressingCommits": 12}}
    world = Maintained(10, bounds)
    world.files.dead = (DeadFile(5, world.clock() - 8 * DAY),)

    def come_again(step: MaintenanceStep) -> None:
        world.files.live = tuple(LiveFile(file.size + 1) for file in world.files.live)

    world.maintains(come_again)
    world.publish()
    world.reading = lambda batch: world.publish()
    for _ in range(20):
        world.turn()
    assert isinstance(world.decision(ORDERS), Apply)
    # What came meanwhile is compacted right behind the VACUUM, and then as often as before.
    assert [type(step) for step in world.engine.steps] == [Compact, Vacuum, Compact, Compact]


def test_a_table_that_gains_more_small_files_than_a_step_takes_gets_one_behind_each_batch() -> None:
    bounds = {"everyCommits": 5, "pressingCommits": 12, "stepBytes": 21 * MIB}
    world = Maintained(10, {"maintenanceBounds": bounds})
    world.files.live = tuple(LiveFile(MIB + at) for at in range(45))

    def takes_some(step: MaintenanceStep) -> None:
        assert isinstance(step, Compact)
        assert step.files == 20
        world.files.live = world.files.live[step.files :]

    world.maintains(takes_some)
    world.publish()
    world.reading = lambda batch: world.publish()
    done = []
    for _ in range(7):
        world.turn()
        done.append(len(world.engine.steps))
    assert done == [0, 0, 1, 2, 2, 2, 2]
    assert isinstance(world.decision(ORDERS), Apply)


def test_what_grows_old_in_a_table_that_is_never_idle_is_vacuumed_whatever_it_commits() -> None:
    world = Maintained()
    world.maintains(world.is_compacted)
    world.files.dead = (DeadFile(5, world.clock()),)
    world.turns()
    assert [type(step) for step in world.engine.steps] == [Compact]
    world.publish()
    world.reading = lambda batch: world.publish()
    dues = []
    for hours in (0, 8 * 24 - 1, 1, 1):
        world.clock.turn(timedelta(hours=hours))
        world.turn()
        assert isinstance(world.decision(ORDERS), Apply)
        dues.append([type(step) for step in world.engine.steps[1:]])
    assert dues == [[], [], [], [Vacuum]]
    # Whatever it found is not sought again for each batch.
    asked = world.files.asked
    world.turn()
    world.turn()
    assert world.files.asked == asked


OFF = {"maintenance": "off"}


@pytest.mark.parametrize("asked", [False, True])
def test_a_table_that_somebody_else_maintains_is_left_alone_until_an_operator_asks(
    asked: bool,
) -> None:
    world = Maintained(settings=OFF)
    if asked:
        world.ask()
    world.maintains(world.is_compacted)
    world.turns()
    assert bool(world.engine.steps) is asked
    assert world.known.asked is None
    world.turn()
    assert len(world.engine.steps) == int(asked)


def decided(world: Maintained) -> None:
    """A batch is decided, and its runner dies before the commit."""

    def die(step: Step) -> None:
        if step is Step.BEFORE_COMMIT:
            raise KeyboardInterrupt

    world.publish()
    with pytest.raises(KeyboardInterrupt):
        reconcile(replace(world.ports, steps=die), world.engine, ORDERS)


def held(world: Maintained) -> None:
    hold(world.ports, ORDERS, Operator("ann"))


def gone(world: Maintained) -> None:
    world.delete_folder(ORDERS)


def made_anew(world: Maintained) -> None:
    world.delete_folder(ORDERS)
    world.land(ORDERS, 1)


def broken_settings(world: Maintained) -> None:
    world.store.write(layout.mirror_settings("m"), b"{")


@pytest.mark.parametrize("happens", [decided, held, gone, made_anew, broken_settings])
def test_nothing_is_maintained_while_something_else_is_decided(
    happens: Callable[[Maintained], None],
) -> None:
    world = Maintained()
    world.ask()
    happens(world)
    assert not may_maintain(world.observed(ORDERS), world.decision(ORDERS))
    assert not maintain_table(world.ports, world.engine, ORDERS)
    assert (world.files.asked, world.engine.steps) == (0, [])


def test_only_a_vacuum_that_listed_the_folder_is_noted_beside_the_log() -> None:
    world = Maintained()
    world.files.dead = (DeadFile(1, world.clock() - timedelta(days=9)),)
    world.ask()
    world.turns()
    assert world.known.vacuumed is not None
    assert world.files.noted == []
    world.ask(full=True)
    world.turns()
    assert world.files.noted == [world.known.vacuumed_through]


def test_a_step_is_not_begun_once_somebody_else_wrote_since_the_observation() -> None:
    world = Maintained()
    survey = world.files.data_files

    def overtaken(table: StorePath) -> TableFiles | BrokenLog | None:
        decided(world)
        return survey(table)

    world.files.data_files = overtaken  # type: ignore[method-assign]
    assert maintain_table(world.ports, world.engine, ORDERS)
    assert not world.engine.steps


@pytest.mark.parametrize("answer", [CommitResult.CONFLICT, CommitResult.MISSING, ConditionFailed])
def test_a_step_that_loses_to_another_commit_is_no_failure(answer: object) -> None:
    world = Maintained()

    def loses(step: MaintenanceStep) -> object:
        if isinstance(answer, type):
            raise answer("it was replaced")
        return answer

    world.maintains(loses)
    world.turn()
    assert (world.known.failed, world.known.begun, world.known.compacted) == (None, None, None)
    assert not any(isinstance(e, MaintenanceFailed) for e in world.reported)


def test_a_step_that_fails_stops_no_batch_and_is_tried_again_ever_later() -> None:
    world = Maintained()

    def fails(step: MaintenanceStep) -> None:
        raise ValueError("disk full")

    world.maintains(fails)
    assert world.turn() is None
    failed = world.known.failed
    assert failed is not None
    assert (failed.count, world.known.begun) == (1, None)
    assert "disk full" in failed.error
    assert [e.step for e in world.reported if isinstance(e, MaintenanceFailed)] == [
        StepKind.COMPACT
    ]
    world.batch()
    assert world.due is Due.NOT
    for minutes, count in ((2, 2), (1, 2), (2, 3)):
        world.clock.turn(timedelta(minutes=minutes))
        # Nothing else was due: more commits are.
        for _ in range(20):
            world.batch()
        world.turn()
        assert world.known.failed is not None
        assert world.known.failed.count == count


def test_a_step_that_delta_finds_nothing_to_do_for_is_not_planned_for_ever() -> None:
    world = Maintained()
    world.maintains(lambda step: CommitResult.DONE)
    assert world.turns() == 1
    assert world.files.asked == 2
    assert world.known.found is not None
    assert "left the files" in world.known.found.remark


def test_a_step_that_delta_finds_nothing_to_do_for_keeps_no_vacuum_away() -> None:
    world = Maintained()
    small = world.files.live
    removed(world, 9 * DAY)
    world.files.live = small
    world.maintains(lambda step: CommitResult.DONE if isinstance(step, Compact) else None)
    world.turns()
    assert isinstance(world.engine.steps[0], Vacuum)


def test_a_compaction_that_always_fails_keeps_no_vacuum_away() -> None:
    world = Maintained()
    small = world.files.live
    removed(world, 9 * DAY)
    world.files.live = small

    def fails(step: MaintenanceStep) -> None:
        assert isinstance(step, Vacuum), "a file cannot be read"

    world.maintains(fails)
    world.turns()
    assert not world.engine.steps
    world.clock.turn(timedelta(minutes=2))
    for _ in range(20):
        world.batch()
    world.turns()
    assert isinstance(world.engine.steps[0], Vacuum)


def test_a_step_that_an_operator_asked_for_and_that_fails_is_tried_ever_later_too() -> None:
    world = Maintained(3)

    def fails(step: MaintenanceStep) -> None:
        raise ValueError("disk full")

    world.maintains(fails)
    world.ask()
    assert world.due is Due.NOW
    world.turns()
    assert world.known.failed is not None
    assert world.due is Due.NOT
    assert not needs_reconcile(world.observed(ORDERS), world.decision(ORDERS))
    world.clock.turn(timedelta(minutes=2))
    assert world.due is Due.NOW
    world.turns()
    assert world.known.failed.count == 2
    world.ask()
    assert world.due is Due.NOW, "asked again, it is tried at once"


def test_a_few_commits_are_surveyed_after_a_day_and_a_table_at_rest_is_swept_after_a_month() -> (
    None
):
    world = Maintained()
    world.maintains(world.is_compacted)
    world.turns()
    assert world.due is Due.NOT
    world.clock.turn(25 * timedelta(hours=1))
    assert world.due is Due.NOT, "nothing came since"
    world.batch()
    assert world.due is Due.WHEN_IDLE
    world.turns()
    assert world.due is Due.NOT
    world.clock.turn(30 * DAY)
    assert world.due is Due.WHEN_IDLE
    world.turns()
    step = world.engine.steps[-1]
    assert isinstance(step, Vacuum)
    assert step.full
    assert world.due is Due.NOT


@pytest.mark.parametrize("known", [None, Maintenance(steps=3)])
def test_a_table_of_a_few_commits_is_surveyed_once_it_was_left_alone_for_a_day(
    known: Maintenance | None,
) -> None:
    """Or nobody would ever search for the files that its killed writers left."""
    world = Maintained(batches=1)
    world.change(ORDERS, lambda control: replace(control, maintenance=Maintenance(again=True)))
    assert world.due is Due.WHEN_IDLE, "a step has left something to be surveyed"
    world.change(ORDERS, lambda control: replace(control, maintenance=known))
    assert world.due is Due.NOT
    world.clock.turn(timedelta(hours=25))
    assert world.due is Due.WHEN_IDLE
    world.turns()
    assert world.known.found is not None
    assert world.due is Due.NOT


def test_a_compaction_that_commits_and_leaves_its_files_is_not_done_for_ever() -> None:
    world = Maintained()
    assert world.turns() == 1
    assert len(world.engine.steps) == 1
    assert world.known.found is not None
    assert "left the files" in world.known.found.remark


def test_of_a_step_whose_runner_dies_it_stays_known_that_it_has_begun() -> None:
    world = Maintained()

    def die(step: Step) -> None:
        if step is Step.MAINTAINING:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        maintain_table(replace(world.ports, steps=die), world.engine, ORDERS)
    assert world.known.begun is not None
    assert world.known.begun.kind is StepKind.COMPACT
    # A later one takes the same files, so that the first can land no more.
    world.maintains(world.is_compacted)
    world.files.live += world.files.live
    world.turns()
    assert world.known.begun is not None
    world.files.live = tuple(LiveFile(2000) for _ in range(30))
    for _ in range(20):
        world.batch()
    world.turns()
    assert world.known.begun is None


def removed(world: Maintained, age: timedelta) -> None:
    world.files.live = (LiveFile(MIB * 100),)
    world.files.dead = (DeadFile(5, world.clock() - age),)


def test_a_vacuum_is_due_by_time_alone() -> None:
    world = Maintained()
    removed(world, timedelta(minutes=30))
    world.turns()
    assert not world.engine.steps
    assert world.known.dead_since is not None
    world.clock.turn(7 * DAY)
    assert world.due is Due.NOT
    world.clock.turn(DAY)
    assert world.due is Due.WHEN_IDLE
    world.turns()
    [step] = world.engine.steps
    assert isinstance(step, Vacuum)
    assert (step.hours, step.full) == (168, False)
    world.turns()
    assert len(world.engine.steps) == 1
    assert world.due is Due.NOT


@pytest.mark.parametrize(("days", "property_days", "hours"), [(7, 30, 720), (30, 7, 720)])
def test_the_longer_of_the_tables_retention_and_the_policys_holds(
    days: int, property_days: int, hours: int
) -> None:
    world = Maintained(settings={"tables": {"dbo.orders": {"retentionInDays": days}}})
    read = world.ports.logs.read

    class Logs:
        def read(self, table: StorePath) -> object:
            log = read(table)
            if isinstance(log, TableLog):
                return replace(log, properties={KEPT: f"interval {property_days} days"})
            return log

    world.ports = replace(world.ports, logs=Logs())  # type: ignore[arg-type]
    world.files.live = (LiveFile(MIB * 100),)
    world.files.dead = tuple(DeadFile(5, world.clock() - (n + 0.5) * DAY) for n in range(40))
    world.ask()
    while maintain_table(world.ports, world.engine, ORDERS):
        pass
    steps = [step for step in world.engine.steps if isinstance(step, Vacuum)]
    assert min(step.hours for step in steps) == hours


def test_a_policy_that_keeps_files_longer_counts_before_the_property_follows() -> None:
    world = Maintained(settings={"tables": {"dbo.orders": {"retentionInDays": 30}}})
    read = world.ports.logs.read

    class Logs:
        def read(self, table: StorePath) -> object:
            log = read(table)
            return replace(log, properties={}) if isinstance(log, TableLog) else log

    world.ports = replace(world.ports, logs=Logs())  # type: ignore[arg-type]
    removed(world, timedelta(hours=1))
    world.turns()
    assert world.known.dead_since is not None
    world.clock.turn(10 * DAY)
    assert world.due is Due.NOT
    assert not [one for one in statuses(world).warnings if "not deleted yet" in one.detail]


@pytest.mark.parametrize(
    ("commits", "asked", "steps"), [(30, False, 0), (30, True, 4), (200, False, 1)]
)
def test_a_drain_maintains_what_is_asked_for_or_pressing(
    commits: int, asked: bool, steps: int
) -> None:
    world = Maintained()
    log = world.version
    if asked:
        world.ask()
    shapes = iter([25, 20, 10, 0])

    def shrinks(step: MaintenanceStep) -> None:
        world.files.live = tuple(LiveFile(1000) for _ in range(next(shapes)))

    world.maintains(shrinks)
    if commits == 200:
        world.change(ORDERS, lambda control: with_maintenance(control, lambda known: Maintenance()))
        with_commits(world, commits - log)
    drain(world.ports, world.engine, ["m"], workers=1)
    assert len(world.engine.steps) == steps


def with_commits(world: Maintained, count: int) -> None:
    """So many commits of a stranger."""
    for version in range(world.version + 1, world.version + 1 + count):
        path = StorePath(f"{TABLE}/_delta_log/{version:020d}.json")
        world.store.write(path, b'{"commitInfo": {}}')


class Woken:
    def __init__(self) -> None:
        self.folders: list[TableFolder] = []

    def wake(self, folder: TableFolder) -> None:
        self.folders.append(folder)


def test_a_sweep_wakes_a_table_to_be_surveyed_where_there_is_an_engine() -> None:
    world, woken = Maintained(), Woken()
    sweep(world.ports, ["m"], woken)
    assert not woken.folders, "no runner is started for it"
    sweep(world.ports, ["m"], woken, surveys=True)
    assert woken.folders == [ORDERS]


def test_a_sweep_wakes_a_table_whose_maintenance_an_operator_asks_for() -> None:
    world, woken = Maintained(3), Woken()
    world.ask()
    sweep(world.ports, ["m"], woken)
    assert woken.folders == [ORDERS]


def test_a_process_that_reads_no_data_files_maintains_nothing() -> None:
    world = Maintained()
    ports: RootPorts = World().process()
    world.ports = replace(world.ports, data_files=ports.data_files)
    assert not maintain_table(world.ports, world.engine, ORDERS)
    assert not world.engine.steps


# --- What operators ask for and see ---------------------------------------------------------------


def test_an_operator_asks_for_maintenance_of_a_table_that_is_there_and_history_has_it() -> None:
    world = Maintained(3)
    maintain(world.ports, ORDERS, Operator("ann", "tidy"), full=True)
    asked = world.known.asked
    assert asked is not None
    assert (asked.by, asked.full) == ("ann", True)
    [act] = world.control(ORDERS).acts
    assert (act.what, act.by, act.why) == ("maintain --full", "ann", "tidy")
    world.maintains(world.is_compacted)
    world.turns()
    assert [type(step) for step in world.engine.steps] == [Compact, Vacuum]
    texts = list(history_lines(history(world.ports, LogReplay(world.store), ORDERS, 20)))
    assert any("compacted: 30 files, 30,000 bytes, by maintenance" in text for text in texts)
    gone(world)
    with pytest.raises(WrongRequest, match="no table"):
        maintain(world.ports, ORDERS, Operator("ann"), full=False)


def statuses(world: Maintained) -> TableStatus:
    observed = world.observed(ORDERS)
    return table_status(observed, world.decision(ORDERS))


def test_status_has_what_a_survey_found_and_what_ran_last() -> None:
    world = Maintained()
    assert statuses(world).maintenance is None
    world.maintains(world.is_compacted)
    world.turns()
    status = statuses(world)
    [shown] = to_json([status])["data"]  # type: ignore[misc]
    figures = shown["openmirror"]["maintenance"]
    assert (figures["files"], figures["bytes"], figures["due"]) == (1, 30_000, None)
    assert figures["compacted"]["files"] == 30
    [line] = maintained_tables([status], world.clock())
    assert line.startswith("m/dbo.orders: 1 file, 30.0 kB; compacted ")


def fails_often(world: Maintained) -> None:
    def fails(step: MaintenanceStep) -> None:
        raise ValueError("disk full")

    world.maintains(fails)
    for _ in range(3):
        world.turn()
        world.clock.turn(timedelta(hours=1))
        for _ in range(20):
            world.batch()


def is_never_surveyed(world: Maintained) -> None:
    world.maintains(world.is_compacted)
    world.turns()
    with_commits(world, 2000)


def is_never_vacuumed(world: Maintained) -> None:
    world.maintains(world.is_compacted)
    world.files.dead = (DeadFile(1, world.clock()),)
    world.turns()
    world.clock.turn(12 * DAY)


def gains_more_than_it_loses(world: Maintained) -> None:
    bounds = {"everyCommits": 5, "pressingCommits": 12, "stepBytes": 21 * MIB}
    settings = json.dumps({"openmirror": {"maintenanceBounds": bounds}}).encode()
    world.store.write(layout.mirror_settings("m"), settings)
    world.files.live = tuple(LiveFile(MIB + at) for at in range(140))
    world.turn()


def may_not_list(world: Maintained) -> None:
    def unnamed(table: StorePath) -> TableFiles:
        since = world.clock() - 30 * DAY
        return TableFiles(version=world.version, since=since, names_all_dead=False)

    def die(step: Step) -> None:
        if step is Step.MAINTAINING:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        maintain_table(replace(world.ports, steps=die), world.engine, ORDERS)
    world.files.data_files = unnamed  # type: ignore[method-assign]
    world.ask()
    world.turns()


def cannot_be_surveyed(world: Maintained) -> None:
    world.files.data_files = lambda table: BrokenLog(table, "bad add")  # type: ignore[method-assign]
    for _ in range(3):
        world.clock.turn(DAY)
        world.turns()


@pytest.mark.parametrize(
    ("happens", "reason"),
    [
        (cannot_be_surveyed, "3 steps failed in a row"),
        (fails_often, "3 steps failed in a row"),
        (is_never_surveyed, "not surveyed for 20"),
        (gains_more_than_it_loses, "120 small files are not put together"),
        (is_never_vacuumed, "are not deleted yet"),
        (may_not_list, "may be stalled"),
    ],
)
def test_debt_that_grows_is_a_warning_with_its_reason_unless_it_is_somebody_elses(
    happens: Callable[[Maintained], None], reason: str
) -> None:
    world = Maintained()
    happens(world)
    [warning] = statuses(world).warnings
    assert warning.code == Word.MAINTENANCE_BEHIND
    assert reason in warning.detail
    world.store.write(
        layout.mirror_settings("m"), json.dumps({"openmirror": {"maintenance": "off"}}).encode()
    )
    assert not statuses(world).warnings


def lacks_a_part(table: StorePath) -> TableFiles:
    raise NotThere(f"a part of the checkpoint of {table}")


@pytest.mark.parametrize(
    "unreadable", [lambda table: BrokenLog(table, "version 3: bad add action"), lacks_a_part]
)
def test_files_that_cannot_be_read_are_a_failure_and_are_tried_again_later(
    unreadable: Callable[[StorePath], TableFiles | BrokenLog],
) -> None:
    """Observation passes over what says which files a table has: no batch would notice."""
    world = Maintained()
    read = world.files.data_files
    world.files.data_files = unreadable  # type: ignore[method-assign]
    world.turns()
    [event] = [event for event in world.reported if isinstance(event, MaintenanceFailed)]
    assert event.step is StepKind.SURVEY
    assert world.due is Due.NOT
    world.batch()
    assert not world.engine.steps
    texts = list(history_lines(history(world.ports, LogReplay(world.store), ORDERS, 5)))
    assert any("survey failed, 1 in a row, by maintenance: " in text for text in texts)
    world.files.data_files = read  # type: ignore[method-assign]
    world.clock.turn(timedelta(minutes=2))
    world.turns()
    assert world.engine.steps
    assert world.known.failed is None


# --- A log that forgets ---------------------------------------------------------------------------


class Forgetting:
    """A LogReader of logs that have dropped some transactions, as a property of Delta's allows."""

    def __init__(self, world: World, numbers: tuple[int, ...]) -> None:
        self._inner, self._numbers = world.ports.logs, numbers

    def read(self, table: StorePath) -> TableLog | BrokenLog | None:
        log = self._inner.read(table)
        if not isinstance(log, TableLog):
            return log
        forgotten = {epoch.app_id for epoch in log.epochs if epoch.number in self._numbers}
        left = {app: at for app, at in log.transactions.items() if app not in forgotten}
        return replace(log, transactions=left)


@pytest.mark.parametrize(
    ("numbers", "code"),
    [((), None), ((1,), Code.TABLE_LOG_BROKEN), ((2,), Code.TABLE_LOG_BROKEN)],
)
def test_a_log_that_lacks_an_epoch_that_was_in_it_stops_its_table_until_a_reseed(
    numbers: tuple[int, ...], code: Code | None
) -> None:
    world = World(NO_GRACE)
    world.land(ORDERS, 1)
    world.reconcile_until_idle(ORDERS)
    reseed(world.ports, ORDERS, Operator("ann"))
    world.reconcile_until_idle(ORDERS)
    world.land(ORDERS, 2)
    world.ports = replace(world.ports, logs=Forgetting(world, numbers))
    decision = world.decision(ORDERS)
    assert (decision.problem.code if isinstance(decision, Pause) else None) is code
    if code is None:
        return
    assert isinstance(decision, Pause)
    assert "setTransactionRetentionDuration" in decision.problem.detail
    assert not may_maintain(world.observed(ORDERS), decision)
    reseed(world.ports, ORDERS, Operator("ann"))
    world.ports = world.process()
    assert isinstance(world.reconcile_until_idle(ORDERS), Idle)
    assert world.applied(ORDERS) == 2


def test_a_log_that_has_forgotten_all_may_be_somebody_elses_until_it_is_moved_away() -> None:
    world = World(NO_GRACE)
    world.land(ORDERS, 1)
    world.reconcile_until_idle(ORDERS)
    logs = world.ports.logs
    world.ports = replace(world.ports, logs=Forgetting(world, (1,)))
    reseed(world.ports, ORDERS, Operator("ann"))
    decision = world.decision(ORDERS)
    assert isinstance(decision, Pause)
    assert decision.problem.code is Code.TABLE_NOT_OURS
    assert FORGETS_TRANSACTIONS in decision.problem.detail
    assert "`openmirror reseed`" in decision.problem.remedy
    world.ports = replace(world.ports, logs=logs)
    world.store.move_folder(TABLE, StorePath("lake/elsewhere"))
    assert isinstance(world.reconcile_until_idle(ORDERS), Idle)
    assert world.applied(ORDERS) == 1


def test_a_log_that_is_to_forget_gets_no_step_which_might_have_it_do_so() -> None:
    world = Maintained()
    read = world.ports.logs.read

    class Logs:
        def read(self, table: StorePath) -> object:
            log = read(table)
            if isinstance(log, TableLog):
                return replace(log, properties={FORGETS_TRANSACTIONS: "interval 1 days"})
            return log

    world.ports = replace(world.ports, logs=Logs())  # type: ignore[arg-type]
    world.ask()
    world.turns()
    assert not world.engine.steps
    [_, warning] = statuses(world).warnings
    assert (warning.code, FORGETS_TRANSACTIONS in warning.detail) == (Word.MAINTENANCE_BEHIND, True)


def test_a_position_before_a_fence_that_a_clean_up_took_is_that_of_the_control_document() -> None:
    """Else the epoch would go on from the start, and apply everything a second time."""
    world = World(NO_GRACE)
    world.land(ORDERS, 1, 2)
    world.reconcile_until_idle(ORDERS)
    applied = world.control(ORDERS).applied
    assert applied is not None
    world.engine.commit_without_rows(TABLE, Transaction(applied.app_id, Position(FENCED)))
    read = world.ports.logs.read

    class Cleaned:
        def read(self, table: StorePath) -> TableLog | BrokenLog | None:
            log = read(table)
            if isinstance(log, TableLog) and log.before_fence:
                return replace(log, before_fence=dict.fromkeys(log.before_fence, START))
            return log

    world.ports = replace(world.ports, logs=Cleaned())
    assert isinstance(world.decision(ORDERS), Continue)
    assert isinstance(world.reconcile_until_idle(ORDERS), Idle)
    log = read(TABLE)
    assert isinstance(log, TableLog)
    assert log.live is not None
    assert (log.live[0].number, log.live[1]) == (2, 2)
    assert len(world.engine.batches) == 1
