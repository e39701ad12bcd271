"""The runner over a queue and leases in memory, with an engine that only keeps the books."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

import pytest

from openmirror.deltalog import LogReplay
from openmirror.errors import CannotStart, Unavailable
from openmirror.operate.requests import Operator, hold
from openmirror.plan import Batch, Limits
from openmirror.ports import Step, Steps, Taken, WorkItem, no_steps
from openmirror.progress.context import folder_of
from openmirror.progress.runner import (
    LeaseLost,
    LeaseTakenByOther,
    MessageDeadLettered,
    QueueOperation,
    QueueOperationFailed,
    WorkItemTaken,
)
from openmirror.progress.tables import AttemptFailed, TablePaused, TableUnreadable
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.names import TableFolder
from openmirror.protocol.rules import Code
from openmirror.runtime.run_result import RunResult
from openmirror.runtime.runner import Runner, RunnerTiming
from openmirror.stores.memory.work import MemoryLeases, MemoryWorkQueue
from openmirror.table import layout
from openmirror.table.layout import StorePath
from tests.harness.clock import Clock
from tests.harness.dying import Killed, dies_at
from tests.harness.publishing import file_name, table
from tests.harness.stores import Call
from tests.harness.world import NO_GRACE, World

AnyEvent = TypeVar("AnyEvent", bound=ProgressEvent)

A, B, C = table("m", "A"), table("m", "B"), table("m", "C")
PATIENCE = 20.0
NEVER = timedelta(hours=1)
BRISK = RunnerTiming(
    idle=timedelta(milliseconds=60),
    poll=timedelta(milliseconds=5),
    keep=timedelta(milliseconds=10),
    lease_delay=timedelta(milliseconds=20),
    sweep=NEVER,
    status=NEVER,
    slowest=timedelta(minutes=5),
    most_takes=5,
)


class Queue(MemoryWorkQueue):
    """A queue that notes what was deleted, and can refuse."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.refuses: set[str] = set()
        self.deleted: list[Taken] = []
        self.renewed = 0

    def _may(self, what: str) -> None:
        if what in self.refuses:
            raise ConnectionError(f"the queue refuses to {what}")

    def send(self, work_item: WorkItem, delay: timedelta = timedelta()) -> None:
        self._may("send")
        super().send(work_item, delay)

    def take(self, most: int) -> list[Taken]:
        self._may("take")
        return super().take(most)

    def delete(self, taken: Taken) -> None:
        self._may("delete")
        self.deleted.append(taken)
        super().delete(taken)

    def give_back(self, taken: Taken, delay: timedelta) -> None:
        self._may("give_back")
        super().give_back(taken, delay)

    def renew(self, taken: Taken) -> Taken | None:
        self._may("renew")
        self.renewed += 1
        return super().renew(taken)


class Served(World):
    """One mirror, one queue and the leases of its tables, for any number of runners."""

    def __init__(self, limits: Limits = NO_GRACE) -> None:
        super().__init__(limits, Clock(None))
        self.watched.before = self._may
        self.fails: set[StorePath] = set()
        """What cannot be read."""
        self.away = False
        self.queue = Queue(self.clock)
        self.leases = MemoryLeases(self.clock)

    def _may(self, call: Call) -> None:
        if call.method == "read" and self.away:
            raise Unavailable("the service answers 503")
        if call.method == "read" and call.path in self.fails:
            raise OSError(f"no answer for {call.path}")

    def block(self) -> tuple[threading.Event, threading.Event]:
        """Keep reads waiting: set once one has begun, and what lets them go on."""
        entered, leave = threading.Event(), threading.Event()

        def wait_there(batch: Batch) -> None:
            entered.set()
            assert leave.wait(PATIENCE)

        self.reading = wait_there
        return entered, leave

    def wake(self, *folders: TableFolder) -> None:
        for folder in folders:
            self.queue.send(WorkItem(folder, "a test", "c1"))

    def start(self, pace: RunnerTiming = BRISK, steps: Steps = no_steps) -> Runner:
        return Runner(
            self.process(steps=steps), self.engine, self.queue, self.leases, lambda: ["m"], 2, pace
        )

    @contextmanager
    def runner(self, pace: RunnerTiming = BRISK, steps: Steps = no_steps) -> Iterator[Runner]:
        working = self.start(pace, steps)
        try:
            yield working
        finally:
            working.stop()

    def until_idle(self, pace: RunnerTiming = BRISK) -> RunResult:
        working = self.start(pace)
        try:
            serve(working, working.is_idle)
        finally:
            run_result = working.stop()
        return run_result

    def events(self, kind: type[AnyEvent], folder: TableFolder | None = None) -> list[AnyEvent]:
        found = [event for event in self.reported if isinstance(event, kind)]
        return [event for event in found if folder is None or folder_of(event) == folder]


def serve(working: Runner, done: Callable[[], bool]) -> None:
    """Serve a runner until something holds."""
    until = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < until, "it never came to that"
        working.serve(0.005)


def wait(done: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < until, "it never came to that"
        threading.Event().wait(0.002)


def killed_at(world: Served, at: Step) -> None:
    """Run a runner that dies at a step: nothing that it holds is given back."""
    working = world.start(steps=dies_at(at))
    with pytest.raises(Killed):
        serve(working, lambda: False)
    working._workers.stop(PATIENCE)
    for timer in working._timers:
        timer.stop(PATIENCE)


# --- Messages and reconciliations ---------------------------------------------------------------


def test_a_runner_takes_one_batch_of_each_table_in_turns() -> None:
    world = Served(replace(NO_GRACE, batch_files=1))
    world.land(A, *range(1, 9))
    world.land(B, 1, 2)
    world.land(C, 1)
    with world.runner() as working:
        world.reading = lambda batch: working._swept.wait(PATIENCE)
        serve(working, working.is_idle)
    turns = [batch.folder for batch in world.engine.batches]
    assert len(turns) == 11
    assert set(turns[:5]) >= {A, B, C}
    assert turns.index(C) < turns.index(A) + 5


def test_a_wake_up_is_applied_and_its_message_deleted() -> None:
    world = Served()
    world.land(A, 1, 2)
    world.wake(A)
    run_result = world.until_idle()
    assert world.applied(A) == 2
    assert world.queue.length() == 0
    assert not run_result.failed
    assert not run_result.abandoned


def test_many_messages_of_one_table_are_one_reconcile_and_all_are_deleted() -> None:
    world = Served()
    entered, leave = threading.Event(), threading.Event()

    def block(batch: Batch) -> None:
        if batch.folder == A:
            entered.set()
            assert leave.wait(PATIENCE)

    world.reading = block
    with world.runner() as working:
        serve(working, working._swept.is_set)
        world.land(A, 1)
        world.land(B, 1)
        world.wake(A)
        serve(working, entered.is_set)
        world.wake(*[B] * 50, *[A] * 50)
        serve(working, lambda: world.applied(B) == 1 and not working._messages.of(B))
        leave.set()
        serve(working, lambda: world.queue.length() == 0)
    assert [batch.folder for batch in world.engine.batches] == [A, B]


def test_a_message_taken_during_a_reconcile_causes_one_more_and_is_deleted_only_after_that() -> (
    None
):
    world = Served()
    reconciliations: list[int] = []
    second = threading.Event()

    def steps(step: Step) -> None:
        # The observation is over: what comes now, this reconcile does not see.
        if step is Step.OBSERVED:
            reconciliations.append(len(world.queue.deleted))
            if len(reconciliations) == 1:
                world.land(A, 1)
                world.wake(A)
                assert second.wait(PATIENCE)

    with world.runner(steps=steps) as working:
        serve(working, working._swept.is_set)
        world.wake(A)
        # A folder that is not there, so that the first reconcile has nothing to do.
        serve(working, lambda: working._messages.count() == 2)
        second.set()
        serve(working, lambda: world.queue.length() == 0)
    assert world.applied(A) == 1, "the second message was not lost to the first reconcile"
    assert reconciliations[:2] == [0, 1]


def test_messages_of_a_table_at_work_are_renewed_until_it_is_quiet() -> None:
    world = Served()
    entered, leave = world.block()
    world.land(A, 1)
    world.wake(A)
    with world.runner() as working:
        serve(working, lambda: entered.is_set() and working._messages.count() == 1)
        half = world.queue.hidden_for / 2
        for _ in range(4):
            before = world.queue.renewed
            world.clock.turn(half)
            wait(lambda before=before: world.queue.renewed > before)  # type: ignore[misc]
        assert world.queue.take(1) == [], "nobody else may see it meanwhile"
        leave.set()
        serve(working, lambda: world.queue.length() == 0)


def test_a_text_that_is_no_wake_up_is_dead_lettered_at_once_and_says_why() -> None:
    world = Served()
    world.queue.put("no json")
    run_result = world.until_idle()
    assert [body for body, _ in world.queue.dead_lettered] == ["no json"]
    assert "no work item" in world.events(MessageDeadLettered)[0].reason
    assert not run_result.failed


def test_the_first_sweep_applies_what_no_wake_up_announced() -> None:
    world = Served()
    world.land(A, 1)
    world.until_idle()
    assert world.applied(A) == 1


def test_a_runner_reports_what_woke_it_and_its_correlation() -> None:
    world = Served()
    with world.runner() as working:
        serve(working, working._swept.is_set)
        world.wake(A)
        serve(working, lambda: bool(world.events(WorkItemTaken, A)))
    assert world.events(WorkItemTaken, A) == [WorkItemTaken(A, "a test", 1, "c1")]


# --- Ending -------------------------------------------------------------------------------------


def test_waiting_paused_and_held_tables_are_left_and_the_run_ends_well() -> None:
    world = Served()
    world.land(A, 1, 3)
    world.land(B, 1)
    world.put(B, file_name(2), b"certainly no parquet file")
    world.land(C, 1)
    hold(world.process(), C, Operator("a test"))
    world.wake(A, B, C)
    run_result = world.until_idle()
    assert (world.applied(A), world.applied(B), world.applied(C)) == (1, 1, 0)
    assert world.queue.length() == 0
    assert not run_result.failed


def test_a_run_ends_only_when_the_queue_has_stayed_empty() -> None:
    world = Served()
    pace = replace(BRISK, idle=timedelta(seconds=0.4))
    working = world.start(pace)
    for number in range(1, 5):
        world.land(A, number)
        world.wake(A)
        serve(working, lambda number=number: world.applied(A) == number)  # type: ignore[misc]
        assert not working.is_idle()
    before = time.monotonic()
    serve(working, working.is_idle)
    assert time.monotonic() - before > 0.2
    working.stop()


def test_a_table_that_waits_with_an_end_is_reconciled_then_without_a_wake_up() -> None:
    world = Served(Limits(metadata_grace=timedelta(seconds=0.3), drop_grace=timedelta(0)))
    with world.runner() as working:
        serve(working, working._swept.is_set)
        world.land(A, 1, keyed=False)
        world.wake(A)
        serve(working, lambda: world.queue.length() == 0)
        assert world.applied(A) == 0, "its message was deleted while it waits"
        serve(working, lambda: world.applied(A) == 1)


def test_a_table_that_waits_long_does_not_keep_a_run() -> None:
    world = Served(Limits(metadata_grace=NEVER, drop_grace=timedelta(0)))
    world.land(A, 1, keyed=False)
    world.wake(A)
    assert not world.until_idle().failed
    assert world.queue.length() == 0


def test_a_stop_gives_messages_back_at_once_and_without_counting_a_failure() -> None:
    world = Served()
    leave = threading.Event()

    def block(batch: Batch) -> None:
        assert leave.wait(PATIENCE)

    world.reading = block
    for folder in (A, B, C):
        world.land(folder, 1)
    world.wake(A, B, C)
    working = world.start()
    serve(working, lambda: len(world.engine.batches) == 2 and working._messages.count() == 3)
    threading.Timer(0.05, leave.set).start()
    run_result = working.stop()
    assert not run_result.abandoned
    finished = [folder for folder in (A, B, C) if world.applied(folder)]
    assert len(finished) == 2, "two workers finish their reconcile, the third table is left"
    wake_ups = {
        taken.work_item.folder: taken.times for taken in world.queue.take(9) if taken.work_item
    }
    assert set(wake_ups) == {A, B, C}, "what was not observed again is left as well"
    assert set(wake_ups.values()) == {1}
    assert all(world.leases.take(folder) for folder in (A, B, C))


def test_a_stop_publishes_status() -> None:
    world = Served()
    world.land(A, 1)
    world.wake(A)
    world.until_idle()
    assert (
        b'"Replicating"'
        in world.store.read(layout.join(layout.monitoring("m"), "tables.json")).data
    )
    assert world.store.read(layout.join(layout.monitoring("m"), "replicator.json")).data


def test_what_no_table_can_go_on_after_ends_the_runner_and_the_message_counts_it() -> None:
    world = Served()

    def fail(batch: Batch) -> None:
        raise CannotStart("Spark's process has ended")

    world.reading = fail
    working = world.start()
    serve(working, working._swept.is_set)
    world.land(A, 1)
    world.wake(A)
    with pytest.raises(CannotStart, match="Spark's process"):
        serve(working, lambda: False)
    working.stop()
    assert world.queue.take(1)[0].times == 2


# --- Failures -----------------------------------------------------------------------------------


def test_a_table_that_cannot_be_observed_gives_its_message_back_and_is_dead_lettered_at_last() -> (
    None
):
    world = Served()
    world.land(A, 1)
    world.land(B, 1)
    world.fails.add(layout.control_document(A))
    world.wake(A, B)
    working = world.start()
    until = time.monotonic() + PATIENCE
    while not world.queue.dead_lettered:
        assert time.monotonic() < until
        working.serve(0.005)
        world.clock.turn(timedelta(seconds=1))  # past any delay, in the queue's own time
    run_result = working.stop()
    assert world.applied(B) == 1
    [(body, why)] = world.queue.dead_lettered
    assert "5 times" in why
    assert "no answer" in why
    assert '"A"' in body
    assert set(run_result.failed) == {"m/A"}


def test_a_failure_that_passes_is_forgotten() -> None:
    world = Served()
    world.land(A, 1)
    document = layout.control_document(A)
    world.fails.add(document)
    world.wake(A)
    with world.runner() as working:
        serve(working, lambda: bool(world.events(TableUnreadable, A)))
        world.fails.clear()
        world.clock.turn(timedelta(minutes=2))
        serve(working, lambda: world.applied(A) == 1)
        serve(working, lambda: world.queue.length() == 0)
        assert not working.stop().failed
    assert not world.queue.dead_lettered


def test_a_service_that_is_away_is_asked_until_it_is_back_and_dead_letters_nothing() -> None:
    world = Served()
    world.land(A, 1)
    world.away = True
    world.wake(A)
    with world.runner() as working:
        seen = 0
        until = time.monotonic() + PATIENCE
        while seen <= BRISK.most_takes:
            assert time.monotonic() < until
            working.serve(0.005)
            world.clock.turn(timedelta(seconds=1))
            seen = len(world.events(TableUnreadable, A))
        assert not world.queue.dead_lettered
        world.away = False
        world.clock.turn(timedelta(minutes=2))
        serve(working, lambda: world.applied(A) == 1)
        serve(working, lambda: world.queue.length() == 0)
        serve(working, lambda: not working._troubles.all())


def test_a_run_ends_although_a_service_is_away_and_says_that_it_failed() -> None:
    world = Served()
    world.land(A, 1)
    world.away = True
    world.wake(A)
    assert "m/A" in world.until_idle().failed
    assert world.queue.length() == 1, "the wake-up waits for the next runner"


def test_a_batch_that_always_fails_pauses_its_table_before_its_message_is_dead_lettered() -> None:
    world = Served()

    def fail(batch: Batch) -> None:
        raise OSError("no space left on device")

    world.reading = fail
    world.land(A, 1)
    world.wake(A)
    with world.runner() as working:
        until = time.monotonic() + PATIENCE
        while world.queue.length():
            assert time.monotonic() < until
            working.serve(0.005)
            world.clock.turn(timedelta(seconds=1))
        assert not world.queue.dead_lettered
        assert [event.attempt for event in world.events(AttemptFailed, A)] == [1, 2, 3]
        assert [event.code for event in world.events(TablePaused, A)] == [Code.APPLY_FAILED]
        assert not working.stop().failed, "a paused table is no failed run"


def test_a_message_that_killed_its_runner_too_often_is_dead_lettered_without_an_observation() -> (
    None
):
    world = Served()
    world.land(A, 1)
    world.wake(A)
    for _ in range(BRISK.most_takes):
        world.queue.take(1)
        world.clock.turn(world.queue.hidden_for)
    with world.runner() as working:
        serve(working, lambda: bool(world.queue.dead_lettered))
    assert "never given back" in world.queue.dead_lettered[0][1]


def test_a_table_that_changes_under_every_try_does_not_keep_its_runner_busy_for_ever() -> None:
    world = Served()
    world.reading = lambda batch: world.land(batch.folder, 1)
    world.land(A, 1)
    world.wake(A)
    with world.runner() as working:
        serve(working, lambda: "m/A" in working._troubles.all())
    assert len(world.engine.batches) < 50


REFUSED = {
    "delete": QueueOperation.DELETE,
    "give_back": QueueOperation.RETURN,
    "send": QueueOperation.SEND,
    "renew": QueueOperation.RENEW,
}


@pytest.mark.parametrize("refused", REFUSED)
def test_a_queue_that_refuses_loses_nothing_and_stops_nobody(refused: str) -> None:
    world = Served()
    world.land(A, 1)
    world.wake(A, A)
    world.queue.refuses.add(refused)
    assert not world.until_idle().failed
    assert world.applied(A) == 1
    failed = {event.operation for event in world.events(QueueOperationFailed)}
    assert failed <= {REFUSED[refused]}
    left = world.queue.length()
    assert left == (2 if refused == "delete" else 0)
    world.queue.refuses.clear()
    world.clock.turn(world.queue.hidden_for)
    world.until_idle()
    assert world.queue.length() == 0
    assert len(world.engine.batches) == 1, "nothing twice"


def test_a_queue_that_cannot_be_read_fails_the_run_but_not_the_tables() -> None:
    world = Served()
    world.land(A, 1)
    world.queue.refuses.add("take")
    run_result = world.until_idle()
    assert world.applied(A) == 1, "the sweep needs no queue"
    assert set(run_result.failed) == {"the work queue"}
    failed = world.events(QueueOperationFailed)
    assert {event.operation for event in failed} == {QueueOperation.RECEIVE}


def test_a_zone_that_cannot_be_listed_fails_the_run() -> None:
    world = Served()
    working = Runner(
        world.process(), world.engine, world.queue, world.leases, _no_mirrors, 1, BRISK
    )
    serve(working, working.is_idle)
    assert "unmounted" in working.stop().failed["the sweep"]


def test_a_mirror_that_cannot_be_listed_fails_the_run_until_it_can() -> None:
    world, mirrors = Served(), ["m", "away"]
    world.land(A, 1)
    timing = replace(BRISK, sweep=timedelta(milliseconds=10))
    ports = world.process(), world.engine, world.queue, world.leases
    working = Runner(*ports, lambda: mirrors, 1, timing)
    serve(working, working.is_idle)
    assert world.applied(A) == 1, "the other goes on"
    assert set(working.stop().failed) == {"away"}
    working = Runner(*ports, lambda: mirrors, 1, timing)
    serve(working, working.is_idle)
    mirrors.remove("away")
    world.land(A, 2)
    serve(working, lambda: world.applied(A) == 2)
    assert working.stop().failed == {}


def _no_mirrors() -> list[str]:
    raise OSError("unmounted")


# --- Leases and two runners ---------------------------------------------------------------------


def test_a_table_that_another_runner_has_gives_its_wake_up_back_without_counting_a_failure() -> (
    None
):
    world = Served()
    world.land(A, 1)
    lease = world.leases.take(A)
    assert lease
    world.wake(A, A)
    with world.runner() as working:
        serve(working, lambda: len(world.events(LeaseTakenByOther, A)) >= BRISK.most_takes + 2)
        assert not world.engine.batches
        assert not world.queue.dead_lettered
        lease.release()
        serve(working, lambda: world.applied(A) == 1)
        serve(working, lambda: world.queue.length() == 0)


def test_a_runner_does_not_wait_for_a_table_that_another_one_has() -> None:
    world = Served()
    world.land(A, 1)
    assert world.leases.take(A)
    world.wake(A)
    assert not world.until_idle().failed
    assert world.queue.length() >= 1, "whoever has the table finds the wake-up"
    assert not world.engine.batches


def test_a_lease_is_kept_while_its_table_is_at_work_and_released_when_it_is_quiet() -> None:
    world = Served()
    entered, leave = world.block()
    world.land(A, 1)
    with world.runner() as working:
        serve(working, entered.is_set)
        for _ in range(6):
            world.clock.turn(timedelta(seconds=20))
            wait(_next_pass(working))
        assert world.leases.take(A) is None
        leave.set()
        serve(working, lambda: world.applied(A) == 1)
        wait(lambda: world.leases.take(A) is not None)


def test_a_lease_that_was_lost_is_reported_and_the_batch_lands_once() -> None:
    world = Served()
    entered, leave = threading.Event(), threading.Event()

    def block(batch: Batch) -> None:
        if not entered.is_set():
            entered.set()
            assert leave.wait(PATIENCE)

    world.reading = block
    world.land(A, 1)
    world.wake(A)
    with world.runner() as working:
        serve(working, entered.is_set)
        # Somebody else has it by now: this process had stood still for too long.
        world.leases._held.clear()
        other = world.leases.take(A)
        assert other
        wait(lambda: bool(world.events(LeaseLost, A)))
        with world.runner() as second:
            serve(second, lambda: bool(world.events(LeaseTakenByOther, A)))
            other.release()
            leave.set()
            serve(second, lambda: world.applied(A) == 1)
            serve(working, lambda: world.queue.length() == 0)
    assert world.applied(A) == 1


def test_two_runners_never_have_one_table_at_once_and_apply_everything_once() -> None:
    world = Served(Limits(batch_files=1, metadata_grace=timedelta(0), drop_grace=timedelta(0)))
    world.reading = lambda batch: threading.Event().wait(0.001)
    first, second = world.start(), world.start()
    for number in range(1, 8):
        for folder in (A, B, C):
            world.land(folder, number)
            world.wake(folder, folder)
        for working in (first, second):
            working.serve(0.005)
    for working in (first, second):
        serve(working, lambda: all(world.applied(folder) == 7 for folder in (A, B, C)))
    serve(first, first.is_idle)
    serve(second, second.is_idle)
    for working in (first, second):
        assert not working.stop().failed
    assert world.engine.overlaps == []
    assert len(world.engine.batches) == 21
    assert not world.queue.dead_lettered


def _next_pass(working: Runner) -> Callable[[], bool]:
    """Whether the thread that keeps leases has come round, twice to be sure of one whole pass."""
    passes: list[None] = []
    keep = working._keep
    timer = working._timers[0]
    timer._action = lambda: (keep(), passes.append(None))
    return lambda: len(passes) >= 2


# --- Killed -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "at",
    [
        Step.TAKEN,
        Step.OBSERVED,
        Step.DECIDED,
        Step.BEFORE_COMMIT,
        Step.COMMITTED,
        Step.IDLE,
    ],
)
def test_a_runner_killed_at_any_step_loses_nothing_and_the_next_repeats_nothing(at: Step) -> None:
    world = Served()
    world.land(A, 1, 2)
    world.wake(A)
    killed_at(world, at)
    assert world.queue.length() == 1, "the message outlives its runner"
    world.clock.turn(world.queue.hidden_for)
    world.land(A, 3)
    run_result = world.until_idle()
    assert world.applied(A) == 3
    assert not run_result.failed
    assert world.queue.length() == 0
    batch_records = LogReplay(world.store).history(layout.StorePath("lake/m/Tables/dbo/A"), 9)
    applied = [
        n
        for batch_record in reversed(batch_records)
        for n in range(batch_record.first, batch_record.last + 1)
    ]
    assert applied == [1, 2, 3], "each file in one commit, in order"


def test_a_killed_runners_lease_ends_by_itself() -> None:
    world = Served()
    world.land(A, 1)
    world.wake(A)
    killed_at(world, Step.BEFORE_COMMIT)
    world.clock.turn(timedelta(seconds=30))
    with world.runner() as working:
        serve(working, lambda: bool(world.events(LeaseTakenByOther, A)))
        world.clock.turn(world.queue.hidden_for)
        serve(working, lambda: world.applied(A) == 1)
