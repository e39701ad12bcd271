"""Reading a table's next batch while the one before it is committed (decision 0041).

What is read ahead is a guess. After the commit the table is observed and planned as ever; only a
plan that asks for exactly the batch that was read takes it, and then incarnation and ETags are
checked as after any reading. So nothing is decided by a guess, and nothing of it is written down.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, replace

from openmirror.plan import Batch, plan
from openmirror.plan.decisions import Apply
from openmirror.ports import BadFile, CommitResult, LogReader, Prepared, TableEngine, Transaction
from openmirror.ports.engine_around import EngineAround
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.observing import observe
from openmirror.reconcile.root_ports import RootPorts
from openmirror.table.control import BatchKind
from openmirror.table.layout import StorePath
from openmirror.table.log import BrokenLog, TableLog


class ReadingAhead(EngineAround):
    """A TableEngine that reads while it commits; safe to use from several threads.

    One batch ahead of each table, and only while a worker of several has nothing to do: where all
    are at work, no time would be won.
    """

    def __init__(
        self, ports: RootPorts, engine: TableEngine, workers: int, threads: Executor
    ) -> None:
        """`threads` run what is read ahead, in the order in which it is handed to them."""
        super().__init__(engine)
        self._ports = ports
        self._workers = workers
        self._threads = threads
        self._lock = threading.Lock()
        self._at_work = 0
        self._ahead: dict[TableFolder, _Ahead] = {}

    def read(self, batch: Batch) -> Prepared | BadFile:
        """What was read ahead, if it is of this very batch; else as the engine does."""
        with self._working():
            with self._lock:
                ahead = self._ahead.pop(batch.folder, None)
            prepared = ahead.of(batch) if ahead else None
            return prepared or super().read(batch)

    def commit(
        self, batch: Batch, prepared: Prepared, transaction: Transaction, batch_record: str
    ) -> CommitResult:
        """As the engine does; meanwhile the batch behind it is read, if there is one."""
        with self._working():
            if _leaves_one_behind(batch):
                self._begin(batch)
            return super().commit(batch, prepared, transaction, batch_record)

    @contextmanager
    def _working(self) -> Iterator[None]:
        with self._lock:
            self._at_work += 1
        try:
            yield
        finally:
            with self._lock:
                self._at_work -= 1

    def _begin(self, batch: Batch) -> None:
        with self._lock:
            if self._at_work >= max(self._workers, 2):
                return
            passed = [self._ahead.pop(batch.folder, None)]
            if len(self._ahead) >= self._workers:
                # Of a table that has stopped: nobody asks for it any more.
                passed.append(self._ahead.pop(next(iter(self._ahead))))
            planned = self._threads.submit(self._planned_behind, batch)
            read = self._threads.submit(self._read_planned, planned)
            self._ahead[batch.folder] = _Ahead(planned, read)
        for ahead in passed:
            if ahead:
                ahead.leave()

    def _planned_behind(self, batch: Batch) -> Batch | None:
        """The batch that the next plan asks for, if this one is committed and nothing else is."""
        ports = replace(self._ports, logs=_AsCommitted(self._ports.logs, batch))
        observed = observe(ports, batch.folder).observed
        decision = plan(observed, ports.limits, observed.at)
        return decision.batch if isinstance(decision, Apply) else None

    def _read_planned(self, planned: Future[Batch | None]) -> Prepared | BadFile | None:
        batch = planned.result()
        return None if batch is None else self._engine.read(batch)


@dataclass(frozen=True)
class _Ahead:
    """A batch that is being planned and read, or was."""

    planned: Future[Batch | None]
    read: Future[Prepared | BadFile | None]

    def of(self, batch: Batch) -> Prepared | None:
        """What was read, waiting for it if it is of this batch; else it is let go of.

        A reading that failed, or found a bad file, is done again: by now it may go well.
        """
        if self.planned.cancel() or self.planned.exception() or not self._is_of(batch):
            self.leave()
            return None
        if self.read.cancel() or self.read.exception():
            return None
        found = self.read.result()
        if found is None or isinstance(found, BadFile):
            return None
        if found.asks_table:
            found.release()
            return None
        return found

    def leave(self) -> None:
        """Let go of what was read, once it was."""
        self.planned.cancel()
        if not self.read.cancel():
            self.read.add_done_callback(_released)

    def _is_of(self, batch: Batch) -> bool:
        return self.planned.result() == batch


def _released(read: Future[Prepared | BadFile | None]) -> None:
    found = None if read.cancelled() or read.exception() else read.result()
    if found is not None and not isinstance(found, BadFile):
        found.release()


def _leaves_one_behind(batch: Batch) -> bool:
    """Whether a batch comes behind it that it does not change the plan of."""
    alters = batch.features.is_due or batch.union.widened or batch.hardens
    return batch.leaves_more and batch.kind is BatchKind.EXTEND and not alters


@dataclass(frozen=True)
class _AsCommitted:
    """Logs in which a batch is committed already."""

    logs: LogReader
    batch: Batch

    def read(self, table: StorePath) -> TableLog | BrokenLog | None:
        log = self.logs.read(table)
        if table != self.batch.table or not isinstance(log, TableLog):
            return log
        transactions = {**log.transactions, self.batch.epoch.app_id: self.batch.last}
        return replace(log, transactions=transactions, schema=self.batch.union.schema)
