"""What telemetry is told of a mirror: every operation at least once, under one identity."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from openmirror import layout
from openmirror.adapters.eventgrid import read_events
from openmirror.adapters.memory_letters import MemoryDeadLetters, MemoryLetters
from openmirror.errors import ConditionFailed
from openmirror.layout import StorePath, join
from openmirror.ports import Step
from openmirror.services.letters import collect, count, keep_event, keep_ring
from openmirror.services.requests import Operator, adopt, hold, reseed, resume, retry, undrop
from openmirror.services.visiting import settle, visit
from openmirror.statusevent import Health
from openmirror.tableoperation import ErrorType, OperationName
from tests.telemetry.rig import ITEMS, ORDERS, Heard, Killed, World, dies_at
from tests.unit.paper import PaperEngine

ANN = Operator("ann", "for the test")
FIRST_LIFE = ["AddTable", "StartSnapshotting", "Snapshotting", "StartReplicating"]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def heard() -> Heard:
    return Heard()


def _is_control(path: StorePath) -> bool:
    return path == layout.control_document(ORDERS)


def test_a_table_is_added_snapshotted_and_then_replicated(world: World, heard: Heard) -> None:
    world.land(ORDERS, 1)
    world.run(world.parts(heard))
    assert heard.names == FIRST_LIFE
    world.land(ORDERS, 2)
    world.run(world.parts(heard))
    assert heard.names == [*FIRST_LIFE, "Replicating"]
    commit = heard.operations[-1]
    assert (commit.first, commit.last, commit.processed_rows) == (2, 2, 2)
    assert commit.bytes > 0
    assert commit.started_at <= world.now


def test_new_columns_are_an_operation_of_their_own(world: World, heard: Heard) -> None:
    world.land(ORDERS, 1)
    world.run(world.parts(heard))
    world.land(ORDERS, 2, id=[3], note=["new"])
    world.run(world.parts(heard))
    assert heard.names == [*FIRST_LIFE, "ReplicatingSchema", "Replicating"]


def test_looking_again_tells_nothing(world: World, heard: Heard) -> None:
    world.land(ORDERS, 1)
    world.run(world.parts(heard))
    told = len(heard.operations)
    world.run(world.parts(heard))
    assert len(heard.operations) == told


def test_a_commit_that_was_not_told_of_is_told_by_the_next_process(world: World) -> None:
    world.land(ORDERS, 1)
    world.run(world.parts(Heard()))
    world.land(ORDERS, 2)
    first, second = Heard(), Heard()
    dying = replace(world.parts(first), steps=dies_at(Step.COMMITTED))
    with pytest.raises(Killed):
        settle(dying, PaperEngine(world.store), ORDERS)
    assert first.names == []
    world.run(world.parts(second))
    assert second.names == ["Replicating"]


def test_a_crash_before_the_save_tells_the_same_operation_again(world: World) -> None:
    world.land(ORDERS, 1)
    first, second = Heard(), Heard()

    def dying(path: StorePath, data: bytes) -> None:
        if _is_control(path) and b'"applied"' in data:
            raise Killed(path)

    world.store.writing = dying
    with pytest.raises(Killed):
        world.run(world.parts(first))
    world.store.writing = lambda path, data: None
    world.run(world.parts(second))
    of = {o.name: o.identity for o in first.operations}
    again = {o.name: o.identity for o in second.operations}
    assert again == {
        name: of[name] for name in (OperationName.SNAPSHOTTING, OperationName.START_REPLICATING)
    }


def test_a_lost_race_repeats_the_identity_and_no_other(world: World, heard: Heard) -> None:
    world.land(ORDERS, 1)
    lost = iter([True])

    def racing(path: StorePath, data: bytes) -> None:
        if _is_control(path) and b'"applied"' in data and next(lost, False):
            raise ConditionFailed(path)

    world.store.writing = racing
    world.run(world.parts(heard))
    names = [operation.name.value for operation in heard.operations]
    assert names.count("Snapshotting") == 2
    assert heard.names == FIRST_LIFE


def test_two_runners_tell_of_one_commit_under_one_identity(world: World) -> None:
    world.land(ORDERS, 1)
    first, second = Heard(), Heard()
    visit(world.parts(first), PaperEngine(world.store), ORDERS)
    # Both look before either has saved what it saw.
    inner = world.parts(second)

    def overtaken(path: StorePath, data: bytes) -> None:
        if _is_control(path) and b'"applied"' in data:
            world.store.writing = lambda path, data: None
            visit(inner, PaperEngine(world.store), ORDERS)

    world.store.writing = overtaken
    visit(world.parts(first), PaperEngine(world.store), ORDERS)
    told = [
        {o.identity for o in one.operations if o.name is OperationName.SNAPSHOTTING}
        for one in (first, second)
    ]
    assert told[0] == told[1]
    assert len(told[0]) == 1


def test_a_problem_fails_its_table_once_and_names_file_and_remedy(
    world: World, heard: Heard
) -> None:
    world.land(ORDERS, 1)
    world.run(world.parts(heard))
    bad = join(layout.table_folder(ORDERS), f"{2:020d}.parquet")
    world.store.write(bad, b"this is no Parquet file")
    for _ in range(3):
        world.run(world.parts(heard))
    assert heard.names == [*FIRST_LIFE, "FailTable"]
    error = heard.operations[-1].error
    assert error is not None
    assert (error.type, error.code) == (ErrorType.USER, "FileUnreadable")
    assert f"{2:020d}.parquet" in error.message
    assert "Replace the file" in error.message
    world.store.write(bad, b"another file that is none")
    world.run(world.parts(heard))
    assert heard.names.count("FailTable") == 2


def test_a_problem_that_comes_again_after_a_retry_is_told_again(world: World, heard: Heard) -> None:
    def breaking(batch: object) -> None:
        raise OSError("no space left on device")

    engine = PaperEngine(world.store, breaking)
    world.land(ORDERS, 1)
    for _ in range(2):
        for _ in range(4):
            visit(world.parts(heard), engine, ORDERS)
            world.now += timedelta(minutes=1)
        retry(world.parts(), ORDERS, ANN)
    failed = [o for o in heard.operations if o.name is OperationName.FAIL_TABLE]
    assert len({o.identity for o in failed}) == 2
    assert all(o.error and o.error.type is ErrorType.SYSTEM for o in failed)


def test_a_reseed_begins_with_an_operation_of_its_own(world: World, heard: Heard) -> None:
    world.land(ORDERS, 1)
    world.run(world.parts())
    reseed(world.parts(), ORDERS, ANN)
    world.run(world.parts(heard))
    assert heard.names == ["StartReseeding", "Snapshotting", "StartReplicating"]


def test_a_reseed_that_was_decided_and_not_done_is_still_a_reseed(world: World) -> None:
    world.land(ORDERS, 1)
    world.run(world.parts())
    reseed(world.parts(), ORDERS, ANN)
    first, second = Heard(), Heard()
    with pytest.raises(Killed):
        world.run(replace(world.parts(first), steps=dies_at(Step.DECIDED)))
    world.run(world.parts(second))
    assert first.names == ["StartReseeding"]
    assert second.names == ["StartReseeding", "Snapshotting", "StartReplicating"]
    assert first.operations[0].identity == second.operations[0].identity


def test_each_hold_stops_the_table_once_whoever_wrote_it(world: World, heard: Heard) -> None:
    world.land(ORDERS, 1)
    world.run(world.parts())
    for _ in range(2):
        hold(world.parts(), ORDERS, ANN)
        world.run(world.parts(heard))
        world.run(world.parts(heard))
        resume(world.parts(), ORDERS, ANN)
        world.now += timedelta(seconds=1)
    assert heard.names == ["StopTable", "StopTable"]


def test_a_drop_removes_the_table_and_undrop_stops_it(world: World, heard: Heard) -> None:
    world.land(ORDERS, 1)
    world.run(world.parts())
    world.store.delete_folder(layout.table_folder(ORDERS))
    world.run(world.parts(heard))
    world.now += timedelta(minutes=2)
    world.run(world.parts(heard))
    assert heard.names == ["RemoveTable"]
    undrop(world.parts(), ORDERS, ANN)
    world.run(world.parts(heard))
    assert heard.names == ["RemoveTable", "StopTable"]


def test_a_status_pass_tells_how_every_table_stands(world: World, heard: Heard) -> None:
    world.land(ORDERS, 1)
    world.land(ORDERS, 3)
    world.land(ITEMS, 1)
    world.run(world.parts(), ORDERS, ITEMS)
    hold(world.parts(), ITEMS, ANN)
    world.now += timedelta(seconds=90)
    world.run(world.parts(heard), ORDERS, ITEMS)
    stand = {one.folder: one for one in heard.standings["m"]}
    orders, items = stand[ORDERS], stand[ITEMS]
    assert str(orders.table) == "Sales.Orders"
    assert (orders.health, orders.pending_files) == (Health.WARNING, 1)
    assert orders.oldest_pending_seconds == pytest.approx(90)
    assert (items.health, items.pending_files) == (Health.STOPPED, 0)


def test_who_only_reads_status_tells_nothing(world: World, heard: Heard) -> None:
    from openmirror.services.reporting import statuses

    world.land(ORDERS, 1)
    world.run(world.parts())
    hold(world.parts(), ORDERS, ANN)
    statuses(world.parts(heard), ["m"])
    assert heard.operations == []
    assert heard.standings == {}


def test_an_epoch_that_continues_tells_no_commit_a_second_time(world: World, heard: Heard) -> None:
    world.land(ORDERS, 1)
    world.run(world.parts())
    adopt(world.parts(), ORDERS, ANN)
    world.run(world.parts(heard))
    assert heard.names == ["StartReplicating"]
    world.land(ORDERS, 2)
    world.run(world.parts(heard))
    assert heard.names == ["StartReplicating", "Replicating"]


def test_a_commit_before_a_continue_is_told_when_nobody_had(world: World, heard: Heard) -> None:
    world.land(ORDERS, 1)
    world.run(world.parts())
    world.land(ORDERS, 2)
    with pytest.raises(Killed):
        world.run(replace(world.parts(), steps=dies_at(Step.COMMITTED)))
    adopt(world.parts(), ORDERS, ANN)
    world.run(world.parts(heard))
    assert heard.names == ["Replicating", "StartReplicating"]
    assert heard.operations[0].last == 2


def test_a_log_that_lost_its_document_repeats_the_identity_of_its_newest_commit(
    world: World,
) -> None:
    world.land(ORDERS, 1)
    first, second = Heard(), Heard()
    world.run(world.parts(first))
    world.store.delete_file(layout.control_document(ORDERS))
    world.run(world.parts(second))
    known = {o.identity for o in first.operations}
    assert [o.last for o in second.operations if o.identity in known and o.rows] == [1]
    # What was decided last is lost with the document, so nothing is added to its epoch.
    assert [o.name for o in second.operations if o.identity not in known] == [
        OperationName.START_REPLICATING
    ]


def test_a_letter_is_told_once_it_is_kept_and_again_by_who_finds_it_again(heard: Heard) -> None:
    letters, at = MemoryLetters(), datetime(2026, 11, 21, tzinfo=UTC)
    first = keep_event(letters, read_events, "id-1", b"no event", at, heard)
    second = keep_ring(letters, "id-2", b"no doorbell", at, heard)
    keep_ring(letters, "id-2", b"no doorbell", at, heard)
    assert heard.letters == [first, second, second]
    dead = MemoryDeadLetters()
    dead.blobs["topic/1.json"] = b'[{"deadLetterReason": "MaxDeliveryAttemptsExceeded"}]'
    (third,) = collect(letters, dead, at, heard)
    assert heard.letters[3:] == [third]


def test_how_many_letters_wait_is_told_for_every_source_and_0_as_well(heard: Heard) -> None:
    letters, at = MemoryLetters(), datetime(2026, 11, 21, tzinfo=UTC)
    count(letters, heard)
    for number in range(2):
        keep_ring(letters, f"id-{number}", b"no doorbell", at)
    count(letters, heard)
    assert heard.waiting == [
        {"landing-events": 0, "table-work": 0, "event-grid": 0},
        {"landing-events": 0, "table-work": 2, "event-grid": 0},
    ]
