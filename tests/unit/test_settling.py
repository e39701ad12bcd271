"""Delimited text is read a few quiet seconds after its last write: not before, and hardly after."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from openmirror import layout
from openmirror.adapters.changefiles import ChangeFileInspector
from openmirror.adapters.deltalog import LogReplay
from openmirror.adapters.memory import MemoryStore
from openmirror.adapters.memory_work import MemoryLeases, MemoryWorkQueue
from openmirror.events import EventKind, LandingEvent
from openmirror.layout import StorePath, join
from openmirror.plan import Limits, plan
from openmirror.plan.decisions import Pause, Reset, Wait, WaitKind
from openmirror.ports import Ring
from openmirror.progress import ProgressEvent, TableWaiting
from openmirror.protocol.names import ETag
from openmirror.services.door import Ignored, Rung, judge
from openmirror.services.draining import drain
from openmirror.services.lanes import Lanes
from openmirror.services.looking import look_at
from openmirror.services.parts import Parts
from openmirror.services.running import Attendant
from openmirror.services.sweeping import sweep
from openmirror.services.working import Pace, Working
from openmirror.tablelog import TableLog
from tests.unit.paper import PaperEngine, land, table

T = table("m", "T")
PLACE = layout.table_folder(T)
FIRST = f"{1:020d}.csv"
PATIENCE = 20.0
BRIEF = timedelta(seconds=0.5)


class World:
    """One table of text in memory; the clock stands still unless it `runs`."""

    def __init__(self, settle: timedelta = timedelta(seconds=5), *, runs: bool = False) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.told: list[ProgressEvent] = []
        clock = (lambda: datetime.now(UTC)) if runs else (lambda: self.now)
        self.clock = clock
        self.store = MemoryStore(clock)
        self.engine = PaperEngine(self.store)
        self.parts = Parts(
            store=self.store,
            inspector=ChangeFileInspector(self.store),
            logs=LogReplay(self.store),
            clock=clock,
            limits=Limits(metadata_grace=timedelta(0), settle=settle),
            emit=self.told.append,
        )
        self.store.make_folder(layout.landing_zone("m"))
        self.put("_metadata.json", json.dumps({"FileFormat": "CSV"}))

    def put(self, name: str, content: str) -> ETag:
        return self.store.put(join(PLACE, name), content.encode())

    def decision(self) -> object:
        look = look_at(self.parts, T).look
        return plan(look, self.parts.limits, look.at)

    def settings(self, **ours: object) -> None:
        target = {"type": "MountedRelationalDatabase", "typeProperties": {"format": "Delta"}}
        document = {
            "properties": {"source": {"type": "GenericMirror"}, "target": target},
            "openmirror": ours,
        }
        self.store.put(StorePath(layout.mirror_settings("m")), json.dumps(document).encode())

    def applied(self) -> int:
        log = self.parts.logs.read(StorePath("lake/m/Tables/dbo/T"))
        return log.live[1] if isinstance(log, TableLog) and log.live else 0

    def waited(self) -> list[str]:
        return [event.kind for event in self.told if isinstance(event, TableWaiting)]


def test_a_new_text_file_waits_until_it_was_left_alone_for_settle() -> None:
    world = World()
    world.put(FIRST, "a\n1\n")
    wait = world.decision()
    assert isinstance(wait, Wait)
    assert wait.waiting.kind is WaitKind.SETTLE
    assert wait.waiting.sequence == 1
    assert wait.waiting.until == world.now + timedelta(seconds=5)
    world.now += timedelta(seconds=4.999)
    assert isinstance(world.decision(), Wait)
    world.now += timedelta(seconds=0.001)
    assert isinstance(world.decision(), Reset)


def test_a_file_that_is_written_again_settles_again() -> None:
    world = World()
    world.put(FIRST, "a\n1\n")
    world.now += timedelta(seconds=4)
    world.put(FIRST, "a\n1\n2\n")
    world.now += timedelta(seconds=4)
    assert isinstance(world.decision(), Wait)
    world.now += timedelta(seconds=1)
    assert isinstance(world.decision(), Reset)


def test_half_a_file_is_no_problem_before_it_has_settled() -> None:
    world = World()
    world.put(FIRST, 'a,"b')
    assert isinstance(world.decision(), Wait)
    world.put(FIRST, "a,a")
    assert isinstance(world.decision(), Wait)
    world.put(FIRST, "\0\1\2")
    assert isinstance(world.decision(), Wait)
    world.now += timedelta(seconds=5)
    assert isinstance(world.decision(), Pause)


def test_an_empty_text_file_is_incomplete_and_not_settling() -> None:
    world = World()
    world.put(FIRST, "")
    world.now += timedelta(seconds=60)
    wait = world.decision()
    assert isinstance(wait, Wait)
    assert wait.waiting.kind is WaitKind.INCOMPLETE


def test_files_that_have_settled_are_applied_before_one_that_has_not() -> None:
    world = World()
    world.put(FIRST, "a\n1\n")
    world.now += timedelta(seconds=5)
    world.put(f"{2:020d}.csv", "a\n2\n")
    decision = world.decision()
    assert isinstance(decision, Reset)
    assert [file.name for file in decision.batch.files] == [FIRST]


def test_settle_of_the_table_wins_over_that_of_the_run() -> None:
    world = World()
    world.settings(settle="0s")
    world.put(FIRST, "a\n1\n")
    assert isinstance(world.decision(), Reset)


def test_parquet_says_itself_that_it_is_complete_and_does_not_settle() -> None:
    world = World()
    world.put("_metadata.json", "{}")
    land(world.store, T, 1)
    assert isinstance(world.decision(), Reset)


def test_the_door_and_the_sweep_ring_for_a_file_that_settles() -> None:
    world = World()
    etag = world.put(FIRST, "a\n1\n")
    path = join(PLACE, FIRST)
    event = LandingEvent(identity="e-1", kind=EventKind.FILE_WRITTEN, path=path, size=4, etag=etag)
    assert judge(world.parts, event) == Rung((T,))
    lanes = Lanes(lambda folder: None, 1)
    try:
        assert sweep(world.parts, ["m"], lanes).rung == [T]
    finally:
        lanes.stop(1)


def test_nobody_is_kept_or_started_for_text_that_is_told_to_settle_for_long() -> None:
    world = World()
    world.settings(settle="10m")
    etag = world.put(FIRST, "a\n1\n")
    path = join(PLACE, FIRST)
    event = LandingEvent(identity="e-1", kind=EventKind.FILE_WRITTEN, path=path, size=4, etag=etag)
    answer = judge(world.parts, event)
    assert isinstance(answer, Ignored), answer
    done = drain(world.parts, world.engine, ["m"], lanes=1)
    assert [type(outcome) for outcome in done.stopped.values()] == [Wait]
    lanes = Lanes(lambda folder: None, 1)
    try:
        assert sweep(world.parts, ["m"], lanes).rung == []
        world.now += timedelta(minutes=10)
        assert sweep(world.parts, ["m"], lanes).rung == [T]
    finally:
        lanes.stop(1)


def _until(done: object) -> float:
    """How long it took."""
    begun = time.monotonic()
    while not done():  # type: ignore[operator]
        assert time.monotonic() - begun < PATIENCE, "it never came to that"
        threading.Event().wait(0.005)
    return time.monotonic() - begun


def test_a_drain_sits_out_what_settles() -> None:
    world = World(BRIEF, runs=True)
    world.put(FIRST, "a\n1\n")
    done = drain(world.parts, world.engine, ["m"], lanes=1)
    assert not done.stopped
    assert world.applied() == 1
    assert set(world.waited()) == {"settle"}


def test_a_drain_leaves_a_file_that_grows_and_grows() -> None:
    world = World(timedelta(seconds=60))
    world.put(FIRST, "a\n1\n")

    def write_on(event: ProgressEvent) -> None:
        if isinstance(event, TableWaiting):
            world.now += timedelta(seconds=59)
            world.put(FIRST, "a\n" + "1\n" * len(world.told))
        world.told.append(event)

    parts = replace(world.parts, emit=write_on)
    done = drain(parts, world.engine, ["m"], lanes=1)
    assert [type(outcome) for outcome in done.stopped.values()] == [Wait]
    assert world.waited() == ["settle"] * 3


@pytest.mark.parametrize("count", [1, 3])
def test_a_process_that_stays_applies_each_file_as_it_settles(count: int) -> None:
    world = World(BRIEF, runs=True)
    lanes = Lanes(Attendant(world.parts, world.engine), 1)
    try:
        for number in range(1, count + 1):
            world.put(f"{number:020d}.csv", "a\n1\n")
            lanes.ring(T)
            _until(lambda number=number: world.applied() == number)
    finally:
        lanes.stop(5)


@pytest.mark.parametrize(("settle", "applied"), [("1s", 1), ("90s", 0)])
def test_a_runner_that_would_be_idle_stays_for_a_file_that_settles_soon(
    settle: str, applied: int
) -> None:
    world = World(runs=True)
    world.settings(settle=settle)
    queue = MemoryWorkQueue(world.clock)
    never = timedelta(hours=1)
    brisk = Pace(
        idle=timedelta(milliseconds=50),
        poll=timedelta(milliseconds=5),
        keep=timedelta(milliseconds=50),
        lease_delay=timedelta(milliseconds=20),
        sweep=never,
        status=never,
        most_takes=5,
    )
    world.put(FIRST, "a\n1\n")
    queue.send(Ring(T, "a test", "c1"))
    leases = MemoryLeases(world.clock)
    working = Working(world.parts, world.engine, queue, leases, lambda: ["m"], 1, brisk)
    try:
        begun = time.monotonic()
        while not working.is_idle():
            assert time.monotonic() - begun < PATIENCE
            working.serve(0.005)
    finally:
        working.stop()
    assert world.applied() == applied
