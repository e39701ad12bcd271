"""Delimited text is read a few quiet seconds after its last write: not before, and hardly after."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from openmirror.ingress.event_filter import Ignored, Woken, filter_event
from openmirror.plan import Limits
from openmirror.plan.decisions import Pause, Replace, Wait, WaitKind
from openmirror.ports import WorkItem
from openmirror.ports.landing_events import EventKind, LandingEvent
from openmirror.progress.tables import TableWaiting
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.names import ETag
from openmirror.runtime.draining import drain
from openmirror.runtime.isolation import Reconciler
from openmirror.runtime.runner import Runner, RunnerTiming
from openmirror.runtime.sweeping import sweep
from openmirror.runtime.workers import WorkerPool
from openmirror.stores.memory.work import MemoryLeases, MemoryWorkQueue
from openmirror.table import layout
from openmirror.table.layout import StorePath, join
from tests.harness.clock import START, Clock
from tests.harness.publishing import file_name, table
from tests.harness.world import World

T = table("m", "T")
PLACE = layout.table_folder(T)
FIRST = file_name(1, "csv")
PATIENCE = 20.0
BRIEF = timedelta(seconds=0.5)


class TextTable(World):
    """One table of text in memory; the clock stands still unless it `runs`."""

    def __init__(
        self, quiet_period: timedelta = timedelta(seconds=5), *, runs: bool = False
    ) -> None:
        limits = Limits(metadata_grace=timedelta(0), quiet_period=quiet_period)
        super().__init__(limits, Clock(None if runs else START))
        self.write("_metadata.json", json.dumps({"FileFormat": "CSV"}))

    def write(self, name: str, content: str) -> ETag:
        return self.put(T, name, content.encode())

    def settings(self, **ours: object) -> None:
        target = {"type": "MountedRelationalDatabase", "typeProperties": {"format": "Delta"}}
        document = {
            "properties": {"source": {"type": "GenericMirror"}, "target": target},
            "openmirror": ours,
        }
        self.store.put(StorePath(layout.mirror_settings("m")), json.dumps(document).encode())

    def waited(self) -> list[str]:
        return [event.kind for event in self.reported if isinstance(event, TableWaiting)]


def test_a_new_text_file_waits_until_it_was_left_alone_for_its_quiet_period() -> None:
    world = TextTable()
    world.write(FIRST, "a\n1\n")
    wait = world.decision(T)
    assert isinstance(wait, Wait)
    assert wait.waiting.kind is WaitKind.QUIET_PERIOD
    assert wait.waiting.sequence == 1
    assert wait.waiting.until == world.clock() + timedelta(seconds=5)
    world.clock.turn(timedelta(seconds=4.999))
    assert isinstance(world.decision(T), Wait)
    world.clock.turn(timedelta(seconds=0.001))
    assert isinstance(world.decision(T), Replace)


def test_a_file_that_is_written_again_begins_a_new_quiet_period() -> None:
    world = TextTable()
    world.write(FIRST, "a\n1\n")
    world.clock.turn(timedelta(seconds=4))
    world.write(FIRST, "a\n1\n2\n")
    world.clock.turn(timedelta(seconds=4))
    assert isinstance(world.decision(T), Wait)
    world.clock.turn(timedelta(seconds=1))
    assert isinstance(world.decision(T), Replace)


def test_half_a_file_is_no_problem_before_its_quiet_period_ends() -> None:
    world = TextTable()
    world.write(FIRST, 'a,"b')
    assert isinstance(world.decision(T), Wait)
    world.write(FIRST, "a,a")
    assert isinstance(world.decision(T), Wait)
    world.write(FIRST, "\0\1\2")
    assert isinstance(world.decision(T), Wait)
    world.clock.turn(timedelta(seconds=5))
    assert isinstance(world.decision(T), Pause)


def test_an_empty_text_file_is_incomplete_and_has_no_quiet_period() -> None:
    world = TextTable()
    world.write(FIRST, "")
    world.clock.turn(timedelta(seconds=60))
    wait = world.decision(T)
    assert isinstance(wait, Wait)
    assert wait.waiting.kind is WaitKind.INCOMPLETE


def test_files_whose_quiet_period_is_over_are_applied_before_one_whose_is_not() -> None:
    world = TextTable()
    world.write(FIRST, "a\n1\n")
    world.clock.turn(timedelta(seconds=5))
    world.write(file_name(2, "csv"), "a\n2\n")
    decision = world.decision(T)
    assert isinstance(decision, Replace)
    assert [file.name for file in decision.batch.files] == [FIRST]


def test_the_quiet_period_of_the_table_wins_over_that_of_the_run() -> None:
    world = TextTable()
    world.settings(quietPeriod="0s")
    world.write(FIRST, "a\n1\n")
    assert isinstance(world.decision(T), Replace)


def test_parquet_says_itself_that_it_is_complete_and_has_no_quiet_period() -> None:
    world = TextTable()
    world.write("_metadata.json", "{}")
    world.land(T, 1)
    assert isinstance(world.decision(T), Replace)


def test_the_event_filter_and_the_sweep_wake_for_a_file_in_its_quiet_period() -> None:
    world = TextTable()
    etag = world.write(FIRST, "a\n1\n")
    path = join(PLACE, FIRST)
    event = LandingEvent(identity="e-1", kind=EventKind.FILE_WRITTEN, path=path, size=4, etag=etag)
    assert filter_event(world.ports, event) == Woken((T,))
    workers = WorkerPool(lambda folder: None, 1)
    try:
        assert sweep(world.ports, ["m"], workers).woken == [T]
    finally:
        workers.stop(1)


def test_nobody_is_kept_or_started_for_text_with_a_long_quiet_period() -> None:
    world = TextTable()
    world.settings(quietPeriod="10m")
    etag = world.write(FIRST, "a\n1\n")
    path = join(PLACE, FIRST)
    event = LandingEvent(identity="e-1", kind=EventKind.FILE_WRITTEN, path=path, size=4, etag=etag)
    answer = filter_event(world.ports, event)
    assert isinstance(answer, Ignored), answer
    done = drain(world.ports, world.engine, ["m"], workers=1)
    assert [type(outcome) for outcome in done.stopped.values()] == [Wait]
    workers = WorkerPool(lambda folder: None, 1)
    try:
        assert sweep(world.ports, ["m"], workers).woken == []
        world.clock.turn(timedelta(minutes=10))
        assert sweep(world.ports, ["m"], workers).woken == [T]
    finally:
        workers.stop(1)


def _until(done: object) -> float:
    """How long it took."""
    begun = time.monotonic()
    while not done():  # type: ignore[operator]
        assert time.monotonic() - begun < PATIENCE, "it never came to that"
        threading.Event().wait(0.005)
    return time.monotonic() - begun


def test_a_drain_sits_out_a_quiet_period() -> None:
    world = TextTable(BRIEF, runs=True)
    world.write(FIRST, "a\n1\n")
    done = drain(world.ports, world.engine, ["m"], workers=1)
    assert not done.stopped
    assert world.applied(T) == 1
    assert set(world.waited()) == {"settle"}


def test_a_drain_leaves_a_file_that_grows_and_grows() -> None:
    world = TextTable(timedelta(seconds=60))
    world.write(FIRST, "a\n1\n")

    def write_on(event: ProgressEvent) -> None:
        if isinstance(event, TableWaiting):
            world.clock.turn(timedelta(seconds=59))
            world.write(FIRST, "a\n" + "1\n" * len(world.reported))
        world.reported.append(event)

    ports = replace(world.ports, emit=write_on)
    done = drain(ports, world.engine, ["m"], workers=1)
    assert [type(outcome) for outcome in done.stopped.values()] == [Wait]
    assert world.waited() == ["settle"] * 3


@pytest.mark.parametrize("count", [1, 3])
def test_a_process_that_stays_applies_each_file_once_its_quiet_period_is_over(count: int) -> None:
    world = TextTable(BRIEF, runs=True)
    workers = WorkerPool(Reconciler(world.ports, world.engine), 1)
    try:
        for number in range(1, count + 1):
            world.write(file_name(number, "csv"), "a\n1\n")
            workers.wake(T)
            _until(lambda number=number: world.applied(T) == number)
    finally:
        workers.stop(5)


@pytest.mark.parametrize(("quiet_period", "applied"), [("1s", 1), ("90s", 0)])
def test_a_runner_that_would_be_idle_stays_for_a_short_quiet_period(
    quiet_period: str, applied: int
) -> None:
    world = TextTable(runs=True)
    world.settings(quietPeriod=quiet_period)
    queue = MemoryWorkQueue(world.clock)
    never = timedelta(hours=1)
    brisk = RunnerTiming(
        idle=timedelta(milliseconds=50),
        poll=timedelta(milliseconds=5),
        keep=timedelta(milliseconds=50),
        lease_delay=timedelta(milliseconds=20),
        sweep=never,
        status=never,
        slowest=timedelta(minutes=5),
        most_takes=5,
    )
    world.write(FIRST, "a\n1\n")
    queue.send(WorkItem(T, "a test", "c1"))
    leases = MemoryLeases(world.clock)
    working = Runner(world.ports, world.engine, queue, leases, lambda: ["m"], 1, brisk)
    try:
        begun = time.monotonic()
        while not working.is_idle():
            assert time.monotonic() - begun < PATIENCE
            working.serve(0.005)
    finally:
        working.stop()
    assert world.applied(T) == applied
