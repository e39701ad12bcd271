"""One stream: from a database's log and rows to change files, exactly once.

Three threads share the work. The log's thread receives (`replication`), the caller's thread cuts
what it received into batches, and one more thread lands them, in their order:

1. Each table's changes land, or are staged for its load (`tables`).
2. The stream's document moves on.
3. Only then the log is acknowledged, and only as far as every transaction is visible to a new
   snapshot.

A process that ends anywhere begins again from the document: the server sends everything behind it
once more, and what landed already is left out by its place.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Protocol
from uuid import uuid4

from openmirror.cdc.postgresql.batches import Assembler, LogBatch
from openmirror.cdc.postgresql.catalogue import Snapshot
from openmirror.cdc.postgresql.loads import LoadFailure, StreamLoads
from openmirror.cdc.postgresql.pgoutput import BeginMessage
from openmirror.cdc.postgresql.places import LogPlace, Lsn
from openmirror.cdc.postgresql.replication import ReplicationReader
from openmirror.cdc.postgresql.tables import (
    Mode,
    TableChanges,
    TableOutcome,
    TableState,
    stopped_anew,
)
from openmirror.cdc.postgresql.text_facts import TextFacts
from openmirror.cdc.relay.document import SharedDocument
from openmirror.cdc.relay.relay import BatchReport
from openmirror.protocol.names import TablePath
from openmirror.protocol.streams import Offset, StoppedTable, StreamDocument

_ASK_EVERY = 5.0
"""Seconds between two checks of what operators ask for."""
_NEWS_EVERY = 0.1
"""Seconds between two checks of what loads have to say, while nothing comes in the log."""
_REST = 2.0
"""News of loads wait this many times as long as the document took to write last, and at most for
the trigger. With ten thousand tables the document is large, and is not written for each of them."""
_LANDING_THREADS = 4
"""Tables whose changes land at the same time."""


@dataclass(frozen=True, kw_only=True)
class StreamLimits:
    """How much is landed at once, and how often."""

    trigger_seconds: float = 1.0
    """How long changes are gathered before they land."""
    batch_bytes: int = 48 << 20
    """A batch ends with the first transaction behind so many bytes of memory."""
    transaction_bytes: int = 48 << 20
    """A transaction of more bytes is staged in parts before it lands."""
    idle_seconds: float = 10.0
    """How long the document may stay behind while nothing lands."""


@dataclass
class Visibility:
    """Transactions that have landed and are not known to be visible to every new snapshot.

    The server sends a transaction before others can see it, for seconds under synchronous
    replication. A load that began then would miss it, so it is not acknowledged before.
    """

    complete: Lsn
    """Every transaction that ends before it is visible."""
    end: Lsn
    """Everything before it has landed."""
    waiting: deque[tuple[Lsn, int]] = field(default_factory=deque)
    """The end and the number of each, in the order of their commits."""
    _held: list[tuple[Lsn, int]] = field(default_factory=list)

    def landed(self, batch: LogBatch) -> None:
        """Take the transactions of a batch, once the batch ends with a whole one and has landed."""
        self._held.extend(batch.commits)
        if batch.is_whole:
            self.waiting.extend(self._held)
            self._held.clear()
            self.end = batch.end

    def see(self, snapshot: Snapshot) -> None:
        """Move `complete` on as far as this snapshot sees."""
        while self.waiting and snapshot.sees(self.waiting[0][1]):
            self.complete = self.waiting.popleft()[0]
        if not self.waiting:
            self.complete = max(self.complete, self.end)

    @property
    def unseen(self) -> frozenset[int]:
        """The numbers of transactions that are not known to be visible."""
        return frozenset(xid for _, xid in self.waiting)


@dataclass(frozen=True)
class TextChanges:
    """Facts of types that have changed the text of values (`text_facts`)."""

    facts: TextFacts
    """As they are now."""
    tables: tuple[TablePath, ...]
    """Tables whose rows have other texts than before."""


class Watch(Protocol):
    """Questions to the database while its log is read."""

    def snapshot(self) -> Snapshot:
        """Return which transactions are visible now."""
        ...

    def changes(self) -> TextChanges | None:
        """Return which tables' rows have other texts now; None where it is not time to ask.

        Raises what keeps the stream from being read any longer.
        """
        ...


class BatchLanding:
    """Lands batches one after another, and moves the stream's document on behind them."""

    def __init__(
        self,
        document: SharedDocument,
        tables: Mapping[TablePath, TableState],
        changes: TableChanges,
        loads: StreamLoads,
        watch: Watch,
        acknowledge: Callable[[Lsn], None],
        limits: StreamLimits,
    ) -> None:
        self._document = document
        self._tables = tables
        self._changes = changes
        self._loads = loads
        self._watch = watch
        self._acknowledge = acknowledge
        self._limits = limits
        self._visibility = Visibility(
            complete=Lsn(document.now.complete_to), end=Lsn(document.now.complete_to)
        )
        self._pool = ThreadPoolExecutor(_LANDING_THREADS, thread_name_prefix="landing")
        self._written_at = time.monotonic()
        self._checked_at = 0.0
        self.seconds_to_write = 0.0
        """How long it took to write the document last."""

    @property
    def end(self) -> Lsn:
        """Everything before it has landed, or is staged."""
        return self._visibility.end

    def close(self) -> None:
        """End the threads that land."""
        self._pool.shutdown(wait=True)

    def land(self, batch: LogBatch) -> BatchReport:
        """Land a batch. Raises what the store and the database raise; then open the stream anew."""
        self._loads.take_events()
        self._take_requests()
        texts = self._watch.changes()
        loaded = self._loads.landed()
        late = {path: self._land_late(path, through) for path, through in loaded.items()}
        outcomes = self._take(batch)
        for path, outcome in late.items():
            mine = outcomes.setdefault(path, TableOutcome())
            mine.rows += outcome.rows
            mine.stop, mine.anew = mine.stop or outcome.stop, mine.anew or outcome.anew
        if texts is not None:
            self._take_texts(texts, batch, outcomes)
        self._loads.begin_some()
        failed = self._loads.failed()
        self._visibility.landed(batch)
        stopped = self._write(batch, outcomes, frozenset(loaded), failed, texts)
        for mark in batch.marks:
            self._loads.mark_came(mark, self._visibility.unseen)
        return BatchReport(
            records=batch.messages,
            end=Offset(batch.end),
            rows={path: one.rows for path, one in outcomes.items() if one.rows},
            stopped=stopped,
            anew=frozenset(loaded),
            newest_ts_us=batch.newest_us,
        )

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
                self._loads.want(path, one.number)

    def _take_texts(
        self, texts: TextChanges, batch: LogBatch, outcomes: dict[TablePath, TableOutcome]
    ) -> None:
        """Let tables be loaded again whose rows have other texts now."""
        for path in texts.tables:
            table, outcome = self._tables[path], outcomes.setdefault(path, TableOutcome())
            if table.mode is not Mode.WAITING or table.load is not None:
                table.mode, table.load, table.sent = Mode.WAITING, None, None
                why = "a type of its columns has other labels or attributes than before"
                outcome.anew = outcome.anew or (LogPlace(batch.end, 0), why)

    def _take(self, batch: LogBatch) -> dict[TablePath, TableOutcome]:
        paths = [
            path for path, table in self._tables.items() if path in batch.items or table.staged
        ]
        take = self._changes.take
        futures = [
            self._pool.submit(
                take, self._tables[path], batch.items.get(path, ()), is_whole=batch.is_whole
            )
            for path in paths
        ]
        return dict(zip(paths, [future.result() for future in futures], strict=True))

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
        texts: TextChanges | None,
    ) -> dict[TablePath, StoppedTable]:
        """Move the document on where something is to be stated, or it is due; then acknowledge."""
        stopped, wanted = self._ends(batch, outcomes, failed)
        news = bool(
            stopped or wanted or loaded or any(o.rows or o.begun for o in outcomes.values())
        )
        log = self._document.now.log
        assert log is not None
        facts = log.texts if texts is None else {**log.texts, **texts.facts}
        news = news or facts != log.texts
        is_due = time.monotonic() - self._written_at >= self._limits.idle_seconds
        moved = self._visibility.waiting or batch.end > self._visibility.complete
        if not news and not (is_due and moved) and not batch.marks:
            return stopped
        self._visibility.see(self._watch.snapshot())
        begun = {
            one.begun[0]: Offset(one.begun[1].commit)
            for one in outcomes.values()
            if one.begun is not None
        }
        landed = [path for path, one in outcomes.items() if one.rows]

        def change(there: StreamDocument) -> StreamDocument:
            if there.log is not None:
                there = replace(there, log=replace(there.log, texts=facts))
            stops = {
                path: _since_before(one, there.stopped.get(path)) for path, one in stopped.items()
            }
            there = there.begun(begun).resumed(*loaded, *stopped)
            there = there.without_resnapshots(*loaded, *stopped, *wanted)
            there = there.advanced(Offset(self._visibility.complete), (*landed, *loaded), stops)
            return there.wanting_all(wanted)

        if news or is_due:
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
                stopped[path] = StoppedTable(Offset(place.commit), stopped_anew(path, why))
                wanted[path] = uuid4().hex
        for path, failure in failed.items():
            if path in stopped:
                continue
            self._tables[path].mode, self._tables[path].load = Mode.WAITING, None
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
        return "" if last is None else str(last.path)

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
