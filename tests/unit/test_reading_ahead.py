"""What is read while a batch is committed is used for the batch behind it, or for nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Executor, Future
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from openmirror.deltalog import LogReplay
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.operate.requests import Operator, hold
from openmirror.plan import Batch, Limits
from openmirror.ports import BadFile, CommitResult, Prepared, Transaction
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.observing import observe
from openmirror.reconcile.reading_ahead import ReadingAhead
from openmirror.reconcile.reconciliation import reconcile, reconcile_until_idle
from openmirror.reconcile.root_ports import RootPorts
from openmirror.stores.memory.files import MemoryStore
from openmirror.table import layout
from tests.harness.executors import AtOnce
from tests.harness.paper import PaperEngine
from tests.harness.publishing import file_name, land, parquet, table

A, B = table("m", "A"), table("m", "B")


class Watched(PaperEngine):
    """Remembers what was read and let go of, and does something else amid commits."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.read_files: list[tuple[int, ...]] = []
        self.held: list[object] = []
        self.amid: dict[int, Callable[[], object]] = {}
        """What happens amid the commit of the batch that begins with this file."""
        self.asks = False

    def read(self, batch: Batch) -> Prepared | BadFile:
        self.read_files.append(tuple(file.sequence for file in batch.files))
        found = super().read(batch)
        if isinstance(found, BadFile):
            return found
        engine = self

        class Held:
            counts, checksums, phases = found.counts, found.checksums, found.phases
            asks_table = engine.asks

            def release(self) -> None:
                if self in engine.held:
                    engine.held.remove(self)

        held = Held()
        self.held.append(held)
        return held

    def commit(
        self, batch: Batch, prepared: Prepared, transaction: Transaction, batch_record: str
    ) -> CommitResult:
        if act := self.amid.pop(batch.first, None):
            act()
        return super().commit(batch, prepared, transaction, batch_record)


class Backlog:
    """A root in memory, one file a batch, and a runner that reads ahead."""

    def __init__(self, workers: int = 1, threads: Executor | None = None, files: int = 1) -> None:
        self.store = MemoryStore(lambda: datetime.now(UTC))
        self.store.make_folder(layout.landing_zone("m"))
        self.ports = RootPorts(
            store=self.store,
            inspector=ChangeFileInspector(self.store),
            logs=LogReplay(self.store),
            clock=lambda: datetime.now(UTC),
            limits=Limits(metadata_grace=timedelta(0), batch_files=files),
        )
        self.inner = Watched(self.store)
        self.engine = ReadingAhead(self.ports, self.inner, workers, threads or AtOnce())

    def drain(self, folder: TableFolder = A) -> int:
        reconcile_until_idle(self.ports, self.engine, folder)
        return observe(self.ports, folder).observed.applied

    def again(self, number: int, **columns: object) -> None:
        path = layout.join(layout.table_folder(A), file_name(number))
        self.store.write(path, parquet(**columns))


def test_each_batch_of_a_backlog_is_read_once_and_all_but_the_first_two_ahead() -> None:
    backlog = Backlog()
    land(backlog.store, A, 1, 2, 3, 4)
    order: list[object] = backlog.inner.read_files
    for number in (2, 3, 4):
        backlog.inner.amid[number] = lambda number=number: order.append(f"commit {number}")
    assert backlog.drain() == 4
    # The first batch makes the table, and what the one behind it is depends on that.
    assert order == [(1,), (2,), (3,), "commit 2", (4,), "commit 3", "commit 4"]
    assert not backlog.inner.held


def test_a_file_that_is_replaced_meanwhile_is_read_again() -> None:
    backlog = Backlog()
    land(backlog.store, A, 1, 2, 3)
    backlog.inner.amid[2] = lambda: backlog.again(3, id=[7])
    assert backlog.drain() == 3
    assert backlog.inner.read_files == [(1,), (2,), (3,), (3,)]
    assert not backlog.inner.held


def test_files_that_land_meanwhile_join_the_batch_that_was_read_without_them() -> None:
    backlog = Backlog(files=2)
    land(backlog.store, A, 1, 2, 3, 4, 5)
    backlog.inner.amid[3] = lambda: land(backlog.store, A, 6)
    assert backlog.drain() == 6
    assert backlog.inner.read_files == [(1, 2), (3, 4), (5,), (5, 6)]
    assert not backlog.inner.held


def test_a_change_of_the_policy_meanwhile_has_the_batch_read_by_it() -> None:
    backlog = Backlog()
    land(backlog.store, A, 1, 2, 3)
    text = json.dumps({"openmirror": {"insert": "upsert"}}).encode()
    settings = layout.mirror_settings("m")
    backlog.inner.amid[2] = lambda: backlog.store.write(settings, text)
    assert backlog.drain() == 3
    assert backlog.inner.read_files == [(1,), (2,), (3,), (3,)]


def test_what_depends_on_the_tables_rows_is_read_after_the_commit() -> None:
    backlog = Backlog()
    backlog.inner.asks = True
    land(backlog.store, A, 1, 2, 3)
    assert backlog.drain() == 3
    assert backlog.inner.read_files == [(1,), (2,), (3,), (3,)]
    assert not backlog.inner.held


def test_a_bad_file_that_was_found_ahead_is_read_again_before_it_stops_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backlog = Backlog()
    land(backlog.store, A, 1, 2, 3)
    whole = Watched._read
    bad = [3]

    def damaged_at_first(engine: Any, batch: Batch) -> Prepared | BadFile:
        if batch.first in bad:
            bad.remove(batch.first)
            path = layout.join(layout.table_folder(A), file_name(batch.first))
            engine._store.write(path, b"PAR1 no more PAR1")
            found = whole(engine, batch)
            backlog.again(batch.first)
            return found
        return whole(engine, batch)

    monkeypatch.setattr(Watched, "_read", damaged_at_first)
    assert backlog.drain() == 3
    assert not bad


def test_a_reading_that_fails_ahead_is_done_again_where_its_failure_counts() -> None:
    backlog = Backlog()
    land(backlog.store, A, 1, 2, 3)
    place = layout.join(layout.table_folder(A), file_name(3))

    class Failing(AtOnce):
        def submit(self, do: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            data = backlog.store.read(place).data
            if do.__name__ == "_read_planned":
                backlog.store.delete_file(place)
            done = super().submit(do, *args, **kwargs)
            backlog.store.write(place, data)
            return done

    backlog.engine = ReadingAhead(backlog.ports, backlog.inner, 1, Failing())
    assert backlog.drain() == 3
    assert backlog.inner.read_files == [(1,), (2,), (3,), (3,)]


def test_what_was_read_for_a_table_that_is_held_makes_room_for_others() -> None:
    backlog = Backlog()
    land(backlog.store, A, 1, 2, 3)
    backlog.inner.amid[2] = lambda: hold(backlog.ports, A, Operator("ann"))
    assert backlog.drain() == 2
    assert len(backlog.inner.held) == 1
    land(backlog.store, B, 1, 2, 3)
    assert backlog.drain(B) == 3
    assert not backlog.inner.held


@pytest.mark.parametrize(("workers", "reads_ahead"), [(2, False), (3, True)])
def test_nothing_is_read_ahead_while_all_workers_are_at_work(
    workers: int, *, reads_ahead: bool
) -> None:
    backlog = Backlog(workers)
    for folder in (A, B):
        land(backlog.store, folder, 1, 2, 3)
        reconcile(backlog.ports, backlog.engine, folder)
    # Another worker commits to B while one commits to A.
    backlog.inner.read_files.clear()
    backlog.inner.amid[2] = lambda: reconcile(backlog.ports, backlog.engine, B)
    reconcile(backlog.ports, backlog.engine, A)
    ahead_of_a, of_b = [(3,)], [(2,)]
    assert backlog.inner.read_files == [
        (2,),
        *ahead_of_a,
        *of_b,
        *([(3,)] if reads_ahead else []),
    ]
