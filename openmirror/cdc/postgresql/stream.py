"""One stream: from a database's log and rows to change files, exactly once.

Three threads share the work. The log's thread receives (`replication`), the caller's thread cuts
what it received into batches, and one more thread lands them, in their order:

1. The catalogue is read, until one reading sees every transaction of the batch (`gate`).
2. Each table's changes land, or are staged for its load (`tables`).
3. The stream's document moves on.
4. Only then the log is acknowledged.

A process that ends anywhere begins again from the document: the server sends everything behind it
once more, and what landed already is left out by its place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Protocol
from uuid import uuid4

from openmirror.cdc.postgresql.batches import Assembler, Changes, LogBatch
from openmirror.cdc.postgresql.definitions import Oid
from openmirror.cdc.postgresql.fingerprints import Fingerprint, parsed
from openmirror.cdc.postgresql.gate import CatalogueGate
from openmirror.cdc.postgresql.loads import LoadFailure, StreamLoads
from openmirror.cdc.postgresql.pgoutput import BeginMessage
from openmirror.cdc.postgresql.places import LogPlace, Lsn
from openmirror.cdc.postgresql.reloads import Reloads
from openmirror.cdc.postgresql.replication import ReplicationReader
from openmirror.cdc.postgresql.shapes import TableShape
from openmirror.cdc.postgresql.tables import (
    Mode,
    TableChanges,
    TableOutcome,
    TableState,
    is_by_itself,
    stopped_anew,
)
from openmirror.cdc.relay.document import SharedDocument
from openmirror.cdc.relay.relay import BatchReport
from openmirror.protocol.names import TablePath
from openmirror.protocol.streams import Offset, StoppedTable, StopReason, StreamDocument

_ASK_EVERY = 5.0
"""Seconds between two checks of what operators ask for."""
_NEWS_EVERY = 0.1
"""Seconds between two checks of what loads have to say, while nothing comes in the log."""
_REST = 2.0
"""News of loads wait this many times as long as the document took to write last, and at most for
the trigger. With ten thousand tables the document is large, and is not written for each of them."""
_LANDING_THREADS = 4
"""Tables whose changes land at the same time."""
_MOST_FOOTERS = 64
"""Tables without changes whose newest footers are read with one reading of all tables."""


@dataclass(frozen=True, kw_only=True)
class StreamLimits:
    """How much is landed at once, and how often."""

    trigger_seconds: float = 1.0
    """How long changes are gathered before they land."""
    batch_bytes: int = 48 << 20
    """A batch ends with the first transaction behind so many bytes of memory."""
    transaction_bytes: int = 48 << 20
    """A transaction of more bytes is staged in parts before it lands."""
    reading_seconds: float = 2.0
    """How long, at least, between two readings of all tables in the catalogue."""
    idle_seconds: float = 10.0
    """How long the document may stay behind while nothing lands."""


class StreamTables(Protocol):
    """The tables of a stream in its database. Every method raises what the database raises."""

    def resolve(self, changes: Changes, now: Fingerprint | None) -> TableShape | StopReason:
        """Return how changes are read, by the catalogue behind their transaction.

        Args:
            changes: raw changes of a table that is mirrored.
            now: the table's fingerprint behind them.
        """
        ...

    def rearrange(self) -> bool:
        """Bring publication and document to the tables that are there now.

        Returns whether that is done; otherwise it must be tried again.
        """
        ...


class BatchLanding:
    """Lands batches one after another, and moves the stream's document on behind them."""

    def __init__(
        self,
        document: SharedDocument,
        tables: dict[TablePath, TableState],
        changes: TableChanges,
        loads: StreamLoads,
        gate: CatalogueGate,
        database: StreamTables,
        reloads: Reloads,
        acknowledge: Callable[[Lsn], None],
        limits: StreamLimits,
    ) -> None:
        self._document = document
        self._reloads = reloads
        self._tables = tables
        self._changes = changes
        self._loads = loads
        self._gate = gate
        self._database = database
        self._acknowledge = acknowledge
        self._limits = limits
        self._end = Lsn(document.now.complete_to)
        self._pool = ThreadPoolExecutor(_LANDING_THREADS, thread_name_prefix="landing")
        self._written_at = time.monotonic()
        self._checked_at = 0.0
        self.seconds_to_write = 0.0
        """How long it took to write the document last."""

    @property
    def end(self) -> Lsn:
        """Everything before it has landed, or is staged."""
        return self._end

    def close(self) -> None:
        """End the threads that land."""
        self._pool.shutdown(wait=True)

    def land(self, batch: LogBatch) -> BatchReport:
        """Land a batch. Raises what the store and the database raise; then open the stream anew."""
        self._loads.take_events()
        self._take_requests()
        found, is_of_all = self._pass_gate(batch)
        loaded = self._loads.landed()
        late = {path: self._land_late(path, through) for path, through in loaded.items()}
        outcomes = self._take(batch, found, is_of_all=is_of_all)
        for path, outcome in late.items():
            mine = outcomes.setdefault(path, TableOutcome())
            mine.rows += outcome.rows
            mine.stop, mine.anew = mine.stop or outcome.stop, mine.anew or outcome.anew
        self._loads.begin_some()
        failed = self._loads.failed()
        if batch.is_whole:
            self._end = batch.end
        stopped = self._write(batch, outcomes, frozenset(loaded), failed)
        for mark in batch.marks:
            self._loads.mark_came(mark)
        return BatchReport(
            records=batch.messages,
            end=Offset(batch.end),
            rows={path: one.rows for path, one in outcomes.items() if one.rows},
            stopped=stopped,
            anew=frozenset(loaded),
            newest_ts_us=batch.newest_us,
        )

    def _pass_gate(self, batch: LogBatch) -> tuple[Mapping[Oid, Fingerprint], bool]:
        """Read the catalogue behind a batch.

        Returns the fingerprints of the batch's tables, or of all, and whether these are all.
        """
        oids = {table.oid for table in self._tables.values() if table.staged} | batch.items.keys()
        if not self._gate.is_due():
            if not oids and not batch.transactions:
                return {}, False
            found = self._gate.read(batch.transactions, oids).tables
            if not self._has_moved(found, oids):
                return found, False
        found = self._gate.read(batch.transactions, self._oids()).tables
        must_rearrange = self._gate.must_rearrange() or self._has_moved(found, self._oids())
        if self._have_stops_changed(found) or must_rearrange:
            is_complete = self._database.rearrange()
            self._gate.rearranged(is_complete=is_complete)
            self._adopt()
            found = self._gate.read(batch.transactions, self._oids()).tables
        return found, True

    def _oids(self) -> set[Oid]:
        return {table.oid for table in self._tables.values()}

    def _has_moved(self, found: Mapping[Oid, Fingerprint], oids: Collection[Oid]) -> bool:
        """Return whether a table is gone, has another name, or is published in another way."""
        tables = [t for t in self._tables.values() if t.oid in oids and t.mode is not Mode.WAITING]
        for table in tables:
            now = found.get(table.oid)
            if now is None:
                return True
            if now == table.accepted:
                continue
            facts = parsed(now)
            sent = facts.sent if table.accepted is None else parsed(table.accepted).sent
            if facts.title != table.title or facts.sent != sent:
                return True
        return False

    def _have_stops_changed(self, found: Mapping[Oid, Fingerprint]) -> bool:
        """Return whether a table that has stopped has another definition than in the last reading.

        Its columns may be readable now.
        """
        has_changed = False
        for path, table in self._tables.items():
            if table.mode is Mode.WAITING and path in self._document.now.stopped:
                now = found.get(table.oid)
                has_changed = has_changed or table.waited_with not in (None, now)
                table.waited_with = now
            else:
                table.waited_with = None
        return has_changed

    def _adopt(self) -> None:
        """Take the tables as the document has them."""
        there = self._document.now
        assert there.log is not None
        oids = {path: oid for oid, path in there.log.tables.items()}
        gone = [path for path, table in self._tables.items() if oids.get(path) != table.oid]
        self._loads.end(gone)
        for path in gone:
            del self._tables[path]
        for path, oid in oids.items():
            table = self._tables.get(path)
            if table is None:
                self._tables[path] = TableState(path=path, oid=oid, mode=Mode.WAITING)
                continue
            asked = there.resnapshots.get(path)
            is_other = asked is not None and table.load not in (None, asked.number)
            if is_other or (table.mode is Mode.LANDING and path in there.stopped):
                self._loads.end([path])
                table.wait()

    def _take_requests(self) -> None:
        """Want the loads that operators have asked for."""
        now = time.monotonic()
        if now - self._checked_at >= _ASK_EVERY:
            self._checked_at = now
            self._document.refresh()
        for path, one in self._document.now.resnapshots.items():
            table = self._tables.get(path)
            if table is not None and table.load is None and one.since is None:
                table.load = one.number
                before = self._document.now.stopped.get(path)
                is_again = before is not None and is_by_itself(before.stop)
                self._loads.want(path, one.number, is_again=is_again)

    def _take(
        self, batch: LogBatch, found: Mapping[Oid, Fingerprint], *, is_of_all: bool
    ) -> dict[TablePath, TableOutcome]:
        chosen = []
        unread = _MOST_FOOTERS
        for path, table in self._tables.items():
            is_due = table.oid in batch.items or bool(table.staged)
            if not is_due and is_of_all and table.mode is not Mode.WAITING:
                is_due = table.accepted != found.get(table.oid)
                if is_due and table.accepted is None:
                    unread -= 1
                    is_due = unread >= 0
            if is_due:
                chosen.append((path, table))
        for _, table in chosen:
            for item in batch.items.get(table.oid, ()):
                if isinstance(item, Changes):
                    item.shape = self._database.resolve(item, found.get(table.oid))
        end = LogPlace(batch.end, 0)
        futures = [
            self._pool.submit(
                self._changes.take,
                table,
                batch.items.get(table.oid, ()),
                found.get(table.oid),
                end,
                is_whole=batch.is_whole,
            )
            for _, table in chosen
        ]
        return {path: future.result() for (path, _), future in zip(chosen, futures, strict=True)}

    def _land_late(self, path: TablePath, through: LogPlace) -> TableOutcome:
        """Let a table whose load has landed go on, first with the changes that came meanwhile."""
        table = self._tables[path]
        assert table.load is not None
        pieces = self._loads.staged_behind(table.load, through)
        table.mode, table.load = Mode.LANDING, None
        return self._changes.land_staged(table, pieces)

    def _write(
        self,
        batch: LogBatch,
        outcomes: Mapping[TablePath, TableOutcome],
        loaded: frozenset[TablePath],
        failed: Mapping[TablePath, LoadFailure],
    ) -> dict[TablePath, StoppedTable]:
        """Move the document on where something is to be stated, or it is due; then acknowledge."""
        stopped, wanted = self._ends(batch, outcomes, failed)
        news = bool(
            stopped or wanted or loaded or any(o.rows or o.begun for o in outcomes.values())
        )
        is_due = time.monotonic() - self._written_at >= self._limits.idle_seconds
        if not news and not (is_due and self._end > self._document.now.complete_to):
            return stopped
        begun = {
            one.begun[0]: Offset(one.begun[1].commit)
            for one in outcomes.values()
            if one.begun is not None
        }
        landed = [path for path, one in outcomes.items() if one.rows]

        def change(there: StreamDocument) -> StreamDocument:
            stops = {
                path: _since_before(one, there.stopped.get(path)) for path, one in stopped.items()
            }
            there = there.begun(begun).resumed(*loaded, *stopped)
            there = there.without_resnapshots(*loaded, *stopped, *wanted)
            there = there.advanced(Offset(self._end), (*landed, *loaded), stops)
            return there.wanting_all(wanted)

        begins = time.monotonic()
        self._document.change(change)
        self._written_at = time.monotonic()
        self.seconds_to_write = self._written_at - begins
        self._acknowledge(Lsn(self._document.now.complete_to))
        self._loads.end(loaded)
        self._take_requests()
        return stopped

    def _ends(
        self,
        batch: LogBatch,
        outcomes: Mapping[TablePath, TableOutcome],
        failed: Mapping[TablePath, LoadFailure],
    ) -> tuple[dict[TablePath, StoppedTable], dict[TablePath, str]]:
        """Return the tables that stopped, and those that are loaded again with a new number."""
        stopped: dict[TablePath, StoppedTable] = {}
        wanted: dict[TablePath, str] = {}
        for path, one in outcomes.items():
            if one.stop is not None:
                place, reason = one.stop
                stopped[path] = StoppedTable(Offset(place.commit), reason)
            elif one.anew is not None:
                place, why = one.anew
                refusal = None
                if path in self._document.now.tables:
                    refusal = self._reloads.refusal(path, self._tables[path].oid, why)
                reason = refusal or stopped_anew(path, why)
                stopped[path] = StoppedTable(Offset(place.commit), reason)
                if refusal is None:
                    wanted[path] = uuid4().hex
        for path, failure in failed.items():
            if path in stopped:
                continue
            self._tables[path].wait()
            if failure.stop is None:
                wanted[path] = uuid4().hex
            reason = failure.stop or stopped_anew(path, failure.why)
            # Also a table that is loaded again has stopped: its changes since the first mark are
            # in no file, so it must not go on landing if the process ends now.
            stopped[path] = StoppedTable(Offset(batch.end), reason)
        self._loads.end({*stopped, *failed})
        return stopped, wanted


def _since_before(now: StoppedTable, before: StoppedTable | None) -> StoppedTable:
    """Return a table's stop with the newest reason, at the place where it stopped first.

    A table that is loaded again has stopped already. If its load fails, only the reason of the
    failure has a remedy.
    """
    return now if before is None else replace(now, at=min(now.at, before.at))


class LogStream:
    """Reads one database's log into one zone, from one connection until that ends.

    `turn` again and again, then `close`. After an error the stream is of no use any more: another
    one goes on from the document.
    """

    def __init__(
        self,
        connect: Callable[[Lsn], ReplicationReader],
        assembler: Assembler,
        landing: BatchLanding,
        loads: StreamLoads,
        limits: StreamLimits,
    ) -> None:
        """Args:
        connect: gives a reader of the log from an LSN on, which has been started.
        assembler: makes batches of what the reader gives.
        landing: lands the batches.
        loads: the loads that run beside.
        limits: how much is landed at once, and how often.
        """
        self._connect = connect
        self._parts = ExitStack()
        self._reader = connect(assembler.end)
        self._assembler = assembler
        self._landing = landing
        self._loads = loads
        self._limits = limits
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="batches")
        self._underway: Future[BatchReport] | None = None

    @property
    def transaction(self) -> BeginMessage | None:
        """The transaction that has begun and not ended; None between two."""
        return self._assembler.transaction

    @property
    def last_table(self) -> str:
        """The table that the server described last; empty where it described none."""
        last = self._assembler.last_relation
        return "" if last is None else f"{last.schema}.{last.name}"

    @property
    def bytes_behind(self) -> int:
        """Bytes of the log that have been received and have not landed, about."""
        return self._reader.received - min(self._reader.received, self._landing.end)

    def acknowledge(self, lsn: Lsn) -> None:
        """Report the server that everything before this LSN may be forgotten."""
        self._reader.acknowledge(lsn)

    def keep(self, parts: ExitStack) -> None:
        """Close these parts with the stream."""
        self._parts = parts

    def turn(self) -> BatchReport | None:
        """Gather one batch, and return what became of the one before.

        None where none was underway. Raises what reading the log, the store and the database
        raise.
        """
        self._gather()
        before = self._underway
        done = None if before is None else before.result()
        if self._assembler.transaction is None:
            self._reconnect_if_asked()
        self._underway = self._worker.submit(self._landing.land, self._assembler.cut())
        return done

    def drain(self) -> BatchReport | None:
        """Wait for the batch that is underway, and return what became of it."""
        before, self._underway = self._underway, None
        return None if before is None else before.result()

    def close(self) -> None:
        """Wait for the batch that is underway, whatever becomes of it, and end the threads."""
        self._worker.shutdown(wait=True)
        self._reader.close()
        self._parts.close()

    def _reconnect_if_asked(self) -> None:
        """Read by a new connection where loads wait for that, between two transactions.

        Older servers send changes of a table that was published meanwhile only to a new one.
        """
        asking = self._loads.asking()
        if asking:
            self._reader.close()
            self._reader = self._connect(self._assembler.end)
            self._assembler.forget_relations()
            self._loads.begin(asking)

    def _gather(self) -> None:
        """Feed what comes until a batch is due."""
        assembler, limits = self._assembler, self._limits
        now = time.monotonic()
        until = now + limits.trigger_seconds
        rests_until = now + self._landing.seconds_to_write * _REST
        while True:
            now = time.monotonic()
            left = until - now
            if assembler.transaction is None:
                if assembler.size >= limits.batch_bytes or left <= 0:
                    return
                if now >= rests_until and (assembler.has_marks or self._loads.has_news()):
                    return
            elif assembler.size >= limits.transaction_bytes:
                return
            self._loads.check()
            assembler.feed(self._reader.take(min(max(left, 0.02), _NEWS_EVERY)))
