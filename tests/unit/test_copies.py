"""Copy Blob on a hierarchical account: its event comes when the copy begins, not at its end."""

from __future__ import annotations

from datetime import timedelta

import pytest

from openmirror.ingress.event_filter import Answer, Ignored, Woken, filter_event
from openmirror.operate.report import statuses
from openmirror.plan.decisions import WaitKind
from openmirror.ports.landing_events import EventKind, LandingEvent
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.liveness import EventsTaken, read_events
from openmirror.table import layout
from openmirror.table.layout import StorePath
from tests.harness.publishing import parquet
from tests.harness.sweeping import TICK, SweptWorld

TEXT = b'{"keyColumns": ["id"], "FileFormat": "DelimitedText", "FileExtension": "csv"}'


@pytest.fixture
def world() -> SweptWorld:
    return SweptWorld("A", "B")


def copy_begins(
    world: SweptWorld,
    folder: TableFolder,
    name: str = f"{2:020d}.parquet",
    data: bytes | None = None,
) -> LandingEvent:
    """The store shows the whole length, and all bytes, before any of them may be believed."""
    world.put(folder, name, parquet() if data is None else data)
    path = layout.join(layout.table_folder(folder), name)
    world.watched.copied.add(path)
    return LandingEvent(identity="e", kind=EventKind.FILE_WRITTEN, path=path, api="CopyBlob")


def copy_ends(world: SweptWorld) -> None:
    for path in world.watched.copied:
        world.store.put(path, world.store.read(path).data)
    world.watched.copied.clear()


def taken(world: SweptWorld, event: LandingEvent) -> Answer:
    """What the function `landing` does with an event."""
    answer = filter_event(world.ports, event)
    waiting = [answer.watch] if isinstance(answer, Ignored) and answer.watch else []
    EventsTaken(world.store, world.ports.clock).note(waiting)
    return answer


@pytest.mark.parametrize("data", [None, b"", b"PAR1 half of it"])
def test_a_file_that_is_being_copied_is_neither_read_nor_a_problem(
    world: SweptWorld, data: bytes | None
) -> None:
    a, _ = world.tables
    event = copy_begins(world, a, data=data)
    assert taken(world, event) == Ignored("the file is still being copied", watch=a)
    assert a not in world.pass_over().swept.woken
    world.reconcile_until_idle(a)
    status = next(one for one in statuses(world.ports, ["m"]) if one.folder == a)
    assert status.problem is None
    assert status.waiting_for is not None
    assert status.waiting_for.waiting.kind is WaitKind.INCOMPLETE
    assert "still being copied" in status.waiting_for.waiting.detail


def test_text_that_is_being_copied_waits_longer_than_its_quiet_period(world: SweptWorld) -> None:
    a, _ = world.tables
    world.store.delete_folder(layout.table_folder(a))
    world.put(a, "_metadata.json", TEXT)
    event = copy_begins(world, a, f"{1:020d}.csv", b"id\n1\n")
    assert taken(world, event) == Ignored("the file is still being copied", watch=a)
    world.clock.turn(timedelta(minutes=2))
    world.reconcile_until_idle(a)
    status = next(one for one in statuses(world.ports, ["m"]) if one.folder == a)
    assert status.waiting_for is not None
    assert "still being copied" in status.waiting_for.waiting.detail


def test_metadata_that_is_being_copied_is_not_there_yet(world: SweptWorld) -> None:
    a, _ = world.tables
    copy_begins(world, a, "_metadata.json", b'{"keyColumns": [')
    world.land(a, 2)
    world.reconcile_until_idle(a)
    status = next(one for one in statuses(world.ports, ["m"]) if one.folder == a)
    assert status.problem is None


@pytest.mark.parametrize("lasts", [1, 4, 15])
def test_the_sweep_finds_the_end_of_a_copy_in_its_next_pass_however_long_the_table_has_rested(
    world: SweptWorld, lasts: int
) -> None:
    a, _ = world.tables
    world.passes(timedelta(hours=1))
    assert taken(world, copy_begins(world, a)) == Ignored("the file is still being copied", watch=a)
    for _ in range(lasts):
        assert a not in world.pass_over().swept.woken
    copy_ends(world)
    assert a in world.pass_over().swept.woken
    assert world.app.sweep_if_stale() is None


def test_a_copy_that_has_ended_wakes_as_any_file_does(world: SweptWorld) -> None:
    a, _ = world.tables
    event = copy_begins(world, a)
    copy_ends(world)
    assert taken(world, event) == Woken((a,))


def test_tables_with_copies_are_remembered_side_by_side_and_forgotten_in_time(
    world: SweptWorld,
) -> None:
    a, b = world.tables
    note = EventsTaken(world.store, world.ports.clock).note
    note([a])
    world.clock.turn(TICK)
    note([b])
    assert set(read_events(world.store).watched) == {a, b}
    world.clock.turn(timedelta(minutes=10))
    note()
    assert read_events(world.store).watched == {}


def test_a_copy_of_what_is_gone_again_is_no_error(world: SweptWorld) -> None:
    a, _ = world.tables
    event = copy_begins(world, a)
    world.store.delete_file(StorePath(event.path))
    assert taken(world, event) == Ignored(f"{2:020d}.parquet is not there any more")
