"""The Function App's sweep: alone on a root, measured, and taken over by events when it stops."""

from __future__ import annotations

from datetime import timedelta

import pytest

from openmirror.errors import Unavailable
from openmirror.ports import Lease
from openmirror.progress.runner import PeriodicTaskFailed
from openmirror.reconcile.liveness import (
    EventsRecord,
    EventsTaken,
    SweptBy,
    read_events,
    read_sweep,
)
from openmirror.runtime.sweeper import STALE
from openmirror.table import layout
from tests.harness.sweeping import TICK, SweptWorld


@pytest.fixture
def world() -> SweptWorld:
    return SweptWorld("A", "B")


def test_only_one_sweeps_at_a_time(world: SweptWorld) -> None:
    other, meanwhile = world.started(), []
    world.watched.on_observation = lambda: meanwhile.append(other.sweep(SweptBy.EVENT))
    world.pass_over()
    assert meanwhile
    assert set(meanwhile) == {None}
    world.watched.on_observation = lambda: None
    assert other.sweep(SweptBy.EVENT) is not None


def test_a_sweep_that_takes_longer_than_the_time_between_two_is_noticed(world: SweptWorld) -> None:
    assert not world.pass_over().overran
    world.app = world.started()
    world.watched.on_observation = lambda: world.clock.turn(timedelta(seconds=20))
    done = world.pass_over()
    assert done.overran
    assert done.took > TICK
    record = read_sweep(world.store)
    assert record is not None
    assert record.seconds == done.took.total_seconds()


def test_the_record_of_a_sweep_is_written_once_a_minute_unless_something_changes(
    world: SweptWorld,
) -> None:
    written = []
    for _ in range(8):
        world.pass_over()
        written.append(world.store.read(layout.sweep_record()).etag)
    assert len(set(written)) == 4


def test_an_event_sweeps_when_no_sweep_has_ended_for_two_minutes(world: SweptWorld) -> None:
    world.pass_over()
    timer = world.clock()
    landing = world.started()
    world.clock.turn(STALE)
    assert landing.sweep_if_stale() is None
    world.clock.turn(TICK)
    world.land(world.tables[0], 2)
    done = landing.sweep_if_stale()
    assert done is not None
    assert done.swept.woken == [world.tables[0]]
    record = read_sweep(world.store)
    assert record is not None
    assert (record.by, record.timer, record.ended) == (SweptBy.EVENT, timer, world.clock())
    # So the next events do not.
    assert world.started().sweep_if_stale() is None


def test_the_first_event_of_all_sweeps_when_nobody_did(world: SweptWorld) -> None:
    assert world.app.sweep_if_stale() is not None


def test_many_events_ask_only_once_in_a_while_whether_the_sweep_stands_still(
    world: SweptWorld,
) -> None:
    world.pass_over()
    landing = world.started()
    world.watched.calls.clear()
    for _ in range(50):
        landing.sweep_if_stale()
    assert world.watched.asked("read") == [layout.sweep_record()]


def test_an_event_that_was_handled_does_not_fail_because_the_sweep_does(world: SweptWorld) -> None:
    world.store.delete_folder(layout.LANDING)
    assert world.app.sweep_if_stale() is None
    (failed,) = (one for one in world.reported if isinstance(one, PeriodicTaskFailed))
    assert "landing" in failed.reason


class _NoLeases:
    """A store of leases that is away."""

    def take(self, folder: object) -> Lease:
        raise Unavailable("no answer")

    def take_sweep(self) -> Lease:
        raise Unavailable("no answer")


def test_a_lease_that_cannot_be_had_stops_no_sweep(world: SweptWorld) -> None:
    world.leases = _NoLeases()
    world.app = world.started()
    assert world.pass_over().swept.observed == 2
    assert any(isinstance(one, PeriodicTaskFailed) for one in world.reported)


@pytest.mark.parametrize(
    "damaged", [b"", b"[]", b"{}", b'{"endedAt": 1, "seconds": 2, "by": "timer", "timerAt": null}']
)
def test_a_record_that_cannot_be_read_is_none(world: SweptWorld, damaged: bytes) -> None:
    world.store.put(layout.sweep_record(), damaged)
    world.store.put(layout.events_record(), damaged)
    assert read_sweep(world.store) is None
    assert read_events(world.store) == EventsRecord()


def test_events_are_written_down_at_most_once_a_minute(world: SweptWorld) -> None:
    taken, written = EventsTaken(world.store, world.ports.clock), []
    for _ in range(13):
        taken.note()
        written.append(read_events(world.store).taken)
        world.clock.turn(timedelta(seconds=10))
    assert len(set(written)) == 3
