"""What is emitted of a mirror: every operation at least once, under one identity."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from openmirror.errors import ConditionFailed
from openmirror.ingress.dead_letters import collect, count, keep_event, keep_work_item
from openmirror.operate.requests import Operator, adopt, hold, reseed, resume, retry, undrop
from openmirror.ports import Step
from openmirror.ports.telemetry.table_operation import ErrorType, OperationName
from openmirror.ports.telemetry.table_status_event import Health
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.protocol.streams import (
    Offset,
    StopCode,
    StoppedTable,
    StopReason,
    StreamDocument,
    StreamIdentity,
)
from openmirror.reconcile.reconciliation import reconcile, reconcile_until_idle
from openmirror.stores.azure.event_grid import read_events
from openmirror.stores.memory.dead_letters import MemoryDeadLetters, MemoryUndeliveredEvents
from openmirror.table import layout
from openmirror.table.layout import join
from tests.harness.dying import Killed, dies_at
from tests.harness.stores import Call
from tests.telemetry.rig import ITEMS, ORDERS, Emitter, Heard

ANN = Operator("ann", "for the test")
FIRST_INCARNATION = ["AddTable", "StartSnapshotting", "Snapshotting", "StartReplicating"]


@pytest.fixture
def world() -> Emitter:
    return Emitter()


@pytest.fixture
def heard() -> Heard:
    return Heard()


def _saves_applied(call: Call) -> bool:
    return call.path == layout.control_document(ORDERS) and b'"applied"' in call.data


def test_a_table_is_added_snapshotted_and_then_replicated(world: Emitter, heard: Heard) -> None:
    world.land(ORDERS, 1)
    world.run(world.process(heard))
    assert heard.names == FIRST_INCARNATION
    world.land(ORDERS, 2)
    world.run(world.process(heard))
    assert heard.names == [*FIRST_INCARNATION, "Replicating"]
    commit = heard.operations[-1]
    assert (commit.first, commit.last, commit.processed_rows) == (2, 2, 2)
    assert commit.bytes > 0
    assert commit.started_at <= world.clock()


def test_new_columns_are_an_operation_of_their_own(world: Emitter, heard: Heard) -> None:
    world.land(ORDERS, 1)
    world.run(world.process(heard))
    world.land(ORDERS, 2, id=[3], batch_record=["new"])
    world.run(world.process(heard))
    assert heard.names == [*FIRST_INCARNATION, "ReplicatingSchema", "Replicating"]


def test_observing_again_reports_nothing(world: Emitter, heard: Heard) -> None:
    world.land(ORDERS, 1)
    world.run(world.process(heard))
    reported = len(heard.operations)
    world.run(world.process(heard))
    assert len(heard.operations) == reported


def test_a_commit_that_was_not_reported_is_reported_by_the_next_process(world: Emitter) -> None:
    world.land(ORDERS, 1)
    world.run(world.process(Heard()))
    world.land(ORDERS, 2)
    first, second = Heard(), Heard()
    dying = replace(world.process(first), steps=dies_at(Step.COMMITTED))
    with pytest.raises(Killed):
        reconcile_until_idle(dying, world.engine, ORDERS)
    assert first.names == []
    world.run(world.process(second))
    assert second.names == ["Replicating"]


def test_a_crash_before_the_save_reports_the_same_operation_again(world: Emitter) -> None:
    world.land(ORDERS, 1)
    first, second = Heard(), Heard()

    def dying(call: Call) -> None:
        if _saves_applied(call):
            raise Killed(call)

    world.watched.before = dying
    with pytest.raises(Killed):
        world.run(world.process(first))
    world.watched.before = lambda call: None
    world.run(world.process(second))
    of = {o.name: o.identity for o in first.operations}
    again = {o.name: o.identity for o in second.operations}
    assert again == {
        name: of[name] for name in (OperationName.SNAPSHOTTING, OperationName.START_REPLICATING)
    }


def test_a_lost_race_repeats_the_identity_and_no_other(world: Emitter, heard: Heard) -> None:
    world.land(ORDERS, 1)
    lost = iter([True])

    def racing(call: Call) -> None:
        if _saves_applied(call) and next(lost, False):
            raise ConditionFailed(call.path)

    world.watched.before = racing
    world.run(world.process(heard))
    names = [operation.name.value for operation in heard.operations]
    assert names.count("Snapshotting") == 2
    assert heard.names == FIRST_INCARNATION


def test_two_runners_report_of_one_commit_under_one_identity(world: Emitter) -> None:
    world.land(ORDERS, 1)
    first, second = Heard(), Heard()
    reconcile(world.process(first), world.engine, ORDERS)
    # Both observe before either has saved what it saw.
    inner = world.process(second)

    def overtaken(call: Call) -> None:
        if _saves_applied(call):
            world.watched.before = lambda call: None
            reconcile(inner, world.engine, ORDERS)

    world.watched.before = overtaken
    reconcile(world.process(first), world.engine, ORDERS)
    reported = [
        {o.identity for o in one.operations if o.name is OperationName.SNAPSHOTTING}
        for one in (first, second)
    ]
    assert reported[0] == reported[1]
    assert len(reported[0]) == 1


def test_a_problem_fails_its_table_once_and_names_file_and_remedy(
    world: Emitter, heard: Heard
) -> None:
    world.land(ORDERS, 1)
    world.run(world.process(heard))
    bad = join(layout.table_folder(ORDERS), f"{2:020d}.parquet")
    world.store.write(bad, b"this is no Parquet file")
    for _ in range(3):
        world.run(world.process(heard))
    assert heard.names == [*FIRST_INCARNATION, "FailTable"]
    error = heard.operations[-1].error
    assert error is not None
    assert (error.type, error.code) == (ErrorType.USER, "FileUnreadable")
    assert f"{2:020d}.parquet" in error.message
    assert "Replace the file" in error.message
    world.store.write(bad, b"another file that is none")
    world.run(world.process(heard))
    assert heard.names.count("FailTable") == 2


def test_a_problem_that_comes_again_after_a_retry_is_reported_again(
    world: Emitter, heard: Heard
) -> None:
    def breaking(batch: object) -> None:
        raise OSError("no space left on device")

    world.reading = breaking
    world.land(ORDERS, 1)
    for _ in range(2):
        for _ in range(4):
            reconcile(world.process(heard), world.engine, ORDERS)
            world.clock.turn(timedelta(minutes=1))
        retry(world.process(), ORDERS, ANN)
    failed = [o for o in heard.operations if o.name is OperationName.FAIL_TABLE]
    assert len({o.identity for o in failed}) == 2
    assert all(o.error and o.error.type is ErrorType.SYSTEM for o in failed)


def test_a_reseed_begins_with_an_operation_of_its_own(world: Emitter, heard: Heard) -> None:
    world.land(ORDERS, 1)
    world.run(world.process())
    reseed(world.process(), ORDERS, ANN)
    world.run(world.process(heard))
    assert heard.names == ["StartReseeding", "Snapshotting", "StartReplicating"]


def test_a_reseed_that_was_decided_and_not_done_is_still_a_reseed(world: Emitter) -> None:
    world.land(ORDERS, 1)
    world.run(world.process())
    reseed(world.process(), ORDERS, ANN)
    first, second = Heard(), Heard()
    with pytest.raises(Killed):
        world.run(replace(world.process(first), steps=dies_at(Step.DECIDED)))
    world.run(world.process(second))
    assert first.names == ["StartReseeding"]
    assert second.names == ["StartReseeding", "Snapshotting", "StartReplicating"]
    assert first.operations[0].identity == second.operations[0].identity


def test_each_hold_stops_the_table_once_whoever_wrote_it(world: Emitter, heard: Heard) -> None:
    world.land(ORDERS, 1)
    world.run(world.process())
    for _ in range(2):
        hold(world.process(), ORDERS, ANN)
        world.run(world.process(heard))
        world.run(world.process(heard))
        resume(world.process(), ORDERS, ANN)
        world.clock.turn(timedelta(seconds=1))
    assert heard.names == ["StopTable", "StopTable"]


def test_a_drop_removes_the_table_and_undrop_stops_it(world: Emitter, heard: Heard) -> None:
    world.land(ORDERS, 1)
    world.run(world.process())
    world.store.delete_folder(layout.table_folder(ORDERS))
    world.run(world.process(heard))
    world.clock.turn(timedelta(minutes=2))
    world.run(world.process(heard))
    assert heard.names == ["RemoveTable"]
    undrop(world.process(), ORDERS, ANN)
    world.run(world.process(heard))
    assert heard.names == ["RemoveTable", "StopTable"]


def test_a_status_pass_reports_how_every_table_stands(world: Emitter, heard: Heard) -> None:
    world.land(ORDERS, 1)
    world.land(ORDERS, 3)
    world.land(ITEMS, 1)
    world.run(world.process(), ORDERS, ITEMS)
    hold(world.process(), ITEMS, ANN)
    world.clock.turn(timedelta(seconds=90))
    world.run(world.process(heard), ORDERS, ITEMS)
    report_statuses = {one.folder: one for one in heard.standings["m"]}
    orders, items = report_statuses[ORDERS], report_statuses[ITEMS]
    assert str(orders.table) == "Sales.Orders"
    assert (orders.health, orders.pending_files) == (Health.WARNING, 1)
    assert orders.oldest_pending_seconds == pytest.approx(90)
    assert (items.health, items.pending_files) == (Health.STOPPED, 0)


def test_a_table_that_a_stream_lands_no_further_is_reported_with_a_warning(
    world: Emitter, heard: Heard
) -> None:
    stop = StopReason(StopCode.EVENTS_LOST, "half a change is lost", "Take a new snapshot.")
    nowhere = TableFolder("m", TablePath("Sales", "Never"))
    stopped = {folder.path: StoppedTable(Offset(7), stop) for folder in (ORDERS, nowhere)}
    document = StreamDocument(identity=StreamIdentity("0" * 32), stopped=stopped)
    zone = layout.landing_zone("m")
    world.land(ORDERS, 1)
    world.land(ITEMS, 1)
    world.store.write(layout.join(zone, "_streams", "shop.json"), document.as_json())
    world.run(world.process(heard), ORDERS, ITEMS)
    found = {one.folder: one for one in heard.standings["m"]}
    assert found[ORDERS].health is Health.WARNING
    assert "EventsLost" in found[ORDERS].warnings[0]
    assert found[ORDERS].warnings[0].startswith("StreamTableStopped")
    assert found[ITEMS].health is Health.RUNNING
    # Nothing of it has landed, so that it is in no list but this one.
    assert found[nowhere].error_code == "StreamTableStopped"


def test_who_only_reads_status_reports_nothing(world: Emitter, heard: Heard) -> None:
    from openmirror.operate.report import statuses

    world.land(ORDERS, 1)
    world.run(world.process())
    hold(world.process(), ORDERS, ANN)
    statuses(world.process(heard), ["m"])
    assert heard.operations == []
    assert heard.standings == {}


def test_an_epoch_that_continues_reports_no_commit_a_second_time(
    world: Emitter, heard: Heard
) -> None:
    world.land(ORDERS, 1)
    world.run(world.process())
    adopt(world.process(), ORDERS, ANN)
    world.run(world.process(heard))
    assert heard.names == ["StartReplicating"]
    world.land(ORDERS, 2)
    world.run(world.process(heard))
    assert heard.names == ["StartReplicating", "Replicating"]


def test_a_commit_before_a_continue_is_reported_when_nobody_had(
    world: Emitter, heard: Heard
) -> None:
    world.land(ORDERS, 1)
    world.run(world.process())
    world.land(ORDERS, 2)
    with pytest.raises(Killed):
        world.run(replace(world.process(), steps=dies_at(Step.COMMITTED)))
    adopt(world.process(), ORDERS, ANN)
    world.run(world.process(heard))
    assert heard.names == ["Replicating", "StartReplicating"]
    assert heard.operations[0].last == 2


def test_a_log_that_lost_its_document_repeats_the_identity_of_its_newest_commit(
    world: Emitter,
) -> None:
    world.land(ORDERS, 1)
    first, second = Heard(), Heard()
    world.run(world.process(first))
    world.store.delete_file(layout.control_document(ORDERS))
    world.run(world.process(second))
    known = {o.identity for o in first.operations}
    assert [o.last for o in second.operations if o.identity in known and o.rows] == [1]
    # What was decided last is lost with the document, so nothing is added to its epoch.
    assert [o.name for o in second.operations if o.identity not in known] == [
        OperationName.START_REPLICATING
    ]


def test_a_dead_letter_is_reported_once_it_is_kept_and_again_by_who_finds_it_again(
    heard: Heard,
) -> None:
    dead_letters, at = MemoryDeadLetters(), datetime(2026, 11, 21, tzinfo=UTC)
    first = keep_event(dead_letters, read_events, "id-1", b"no event", at, heard)
    second = keep_work_item(dead_letters, "id-2", b"no work item", at, heard)
    keep_work_item(dead_letters, "id-2", b"no work item", at, heard)
    assert heard.dead_letters == [first, second, second]
    dead = MemoryUndeliveredEvents()
    dead.blobs["topic/1.json"] = b'[{"deadLetterReason": "MaxDeliveryAttemptsExceeded"}]'
    (third,) = collect(dead_letters, dead, at, heard)
    assert heard.dead_letters[3:] == [third]


def test_how_many_dead_letters_wait_is_reported_for_every_source_and_0_as_well(
    heard: Heard,
) -> None:
    dead_letters, at = MemoryDeadLetters(), datetime(2026, 11, 21, tzinfo=UTC)
    count(dead_letters, heard)
    for number in range(2):
        keep_work_item(dead_letters, f"id-{number}", b"no work item", at)
    count(dead_letters, heard)
    assert heard.waiting == [
        {"landing-events": 0, "table-work": 0, "event-grid": 0},
        {"landing-events": 0, "table-work": 2, "event-grid": 0},
    ]
