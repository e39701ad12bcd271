"""Tables whose deletes are soft: their time, how they begin and end, and what is removed when."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from openmirror.errors import ConditionFailed, WrongRequest
from openmirror.operate.requests import Operator, confirm_hard_deletes
from openmirror.plan import Batch
from openmirror.plan.decisions import Apply, Idle
from openmirror.plan.maintaining import Due, survey_due
from openmirror.plan.maintenance_steps import (
    Compact,
    LiveFile,
    MaintenanceStep,
    RemoveMarked,
    TableFiles,
)
from openmirror.plan.soft_deletes import MARKS, marks
from openmirror.ports import CommitResult, Step
from openmirror.progress.tables import MaintenanceFailed, TableMaintained
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.reconcile.maintaining import maintain_table
from openmirror.reconcile.reconciliation import reconcile
from openmirror.status import Word, table_status
from openmirror.table import layout
from openmirror.table.control import BatchKind, StepKind
from openmirror.table.layout import StorePath
from openmirror.table.log import TableLog
from tests.harness.dying import Killed, dies_at
from tests.harness.world import NO_GRACE, World

ORDERS = TableFolder("m", TablePath.parse("orders"))
ME = Operator("ann", "the audit is over")
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


class Soft(World):
    """A table with one batch, by these settings."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(NO_GRACE)
        self.count = 0
        self.say(delete="soft", **settings)
        self.batch()

    def say(self, **settings: Any) -> None:
        text = json.dumps({"openmirror": settings}).encode()
        self.store.write(layout.mirror_settings("m"), text)

    def batch(self) -> None:
        self.count += 1
        self.land(ORDERS, self.count)
        assert isinstance(self.reconcile_until_idle(ORDERS), Idle)

    @property
    def log(self) -> TableLog:
        log = self.observed(ORDERS).log
        assert isinstance(log, TableLog)
        return log

    @property
    def due(self) -> Due:
        return survey_due(self.observed(ORDERS), self.decision(ORDERS))

    @property
    def warned(self) -> list[str]:
        status = table_status(self.observed(ORDERS), self.decision(ORDERS))
        return [warning.code for warning in status.warnings]


class SmallFiles:
    """A DataFilesReader of tables with many small files."""

    def data_files(self, table: StorePath) -> TableFiles:
        return TableFiles(version=1, live=tuple(LiveFile(1000) for _ in range(30)))

    def swept(self, table: StorePath, through: datetime) -> None:
        raise AssertionError(f"{table} was swept through {through}")


# --- The time -------------------------------------------------------------------------------------


def test_a_batch_has_the_time_of_its_decision_in_every_attempt() -> None:
    world = Soft()
    seen: list[tuple[Batch, datetime | None]] = []
    inner = world.engine.commit

    def commit(batch: Batch, *more: Any) -> CommitResult:
        seen.append((batch, batch.decided_at))
        return CommitResult.CONFLICT if len(seen) == 1 else inner(batch, *more)

    world.engine.commit = commit  # type: ignore[method-assign]
    world.land(ORDERS, 2)
    with pytest.raises(Killed):
        reconcile(world.process(steps=dies_at(Step.DECIDED)), world.engine, ORDERS)
    decided = world.control(ORDERS).decided
    assert decided is not None
    assert decided.at is not None
    for _ in range(2):
        world.clock.turn(HOUR)
        world.reconcile(ORDERS)
    assert [at for _, at in seen] == [decided.at, decided.at]
    assert world.applied(ORDERS) == 2


def test_a_batch_that_a_former_version_decided_has_a_time_as_well() -> None:
    world = Soft()
    world.land(ORDERS, 2)
    with pytest.raises(Killed):
        reconcile(world.process(steps=dies_at(Step.DECIDED)), world.engine, ORDERS)
    document = json.loads(world.store.read(layout.control_document(ORDERS)).data)
    del document["decided"]["at"]
    world.store.write(layout.control_document(ORDERS), json.dumps(document).encode())
    seen: list[Batch] = []
    world.reading = seen.append
    assert isinstance(world.decision(ORDERS), Apply)
    world.reconcile_until_idle(ORDERS)
    assert world.applied(ORDERS) == 2
    assert seen[0].as_of(seen[0].manifest).decided_at == seen[0].files[0].modified


# --- To soft, and back to hard --------------------------------------------------------------------


def test_the_log_says_that_deletes_are_soft_and_a_table_goes_on_so() -> None:
    world = Soft()
    assert world.log.properties == {MARKS.property: "soft"}
    assert world.log.schema.names[-1] == "_deleted_at"
    world.say(delete="hard")
    world.batch()
    assert world.log.properties == {MARKS.property: "soft"}
    assert world.warned == ["TableSettingUnmet"]


def test_hard_deletes_come_with_the_next_batch_once_they_are_confirmed() -> None:
    world = Soft()
    world.say()
    confirm_hard_deletes(world.ports, ORDERS, ME)
    assert world.warned == [Word.REQUESTED]
    assert marks(world.log), "nothing happens to a table without files"
    world.batch()
    assert (world.log.properties, world.warned) == ({}, [])
    assert "_deleted_at" not in world.log.schema.names
    assert world.control(ORDERS).hard_deletes is None


def test_what_is_marked_goes_at_once_when_hard_deletes_are_confirmed() -> None:
    world = Soft(maintenance="off")
    world.say(maintenance="off")
    assert (world.due, maintain_table(world.ports, world.engine, ORDERS)) == (Due.NOT, False)
    confirm_hard_deletes(world.ports, ORDERS, ME)
    assert world.due is Due.NOW, "a drain does it as well"
    assert maintain_table(world.ports, world.engine, ORDERS)
    assert removed(world) == [world.clock()]
    assert (world.due, maintain_table(world.ports, world.engine, ORDERS)) == (Due.NOT, False)
    assert marks(world.log), "until the next batch takes the column away as well"
    world.land(ORDERS, 2)
    assert maintain_table(world.ports, world.engine, ORDERS) is False, "that batch does it"
    world.reconcile_until_idle(ORDERS)
    assert (world.log.properties, len(removed(world))) == ({}, 1)


def test_a_confirmation_is_given_up_when_deletes_are_soft_again() -> None:
    world = Soft()
    world.say()
    confirm_hard_deletes(world.ports, ORDERS, ME)
    world.say(delete="soft")
    world.batch()
    world.say()
    world.batch()
    assert world.warned == ["TableSettingUnmet"]


def test_a_table_that_begins_anew_is_as_its_settings_say() -> None:
    world = Soft()
    world.say()
    world.delete_folder(ORDERS)
    world.count = 0
    world.batch()
    assert (world.log.properties, world.warned) == ({}, [])


def test_a_confirmation_is_refused_where_there_is_nothing_to_confirm() -> None:
    world = Soft()
    with pytest.raises(WrongRequest, match="delete: soft; set it to hard"):
        confirm_hard_deletes(world.ports, ORDERS, ME)
    world.say(delete="never")
    with pytest.raises(WrongRequest, match="correct it first"):
        confirm_hard_deletes(world.ports, ORDERS, ME)
    others = TableFolder("m", TablePath.parse("others"))
    world.say()
    world.land(others, 1)
    world.reconcile_until_idle(others)
    with pytest.raises(WrongRequest, match="no row of dbo"):
        confirm_hard_deletes(world.ports, others, ME)


# --- What is marked for long enough ---------------------------------------------------------------


def removed(world: Soft) -> list[datetime]:
    return [step.before for step in world.engine.steps if isinstance(step, RemoveMarked)]


def test_marked_rows_are_removed_once_they_are_old_enough_and_then_now_and_then() -> None:
    world = Soft(purgeAfter="30d", maintenance="off")
    assert world.due is Due.NOW, "nobody knows yet what is marked"
    assert maintain_table(world.ports, world.engine, ORDERS)
    assert removed(world) == [world.clock() - 30 * DAY]
    assert (world.due, maintain_table(world.ports, world.engine, ORDERS)) == (Due.NOT, False)
    [event] = [event for event in world.reported if isinstance(event, TableMaintained)]
    assert event.step is StepKind.REMOVE_MARKED
    world.clock.turn(DAY - HOUR)
    assert world.due is Due.NOT
    world.clock.turn(HOUR)
    assert world.due is Due.WHEN_IDLE
    world.clock.turn(2 * DAY)
    assert world.due is Due.NOW, "a table that is never idle"
    maintain_table(world.ports, world.engine, ORDERS)
    assert len(removed(world)) == 2


def test_a_short_time_is_no_reason_to_delete_all_the_time() -> None:
    world = Soft(purgeAfter="1h", maintenance="off")
    maintain_table(world.ports, world.engine, ORDERS)
    world.clock.turn(HOUR - timedelta(seconds=1))
    assert world.due is Due.NOT
    world.clock.turn(timedelta(seconds=1))
    assert world.due is Due.WHEN_IDLE


@pytest.mark.parametrize("settings", [{}, {"delete": "soft"}, {"purgeAfter": "30d"}])
def test_nothing_is_removed_of_a_table_that_marks_nothing_or_keeps_it(
    settings: dict[str, Any],
) -> None:
    world = Soft(maintenance="off")
    if "delete" not in settings:
        world.delete_folder(ORDERS)
        world.count = 0
    world.say(maintenance="off", **settings)
    world.batch()
    assert (world.due, maintain_table(world.ports, world.engine, ORDERS)) == (Due.NOT, False)


def test_nothing_is_removed_beside_a_batch_that_is_decided() -> None:
    world = Soft(purgeAfter="30d", maintenance="off")
    world.land(ORDERS, 2)
    with pytest.raises(Killed):
        reconcile(world.process(steps=dies_at(Step.DECIDED)), world.engine, ORDERS)
    assert (world.due, maintain_table(world.ports, world.engine, ORDERS)) == (Due.NOT, False)
    world.reconcile_until_idle(ORDERS)
    assert maintain_table(world.ports, world.engine, ORDERS)


@pytest.mark.parametrize("meanwhile", ["a batch", "another folder"])
def test_who_stalls_before_a_removal_wakes_to_remove_nothing(meanwhile: str) -> None:
    """No fence stops it: what it would delete may be meant to stay by now, or be another's."""
    world = Soft(purgeAfter="30d", maintenance="off")

    def stalled(step: Step) -> None:
        if step is Step.MAINTAINING and meanwhile == "a batch":
            world.batch()
        elif step is Step.MAINTAINING:
            world.delete_folder(ORDERS)
            world.count = 0
            world.say(maintenance="off")
            world.batch()

    assert maintain_table(world.process(steps=stalled), world.engine, ORDERS)
    assert removed(world) == []
    known = world.control(ORDERS).maintenance
    assert known is not None
    assert known.begun is None


def test_a_removal_that_fails_is_tried_again_later_and_stops_nothing() -> None:
    world = Soft(purgeAfter="30d", maintenance="off")
    inner = world.engine.maintain

    def fail(*_: Any) -> CommitResult:
        raise ValueError("no more space")

    world.engine.maintain = fail  # type: ignore[method-assign]
    assert maintain_table(world.ports, world.engine, ORDERS)
    assert not maintain_table(world.ports, world.engine, ORDERS)
    assert [type(event) for event in world.reported].count(MaintenanceFailed) == 1
    assert world.due is Due.NOT
    world.batch()
    world.clock.turn(timedelta(minutes=1))
    assert world.due is Due.NOW

    def lose(*_: Any) -> CommitResult:
        raise ConditionFailed("another commit came between")

    world.engine.maintain = lose  # type: ignore[method-assign]
    assert maintain_table(world.ports, world.engine, ORDERS)
    world.engine.maintain = inner  # type: ignore[method-assign]
    assert maintain_table(world.ports, world.engine, ORDERS)
    assert len(removed(world)) == 1
    known = world.control(ORDERS).maintenance
    assert known is not None
    assert (known.begun, known.failed, known.failed_removal) == (None, None, None)


def test_rows_that_cannot_be_removed_keep_no_file_from_its_own_maintenance() -> None:
    world = Soft(purgeAfter="30d", maintenanceBounds={"everyCommits": 1})
    asked: list[type] = []

    def fail(_: StorePath, step: MaintenanceStep) -> CommitResult:
        asked.append(type(step))
        raise ValueError("no more space")

    world.engine.maintain = fail  # type: ignore[method-assign]
    world.ports = replace(world.ports, data_files=SmallFiles())
    for _ in range(3):
        while maintain_table(world.ports, world.engine, ORDERS):
            pass
        world.clock.turn(DAY)
    assert asked == [RemoveMarked, Compact] * 3
    known = world.control(ORDERS).maintenance
    assert known is not None
    assert [f.count for f in (known.failed, known.failed_removal) if f] == [3, 3]
    world.say(delete="soft", purgeAfter="30d", maintenance="off")
    assert world.warned == [Word.MAINTENANCE_BEHIND], "whoever maintains the files"
    world.say(delete="soft", maintenance="off")
    assert not world.warned, "nothing is to be removed any more"


def test_a_removal_leaves_a_compaction_that_never_ended_in_the_document() -> None:
    world = Soft(purgeAfter="30d")
    world.batch()
    document = json.loads(world.store.read(layout.control_document(ORDERS)).data)
    begun = {"kind": "compact", "at": world.clock().isoformat(), "bound": 1000}
    document["maintenance"] = {"begun": begun}
    world.store.write(layout.control_document(ORDERS), json.dumps(document).encode())
    assert maintain_table(world.ports, world.engine, ORDERS)
    known = world.control(ORDERS).maintenance
    assert known is not None
    assert known.begun is not None
    assert (known.begun.kind, known.begun.bound) == (StepKind.COMPACT, 1000)
    assert known.removed_through is not None


def test_a_table_whose_log_is_replaced_removes_nothing() -> None:
    world = Soft(purgeAfter="30d", maintenance="off")
    decided = world.control(ORDERS).decided
    assert decided is not None
    assert decided.kind is BatchKind.REPLACE
    world.delete_folder(ORDERS)
    assert world.due is Due.NOT
