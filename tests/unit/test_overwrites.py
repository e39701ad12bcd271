"""An applied file that is written over: the same bytes stop nothing, others pause its table."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from openmirror.deltalog import LogReplay
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.operate import requests
from openmirror.plan import Decision, Limits, plan
from openmirror.plan.decisions import Held, Idle, Pause
from openmirror.plan.overwrites import MOST_COMPARED
from openmirror.ports import Step
from openmirror.protocol.checksums import RunningChecksum
from openmirror.protocol.names import ETag
from openmirror.protocol.rules import Code
from openmirror.reconcile import checksums
from openmirror.reconcile.clean import clean_table
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.runtime.sweeping import sweep
from openmirror.runtime.workers import WorkerPool
from openmirror.status import table_status
from openmirror.status.words import Warn
from openmirror.stores.local.store import LocalStore
from openmirror.stores.memory.files import MemoryStore
from openmirror.stores.stored_file import open_stored
from openmirror.table import layout
from openmirror.table.control import IncarnationRecord
from openmirror.table.layout import StorePath, join
from tests.harness.paper import PaperEngine
from tests.harness.publishing import file_name, land, parquet, table
from tests.harness.stores import Call
from tests.harness.world import World

T = table("m", "T")
PLACE = layout.table_folder(T)
ARCHIVE = layout.archive_folder(T)
ME = requests.Operator("me")


class Overwriting(World):
    """A table whose files are written over."""

    def __init__(self, **options: object) -> None:
        super().__init__(Limits(metadata_grace=timedelta(0)))
        self.store.put(join(PLACE, "_metadata.json"), json.dumps(options).encode())

    def publish(self, *names: str, rows: int = 2) -> None:
        """Publish files of so many rows."""
        for name in names:
            self.put(T, name, parquet(id=list(range(rows))))

    def again(self, *names: str) -> None:
        """Write the same bytes again."""
        for name in names:
            self.clock.turn(timedelta(seconds=1))
            self.put(T, name, self.store.read(join(PLACE, name)).data)

    def other(self, name: str) -> None:
        """Write other bytes over a file."""
        self.clock.turn(timedelta(seconds=1))
        self.put(T, name, self.store.read(join(PLACE, name)).data + b"!")

    def settings(self, **ours: object) -> None:
        self.store.put(layout.mirror_settings("m"), json.dumps({"openmirror": ours}).encode())

    def reconciled(self) -> Decision:
        return self.reconcile_until_idle(T)

    @property
    def read_whole(self) -> list[str]:
        """Files that were read from their beginning to take a checksum."""
        calls = self.watched.calls
        return [layout.name_of(call.path) for call in calls if call.length == checksums._AT_ONCE]

    def before_a_checksum(self, act: Callable[[], object]) -> None:
        """Do something once, just before the next checksum is taken."""

        def before(call: Call) -> None:
            if call.length == checksums._AT_ONCE:
                self.watched.before = lambda call: None
                act()

        self.watched.before = before

    @property
    def record(self) -> IncarnationRecord:
        record = self.control(T).record
        assert record is not None
        return record

    def etags(self) -> dict[str, ETag]:
        """As the control document has them."""
        return {file.name: file.etag for batch in self.record.batches for file in batch.files}

    def there(self, folder: StorePath = PLACE) -> dict[str, ETag]:
        entries = self.store.list_folder(folder).entries
        return {e.name: e.etag for e in entries if not e.name.startswith("_")}

    def warnings(self) -> list[Warn]:
        return list(table_status(self.observed(T), self.decision(T)).warnings)


def paused_over(decision: Decision) -> str | None:
    assert isinstance(decision, Pause), decision
    assert decision.problem.code is Code.APPLIED_FILE_CHANGED
    return decision.problem.file


def test_the_same_bytes_again_stop_nothing_and_their_etag_is_written_down() -> None:
    world = Overwriting()
    world.publish(file_name(1), file_name(2))
    world.reconciled()
    world.again(file_name(1))
    assert isinstance(world.reconciled(), Idle)
    assert world.etags() == world.there()
    [warning] = world.warnings()
    assert (warning.code, warning.file) == (Code.FILE_REWRITTEN, file_name(1))
    world.publish(file_name(3))
    assert isinstance(world.reconciled(), Idle)
    assert [file.name for batch in world.engine.batches for file in batch.files] == [
        file_name(1),
        file_name(2),
        file_name(3),
    ]
    clean_table(world.ports, T)
    assert set(world.there()) == {file_name(3)}
    assert set(world.there(ARCHIVE)) == {file_name(1), file_name(2)}


def test_the_warning_counts_and_stays_for_as_long_as_archives_are_kept() -> None:
    world = Overwriting()
    world.publish(file_name(1))
    world.reconciled()
    for _ in range(3):
        world.again(file_name(1))
        assert isinstance(world.reconciled(), Idle)
    [warning] = world.warnings()
    assert "3 times" in warning.detail
    world.clock.turn(timedelta(days=7))
    assert not world.warnings()


def test_a_file_that_is_only_touched_on_a_disk_stops_nothing(tmp_path: Path) -> None:
    world = Overwriting()
    store = LocalStore(tmp_path)
    ports = replace(
        world.ports, store=store, inspector=ChangeFileInspector(store), logs=LogReplay(store)
    )
    engine = PaperEngine(store)
    land(store, T, 1, 2)
    reconcile_until_idle(ports, engine, T)
    os.utime(tmp_path / PLACE / file_name(1), (1, 1))
    os.utime(tmp_path / PLACE / file_name(2))
    assert isinstance(reconcile_until_idle(ports, engine, T).decision, Idle)
    clean_table(ports, T)
    assert (tmp_path / ARCHIVE / file_name(1)).exists()


def test_other_bytes_pause_the_table_and_are_read_once_to_see_that() -> None:
    world = Overwriting()
    world.publish(file_name(1), file_name(2))
    world.reconciled()
    world.other(file_name(2))
    world.watched.calls.clear()
    assert paused_over(world.reconciled()) == file_name(2)
    assert world.read_whole == [file_name(2)]
    assert paused_over(world.reconciled()) == file_name(2)
    assert world.read_whole == [file_name(2)]
    world.other(file_name(2))
    assert paused_over(world.reconciled()) == file_name(2)
    assert world.read_whole == [file_name(2), file_name(2)]


def test_the_first_bytes_put_back_let_the_table_go_on() -> None:
    world = Overwriting()
    world.publish(file_name(1))
    world.reconciled()
    before = world.store.read(join(PLACE, file_name(1))).data
    world.other(file_name(1))
    assert paused_over(world.reconciled()) == file_name(1)
    world.store.put(join(PLACE, file_name(1)), before)
    assert isinstance(world.reconciled(), Idle)
    control = world.control(T)
    assert [ended.how for ended in control.ended] == ["the file was replaced"]


def test_without_a_checksum_the_table_pauses() -> None:
    world = Overwriting()
    world.publish(file_name(1))
    world.reconciled()
    path = layout.control_document(T)
    document = json.loads(world.store.read(path).data)
    for batch in (document["decided"], *document["record"]["batches"]):
        for file in batch["files"]:
            del file["checksum"]
    world.store.put(path, json.dumps(document).encode())
    world.again(file_name(1))
    assert paused_over(world.reconciled()) == file_name(1)


def test_only_small_files_are_read_for_a_checksum_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = Overwriting()
    world.publish(file_name(1))
    world.publish(file_name(2), rows=1000)
    size = {e.name: e.size for e in world.store.list_folder(PLACE).entries}
    monkeypatch.setattr(checksums, "MOST_READ_FOR_IT", size[file_name(1)])
    world.reconciled()
    assert world.read_whole == [file_name(1)]
    world.again(file_name(1), file_name(2))
    assert paused_over(world.reconciled()) == file_name(2)


def test_a_file_larger_than_what_is_compared_pauses_the_table() -> None:
    world = Overwriting()
    world.publish(file_name(1))
    world.reconciled()
    world.again(file_name(1))
    observed = world.observed(T)
    large = replace(observed.files[observed.applied], size=MOST_COMPARED + 1, checksum=None)
    world.watched.calls.clear()
    seen = replace(observed, files={large.sequence: large})
    assert checksums.compared(world.ports, seen) is seen
    assert not world.read_whole
    assert paused_over(plan(seen, world.ports.limits, seen.at)) == file_name(1)


def test_a_folder_in_the_place_of_an_applied_file_pauses_the_table() -> None:
    world = Overwriting()
    world.publish(file_name(1))
    world.reconciled()
    world.store.delete_file(join(PLACE, file_name(1)))
    world.store.make_folder(join(PLACE, file_name(1)))
    assert paused_over(world.reconciled()) == file_name(1)


def test_the_same_bytes_under_another_name_of_the_same_number_are_another_file() -> None:
    world = Overwriting()
    world.publish("00000000000000000001.PARQUET")
    world.reconciled()
    world.publish(file_name(1))
    assert paused_over(world.reconciled()) == file_name(1)


def test_many_files_are_written_down_at_once_up_to_the_first_that_differs() -> None:
    world = Overwriting()
    names = [file_name(n) for n in range(1, 6)]
    world.publish(*names)
    world.reconciled()
    world.again(*names)
    world.other(names[3])
    assert paused_over(world.reconciled()) == names[3]
    known, there = world.etags(), world.there()
    assert [known[name] == there[name] for name in names] == [True, True, True, False, False]
    requests.skip_file(world.ports, T, names[3], ME)
    assert isinstance(world.reconciled(), Idle)
    assert world.etags() == world.there()


def test_a_file_that_changes_while_it_is_compared_is_compared_again() -> None:
    world = Overwriting()
    world.publish(file_name(1))
    world.reconciled()
    world.again(file_name(1))
    path = join(PLACE, file_name(1))
    first = world.store.read(path).data

    world.before_a_checksum(lambda: world.store.put(path, first + b"!"))
    assert paused_over(world.reconciled()) == file_name(1)


def test_a_file_that_changes_while_its_checksum_is_taken_is_read_anew() -> None:
    world = Overwriting()
    world.publish(file_name(1))
    path = join(PLACE, file_name(1))

    world.before_a_checksum(lambda: world.again(file_name(1)))
    assert isinstance(world.reconciled(), Idle)
    assert len(world.engine.batches) == 2
    assert world.etags() == {file_name(1): world.store.read(path).etag}


def test_a_decided_batch_keeps_the_checksums_that_it_was_decided_with() -> None:
    world = Overwriting()
    world.publish(file_name(1))

    class Died(BaseException):
        pass

    def die(step: Step) -> None:
        if step is Step.DECIDED:
            raise Died

    with pytest.raises(Died):
        reconcile_until_idle(replace(world.ports, steps=die), world.engine, T)
    world.reconciled()
    world.again(file_name(1))
    assert isinstance(world.reconciled(), Idle)


def test_cleanup_leaves_everything_until_the_new_etag_is_written_down() -> None:
    world = Overwriting()
    names = [file_name(n) for n in range(1, 5)]
    world.publish(*names)
    world.reconciled()
    world.again(names[1])
    assert not clean_table(world.ports, T)
    world.reconciled()
    assert clean_table(world.ports, T).moved == tuple(names[:3])
    assert {warn.code for warn in world.warnings()} == {Code.FILE_REWRITTEN}


def test_the_sweep_brings_a_runner_that_writes_it_down() -> None:
    world = Overwriting()
    world.publish(file_name(1))
    world.reconciled()
    world.again(file_name(1))
    workers = WorkerPool(lambda folder: None, 1)
    try:
        assert sweep(world.ports, ["m"], workers).woken == [T]
        world.reconciled()
        assert sweep(world.ports, ["m"], workers).woken == []
    finally:
        workers.stop(1)


def test_a_held_table_is_left_alone() -> None:
    world = Overwriting()
    world.publish(file_name(1))
    world.reconciled()
    requests.hold(world.ports, T, ME)
    before = world.control(T)
    world.again(file_name(1))
    world.watched.calls.clear()
    assert isinstance(world.reconciled(), Held)
    assert not world.read_whole
    assert world.control(T) == before


BY_TIME = {"fileDetectionStrategy": "LastUpdateTimeFileDetection"}
LEDGERS = [BY_TIME, {"isPartitionEnabled": True}, {**BY_TIME, "isPartitionEnabled": True}]


@pytest.mark.parametrize("options", LEDGERS)
def test_a_table_with_a_ledger_knows_the_same_bytes_too(options: dict[str, object]) -> None:
    world = Overwriting(**options)
    world.publish(file_name(1))
    world.clock.turn(timedelta(seconds=1))
    world.publish(file_name(2))
    world.reconciled()
    world.again(file_name(1), file_name(2))
    assert isinstance(world.reconciled(), Idle)
    assert world.etags() == world.there()
    clean_table(world.ports, T)
    assert set(world.there(ARCHIVE)) == {file_name(1)}


def test_the_checksum_outlives_a_lost_document_where_there_is_a_ledger() -> None:
    world = Overwriting(**BY_TIME)
    world.publish("a.parquet")
    world.reconciled()
    world.store.delete_file(layout.control_document(T))
    world.again("a.parquet")
    assert isinstance(world.reconciled(), Idle)
    assert Code.FILE_REWRITTEN in {warn.code for warn in world.warnings()}


def test_a_name_that_was_used_before_is_not_taken_for_the_same_file() -> None:
    world = Overwriting(**BY_TIME)
    for name in ("a.parquet", "b.parquet", "c.parquet"):
        world.clock.turn(timedelta(seconds=1))
        world.publish(name)
    world.reconciled()
    b = world.store.read(join(PLACE, "b.parquet"))
    # A cleanup that died after its move, before it wrote it down; then the name came again.
    world.store.move_file(join(PLACE, "b.parquet"), join(ARCHIVE, "b.parquet"), b.etag)
    world.store.put(join(PLACE, "b.parquet"), b.data)
    world.again("a.parquet")
    assert isinstance(world.reconciled(), Idle)
    codes = [(warn.code, warn.file) for warn in world.warnings()]
    assert codes == [(Code.FILE_REWRITTEN, "a.parquet"), (Code.SEQUENCE_REUSED, "b.parquet")]


def test_the_policy_ignores_what_was_written_over_and_says_so() -> None:
    world = Overwriting()
    world.settings(tables={"dbo.T": {"overwrittenFiles": "ignore"}})
    world.publish(file_name(1), file_name(2))
    world.reconciled()
    world.other(file_name(1))
    assert isinstance(world.reconciled(), Idle)
    [warning] = world.warnings()
    assert (warning.code, warning.file) == (Code.OVERWRITE_IGNORED, file_name(1))
    clean_table(world.ports, T)
    assert set(world.there(ARCHIVE)) == {file_name(1)}
    world.settings()
    assert isinstance(world.reconciled(), Idle)
    assert [warn.code for warn in world.warnings()] == [Code.OVERWRITE_IGNORED]
    world.other(file_name(2))
    assert paused_over(world.reconciled()) == file_name(2)


def test_a_policy_that_comes_later_ends_the_pause() -> None:
    world = Overwriting()
    world.publish(file_name(1), file_name(2))
    world.reconciled()
    world.other(file_name(2))
    world.publish(file_name(3))
    assert paused_over(world.reconciled()) == file_name(2)
    world.settings(overwrittenFiles="ignore")
    assert isinstance(world.reconciled(), Idle)
    assert world.record.known_through == 3
    control = world.control(T)
    assert [ended.how for ended in control.ended] == ["mirroring.json was changed"]


def test_a_policy_that_comes_later_still_knows_the_same_bytes_behind_others() -> None:
    world = Overwriting()
    world.publish(file_name(1), file_name(2))
    world.reconciled()
    world.other(file_name(1))
    assert paused_over(world.reconciled()) == file_name(1)
    world.again(file_name(2))
    world.settings(overwrittenFiles="ignore")
    assert isinstance(world.reconciled(), Idle)
    warned = {(warn.code, warn.file) for warn in world.warnings()}
    assert warned == {
        (Code.FILE_REWRITTEN, file_name(2)),
        (Code.OVERWRITE_IGNORED, file_name(1)),
    }


@pytest.mark.parametrize("pieces", [[10], [4, 6], [4, 3, 3]])
def test_a_stored_file_has_its_checksum_once_it_was_read_to_its_end(pieces: list[int]) -> None:
    store = MemoryStore(lambda: datetime(2026, 1, 1, tzinfo=UTC))
    path, data = StorePath("a/b"), b"0123456789"
    etag = store.put(path, data)
    expected = RunningChecksum()
    expected.update(data)
    _, raw = open_stored(store, path, etag)
    for piece in pieces:
        assert raw.checksum is None
        raw.readinto(bytearray(piece))
    assert raw.checksum == expected.checksum


def test_a_stored_file_that_was_read_out_of_order_has_no_checksum() -> None:
    store = MemoryStore(lambda: datetime(2026, 1, 1, tzinfo=UTC))
    _, raw = open_stored(store, StorePath("a/b"), store.put(StorePath("a/b"), b"0123456789"))
    raw.seek(5)
    raw.readinto(bytearray(5))
    assert raw.checksum is None
