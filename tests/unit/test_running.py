"""Workers, drain and sweep, over real logs with an engine that only keeps the books."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from openmirror.deltalog import LogReplay
from openmirror.errors import CannotStart
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.operate.report import statuses
from openmirror.operate.requests import Operator, hold
from openmirror.plan import Batch, Limits
from openmirror.plan.decisions import Apply, Idle, Pause, Wait, WaitKind
from openmirror.plan.facts import FileFacts
from openmirror.ports import Entry
from openmirror.progress.tables import FilesNeverRead, TableDropped, TableWaiting
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.names import TableFolder
from openmirror.protocol.rules import Code
from openmirror.protocol.text_format import TextFormat
from openmirror.reconcile import reconciliation
from openmirror.runtime import draining
from openmirror.runtime.attempts import MOST_ATTEMPTS_AT_ONE_POSITION
from openmirror.runtime.draining import DrainResult, drain
from openmirror.runtime.isolation import Reconciler, UnreadableTable
from openmirror.runtime.sweeping import publish_all, sweep
from openmirror.runtime.workers import Reschedule, WorkerPool
from openmirror.stores.local.wake_up import LocalWaker
from openmirror.stores.memory.files import MemoryStore
from openmirror.table import layout
from openmirror.table.log import BrokenLog, TableLog
from tests.harness.clock import Clock
from tests.harness.publishing import file_name, table
from tests.harness.world import NO_GRACE, World

A, B, C = table("m", "A"), table("m", "B"), table("m", "C")
PATIENCE = 20.0
SOON = timedelta(milliseconds=30)


class Drained(World):
    """Mirrors that are drained; each drain, as each sweep, is a process of its own."""

    def __init__(self, limits: Limits = NO_GRACE) -> None:
        super().__init__(limits, Clock(None))
        self.waker = LocalWaker()

    def drain(self, *mirrors: str, workers: int = 2) -> DrainResult:
        return drain(self.process(), self.engine, mirrors or ("m",), workers)

    def wake_ups(self) -> list[TableFolder]:
        sweep(self.process(), ["m"], self.waker)
        found = []
        while folder := self.waker.take(0):
            found.append(folder)
        return found


def small(files: int) -> Limits:
    return Limits(batch_files=files, metadata_grace=timedelta(0), drop_grace=timedelta(0))


# --- Workers --------------------------------------------------------------------------------------


def test_a_table_is_never_in_two_workers_however_often_it_wakes() -> None:
    inside: set[TableFolder] = set()
    overlaps: list[TableFolder] = []
    reconciliations: list[TableFolder] = []
    lock = threading.Lock()

    def reconcile(folder: TableFolder) -> Reschedule | None:
        with lock:
            if folder in inside:
                overlaps.append(folder)
            inside.add(folder)
            reconciliations.append(folder)
            turn = len(reconciliations)
        threading.Event().wait(0.001)
        with lock:
            inside.discard(folder)
        return Reschedule() if turn % 5 == 0 and turn < 500 else None

    workers = WorkerPool(reconcile, 4)
    ringers = [
        threading.Thread(target=lambda: [workers.wake(f) for _ in range(100) for f in (A, B, C)])
        for _ in range(4)
    ]
    for ringer in ringers:
        ringer.start()
    for ringer in ringers:
        ringer.join(PATIENCE)
    workers.wait()
    workers.stop(PATIENCE)
    assert set(reconciliations) == {A, B, C}
    assert not overlaps


def test_wakes_during_a_reconcile_are_one_more_reconcile() -> None:
    entered, leave = threading.Event(), threading.Event()
    reconciliations: list[TableFolder] = []

    def reconcile(folder: TableFolder) -> None:
        reconciliations.append(folder)
        entered.set()
        assert leave.wait(PATIENCE)

    workers = WorkerPool(reconcile, 2)
    workers.wake(A)
    assert entered.wait(PATIENCE)
    for _ in range(10):
        workers.wake(A)
    leave.set()
    workers.wait()
    assert reconciliations == [A, A]
    workers.stop(PATIENCE)


def test_a_table_with_much_to_do_lets_others_in_between() -> None:
    gate = threading.Event()
    reconciliations: list[TableFolder] = []

    def reconcile(folder: TableFolder) -> Reschedule | None:
        assert gate.wait(PATIENCE)
        reconciliations.append(folder)
        return Reschedule() if folder == A and reconciliations.count(A) < 5 else None

    workers = WorkerPool(reconcile, 1)
    for folder in (A, B, C):
        workers.wake(folder)
    gate.set()
    workers.wait()
    workers.stop(PATIENCE)
    assert reconciliations[:4] == [A, B, C, A]


def turns_of(backlogs: dict[TableFolder, list[int]]) -> list[TableFolder]:
    """The turns of one worker; each table has files of these times left, one a turn."""
    gate = threading.Event()
    turns: list[TableFolder] = []
    left = {folder: list(times) for folder, times in backlogs.items()}

    def reconcile(folder: TableFolder) -> Reschedule | None:
        assert gate.wait(PATIENCE)
        turns.append(folder)
        left[folder].pop(0)
        if not left[folder]:
            return None
        return Reschedule(oldest=datetime.fromtimestamp(left[folder][0], UTC))

    workers = WorkerPool(reconcile, 1)
    for folder in backlogs:
        workers.wake(folder)
    gate.set()
    workers.wait()
    workers.stop(PATIENCE)
    return turns


def test_of_tables_that_had_as_many_turns_the_one_with_the_oldest_file_is_next() -> None:
    assert turns_of({A: [3, 9, 1], B: [2, 5], C: [1, 7, 2]}) == [A, B, C, B, C, A, A, C]


def test_an_old_backlog_does_not_keep_a_new_file_waiting_for_more_than_a_turn() -> None:
    turns = turns_of({A: list(range(20)), B: [1000, 1001], C: [2000]})
    assert turns[:6] == [A, B, C, A, B, A]


def test_a_table_that_is_woken_later_does_not_wait_for_a_backlogs_earlier_turns() -> None:
    turns: list[TableFolder] = []
    workers: list[WorkerPool] = []

    def reconcile(folder: TableFolder) -> Reschedule | None:
        turns.append(folder)
        if len(turns) == 10:
            workers[0].wake(B)
        return Reschedule() if folder == A and len(turns) < 20 else None

    workers.append(WorkerPool(reconcile, 1))
    workers[0].wake(A)
    workers[0].wait()
    workers[0].stop(PATIENCE)
    assert turns.index(B) <= 11


def test_a_drain_of_a_large_backlog_takes_one_batch_of_each_table_in_turns() -> None:
    world = Drained(replace(NO_GRACE, batch_files=1))
    world.land(A, *range(1, 9))
    world.land(B, 1, 2)
    world.land(C, 1)
    drain(world.process(), world.engine, ["m"], workers=1)
    turns = [batch.folder for batch in world.engine.batches]
    assert turns == [A, B, C, A, B, *[A] * 6]


def test_up_takes_one_batch_of_each_table_in_turns() -> None:
    world = Drained(replace(NO_GRACE, batch_files=1))
    world.land(A, *range(1, 9))
    world.land(B, 1, 2)
    world.land(C, 1)
    workers = WorkerPool(Reconciler(world.process(), world.engine), 1)
    for folder in (A, B, C):
        workers.wake(folder)
    workers.wait()
    workers.stop(PATIENCE)
    turns = [batch.folder for batch in world.engine.batches]
    assert turns == [A, B, C, A, B, *[A] * 6]


def test_wakes_do_not_shorten_the_pause_after_a_failure() -> None:
    reconciliations: list[TableFolder] = []
    first = threading.Event()

    def reconcile(folder: TableFolder) -> Reschedule | None:
        reconciliations.append(folder)
        first.set()
        return Reschedule(timedelta(hours=1), backing_off=True)

    workers = WorkerPool(reconcile, 1)
    workers.wake(A)
    assert first.wait(PATIENCE)
    reconcile_all(workers, A)
    for _ in range(5):
        workers.wake(A)
    workers.wake(B)  # goes through the same worker, behind any wake-up of A
    while B not in reconciliations:
        threading.Event().wait(0.001)
    workers.stop(PATIENCE)
    assert reconciliations == [A, B]


def test_a_wake_up_ends_a_wait_that_would_end_by_itself_later() -> None:
    reconciliations: list[TableFolder] = []
    second = threading.Event()

    def reconcile(folder: TableFolder) -> Reschedule | None:
        reconciliations.append(folder)
        if len(reconciliations) == 2:
            second.set()
            return None
        return Reschedule(timedelta(hours=1))

    workers = WorkerPool(reconcile, 1)
    workers.wake(A)
    reconcile_all(workers, A)
    workers.wake(A)
    assert second.wait(PATIENCE)
    workers.wait()
    workers.stop(PATIENCE)


def test_what_no_table_can_go_on_after_reaches_whoever_waits() -> None:
    def reconcile(folder: TableFolder) -> None:
        raise CannotStart(f"no memory for {folder}")

    workers = WorkerPool(reconcile, 2)
    workers.wake(A)
    with pytest.raises(CannotStart, match="no memory"):
        workers.wait()
    assert workers.stop(PATIENCE) == frozenset()


def test_stop_answers_which_reconciliations_it_had_to_abandon() -> None:
    entered, leave = threading.Event(), threading.Event()

    def reconcile(folder: TableFolder) -> None:
        entered.set()
        leave.wait(PATIENCE)

    workers = WorkerPool(reconcile, 1)
    workers.wake(A)
    workers.wake(B)
    assert entered.wait(PATIENCE)
    assert workers.stop(0.01) == {A}
    leave.set()
    assert workers.stop(PATIENCE) == frozenset()


def reconcile_all(workers: WorkerPool, folder: TableFolder) -> None:
    """Wait until a table is set for later: no event marks that moment after its reconcile."""
    while folder not in workers._later:
        threading.Event().wait(0.001)


# --- drain --------------------------------------------------------------------------------------


def test_drain_applies_everything_in_as_many_batches_as_it_takes() -> None:
    world = Drained(small(2))
    world.land(A, *range(1, 8))
    world.land(B, 1)
    result = world.drain()
    assert result.outcomes == {A: Idle(), B: Idle()}
    assert (world.applied(A), world.applied(B)) == (7, 1)
    assert [len(b.files) for b in world.engine.batches if b.folder == A] == [2, 2, 2, 1]
    assert not result.stopped
    assert not result.has_failed


def test_drain_never_has_one_table_in_two_workers() -> None:
    world = Drained(small(1))
    world.reading = lambda batch: threading.Event().wait(0.002)
    for folder in (A, B, C):
        world.land(folder, *range(1, 6))
    world.drain(workers=6)
    assert world.engine.overlaps == []
    assert len(world.engine.batches) == 15


def test_drain_ends_although_a_publisher_goes_on_faster_than_it() -> None:
    world = Drained(small(2))

    def publish_more(batch: Batch) -> None:
        world.land(batch.folder, batch.last + 3, batch.last + 4)

    world.reading = publish_more
    world.land(A, 1, 2, 3, 4)
    result = world.drain()
    assert isinstance(result.outcomes[A], Apply)
    assert 4 <= world.applied(A) <= 6, "at most one batch more than was there"
    assert not result.stopped


def test_drain_ends_although_a_publisher_recreates_the_folder_all_the_time() -> None:
    world = Drained(small(1))

    def recreate(batch: Batch) -> None:
        world.delete_folder(batch.folder)
        world.land(batch.folder, 1, 2)

    world.reading = recreate
    world.land(A, 1, 2)
    world.drain()
    assert len(world.engine.batches) < 10


def test_drain_ends_although_a_publisher_overwrites_the_file_all_the_time() -> None:
    world = Drained()
    world.reading = lambda batch: world.land(batch.folder, 1)
    world.land(A, 1)
    result = world.drain()
    assert isinstance(result.outcomes[A], UnreadableTable)
    assert "tries in a row" in result.outcomes[A].reason
    assert result.has_failed
    assert len(world.engine.batches) == MOST_ATTEMPTS_AT_ONE_POSITION


def test_drain_waits_out_missing_metadata_and_says_until_when() -> None:
    world = Drained(Limits(metadata_grace=timedelta(seconds=0.3)))
    world.land(A, 1, keyed=False)
    assert world.drain().outcomes == {A: Idle()}
    waits = [event for event in world.reported if isinstance(event, TableWaiting)]
    assert waits
    assert waits[0].kind is WaitKind.METADATA
    assert waits[0].until is not None


def test_drain_goes_on_as_soon_as_metadata_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draining, "_LONGEST_WAIT", SOON)
    world = Drained(Limits(metadata_grace=timedelta(hours=1)))
    world.land(A, 1, keyed=False)

    def publish_metadata(event: ProgressEvent) -> None:
        if isinstance(event, TableWaiting):
            world.land(A, keyed=True)

    ports = replace(world.process(), emit=publish_metadata)
    assert drain(ports, world.engine, ["m"], 2).outcomes == {A: Idle()}
    assert world.engine.batches[0].frozen.key_columns == ("id",)


def test_a_gap_leaves_its_table_and_no_other_behind() -> None:
    world = Drained()
    world.land(A, 1, 3)
    world.land(B, 1, 2)
    result = world.drain()
    assert set(result.stopped) == {A}
    stopped = result.stopped[A]
    assert isinstance(stopped, Wait)
    assert stopped.waiting.kind is WaitKind.GAP
    assert (world.applied(A), world.applied(B)) == (1, 2)
    assert not result.has_failed


def test_a_batch_that_always_fails_pauses_its_table_after_three_tries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reconciliation, "FIRST_DELAY", SOON)

    def fail(batch: Batch) -> None:
        if batch.folder == A:
            raise OSError("no space left on device")

    world = Drained()
    world.reading = fail
    world.land(A, 1)
    world.land(B, 1)
    result = world.drain()
    paused = result.stopped[A]
    assert isinstance(paused, Pause)
    assert paused.problem.code is Code.APPLY_FAILED
    assert "no space left" in paused.problem.detail
    assert len([b for b in world.engine.batches if b.folder == A]) == 3
    assert result.outcomes[B] == Idle()


def test_a_batch_that_fails_once_is_applied_by_the_same_drain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reconciliation, "FIRST_DELAY", SOON)
    failures = [OSError("flaky")]

    def fail_once(batch: Batch) -> None:
        if failures:
            raise failures.pop()

    world = Drained()
    world.reading = fail_once
    world.land(A, 1)
    assert world.drain().outcomes == {A: Idle()}


def test_an_unreadable_control_document_stops_only_its_own_table() -> None:
    world = Drained()
    world.land(A, 1)
    world.land(B, 1)
    world.store.put(layout.control_document(A), b'{"version": 99}')
    result = world.drain()
    paused = result.stopped[A]
    assert isinstance(paused, Pause)
    assert paused.problem.code is Code.CONTROL_DOCUMENT_INVALID
    assert result.outcomes[B] == Idle()


def test_a_folder_whose_name_no_document_can_have_stops_only_itself() -> None:
    world = Drained()
    refused = [table("m", "w" * 251), table("m", "no text\N{REPLACEMENT CHARACTER}")]
    for folder in (*refused, A):
        world.land(folder, 1)
    result = world.drain()
    for folder in refused:
        paused = result.stopped[folder]
        assert isinstance(paused, Pause)
        assert paused.problem.code is Code.TABLE_NAME_INVALID
    assert result.outcomes[A] == Idle()
    shown = {status.folder: status.problem for status in statuses(world.process(), ["m"])}
    assert {folder: problem.code for folder, problem in shown.items() if problem} == dict.fromkeys(
        refused, "TableNameInvalid"
    )


def test_a_zone_that_cannot_be_listed_is_reported_and_nothing_of_it_is_dropped() -> None:
    world = Drained()
    other = table("other", "T")
    world.land(A, 1)
    world.land(other, 1)
    world.drain("m", "other")
    world.store.delete_folder(layout.landing_zone("m"))
    world.land(other, 2)
    result = world.drain("m", "other")
    assert set(result.unreadable_mirrors) == {"m"}
    assert result.has_failed
    assert world.applied(other) == 2
    assert world.applied(A) == 1, "its table is still in its place"


def test_a_held_table_is_left_alone_and_is_no_reason_for_an_exit_code() -> None:
    world = Drained()
    world.land(A, 1)
    hold(world.process(), A, Operator("me"))
    result = world.drain()
    assert world.engine.batches == []
    assert not result.stopped


def test_a_drain_that_leaves_files_unread_for_good_says_so_and_is_not_done() -> None:
    world = Drained()
    for folder in (A, B, C):
        world.land(folder, 1)
    keys = b'{"keyColumns": ["id"], "FileFormat": "Parquet"}'
    world.store.write(layout.join(layout.table_folder(A), "_metadata.json"), keys)
    world.store.write(layout.join(layout.table_folder(A), f"{2:020d}.csv"), b"id\n2\n")
    world.store.write(layout.join(layout.table_folder(B), ".DS_Store"), b"x")
    world.store.write(layout.join(layout.table_folder(C), "2.parquet"), b"x")
    hold(world.process(), C, Operator("me"))
    result = world.drain()
    assert world.applied(A) == world.applied(B) == 1
    assert not result.stopped
    assert result.left_undone
    ((folder, (notice,)),) = result.never_read.items()
    assert (folder, notice.code) == (A, Code.FILE_NEVER_READ)
    assert notice.file == f"{2:020d}.csv"
    events = [event for event in world.reported if isinstance(event, FilesNeverRead)]
    assert {(event.folder, event.file) for event in events} == {(A, notice.file)}


def test_drain_publishes_status_at_its_end() -> None:
    world = Drained()
    world.land(A, 1)
    world.drain()
    monitoring = layout.join(layout.monitoring("m"), "tables.json")
    assert b'"Replicating"' in world.store.read(monitoring).data


# --- sweep and the process that stays -----------------------------------------------------------


def test_the_sweep_wakes_for_what_can_be_applied_and_for_nothing_that_waits_or_is_paused() -> None:
    world = Drained()
    world.land(A, 1, 3)
    world.land(B, 1)
    world.put(B, file_name(2), b"certainly no parquet file")
    world.land(C, 1)
    assert world.wake_ups() == [A, B, C]
    world.drain()
    assert world.wake_ups() == [], "a gap, a recorded problem and an idle table"
    world.land(C, 2)
    assert world.wake_ups() == [C]


def test_the_sweep_wakes_once_for_a_folder_that_has_just_gone_so_that_it_is_written_down() -> None:
    world = Drained(Limits(metadata_grace=timedelta(0), drop_grace=timedelta(hours=1)))
    world.land(A, 1)
    world.drain()
    world.delete_folder(A)
    assert world.wake_ups() == [A]
    Reconciler(world.process(), world.engine)(A)
    assert world.wake_ups() == []


def test_the_sweep_wakes_for_a_drop_once_grace_is_over() -> None:
    world = Drained()
    world.land(A, 1)
    world.drain()
    world.delete_folder(A)
    reconciler = Reconciler(world.process(), world.engine)
    reconciler(A)
    assert world.wake_ups() == [A]
    reconciler(A)
    assert any(isinstance(event, TableDropped) for event in world.reported)


def test_the_sweep_wakes_for_a_problem_that_nobody_has_written_down_yet() -> None:
    world = Drained()
    world.land(A, 1)
    world.drain()
    world.put(A, file_name(2), b"certainly no parquet file")
    assert world.wake_ups() == [A]
    world.drain()
    assert world.wake_ups() == []


def test_the_sweep_survives_a_table_that_cannot_be_observed() -> None:
    world = Drained()
    world.land(A, 1)
    world.land(B, 1)
    world.store.put(layout.control_document(A), b"no json")
    swept = sweep(world.process(), ["m"], world.waker)
    assert swept.woken == [B]
    assert set(swept.unreadable) == {"m/A"}


class _CountedLogs(LogReplay):
    """Counts how often a log is asked for: once an observation, here."""

    reads = 0

    def read(self, table: layout.StorePath) -> TableLog | BrokenLog | None:
        self.reads += 1
        return super().read(table)


def test_status_after_a_sweep_costs_no_further_observation_and_says_the_same() -> None:
    world = Drained()
    world.land(A, 1)
    world.land(B, 1)
    world.drain()
    world.land(B, 3)  # and a gap before it
    path = layout.join(layout.monitoring("m"), "tables.json")
    logs = _CountedLogs(world.store)
    ports = replace(world.process(), logs=logs)
    swept = sweep(ports, ["m"], world.waker)
    reads = logs.reads
    publish_all(ports, ["m"], swept.seen)
    assert logs.reads == reads
    shared = world.store.read(path).data
    world.store.delete_file(path)
    publish_all(ports, ["m"])
    assert logs.reads > reads
    assert world.store.read(path).data == shared


class _Meeting(ChangeFileInspector):
    """Lets an observation go on only once another table is observed as well."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self._both = threading.Barrier(2)

    def inspect(
        self, path: layout.StorePath, entry: Entry, text: TextFormat | None = None
    ) -> FileFacts:
        self._both.wait(30)
        return super().inspect(path, entry, text)


def test_a_sweep_of_a_far_store_observes_tables_side_by_side_and_survives_one_of_them() -> None:
    world = Drained()
    world.land(A, 1)
    world.land(B, 1)
    world.land(C, 1)
    world.store.put(layout.control_document(C), b"no json")
    ports = replace(world.process(), inspector=_Meeting(world.store), concurrent_observations=3)
    swept = sweep(ports, ["m"], world.waker)
    assert sorted(swept.woken) == [A, B]
    assert set(swept.unreadable) == {"m/C"}
    shown = statuses(replace(world.process(), concurrent_observations=3), ["m"])
    assert [table.name.table for table in shown] == ["A", "B", "C"]


def test_a_wait_that_ends_by_itself_sets_an_alarm_that_wakes_can_still_end() -> None:
    world = Drained(Limits(metadata_grace=timedelta(hours=1)))
    world.land(A, 1, keyed=False)
    reschedule = Reconciler(world.process(), world.engine)(A)
    assert reschedule is not None
    assert timedelta(minutes=59) < reschedule.after <= timedelta(hours=1)
    assert not reschedule.backing_off


def test_the_default_schema_is_frozen_before_the_first_observation() -> None:
    world = Drained()
    settings = b'{"properties": {"target": {"typeProperties": {"defaultSchema": "sales"}}}}'
    world.store.put(layout.mirror_settings("m"), settings)
    world.land(A, 1)
    world.drain()
    assert world.process().logs.read(layout.StorePath("lake/m/Tables/sales/A"))


def test_the_delay_after_failures_grows_to_its_longest_and_never_overflows() -> None:
    delays = [reconciliation.delay_after(count) for count in (1, 2, 3, 7, 10_000)]
    assert [delay.total_seconds() for delay in delays] == [1, 2, 4, 60, 60]
