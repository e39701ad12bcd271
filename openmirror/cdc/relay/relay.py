"""The relay: reads a stream in batches, and lands each table's part of them.

The order that makes it exact, whatever fails in between:

1. Records are read from a place before which every record has landed.
2. Each table's newest footer says which of them it has already; the others land.
3. Only then does the stream's document move on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.decoded import Decoded
from openmirror.cdc.records import RecordSource
from openmirror.cdc.relay.by_table import by_table, together
from openmirror.cdc.relay.choosing import placed, seen_tables
from openmirror.cdc.relay.document import SharedDocument
from openmirror.cdc.relay.folders import LandedRecords, RelayedFolders
from openmirror.cdc.relay.selecting import TableRecords
from openmirror.cdc.stops import EventsLost, StreamReplaced
from openmirror.errors import UnknownName, WrongRequest
from openmirror.ports import FileStore
from openmirror.protocol.names import TablePath
from openmirror.protocol.rows import Marker
from openmirror.protocol.streams import (
    START,
    Offset,
    StoppedTable,
    StreamDocument,
)
from openmirror.table.layout import StorePath


class Decode(Protocol):
    """Understands records (`RECORDS`)."""

    def __call__(self, records: pa.Table, /) -> Decoded:
        """What a batch says, table by table."""
        ...


@dataclass(frozen=True, kw_only=True)
class RelayOptions:
    """How a relay works."""

    most_records: int = 50_000
    """Records of one batch."""
    most_bytes: int = 64 << 20
    """Bytes of their keys and values, about."""
    idle_seconds: float = 10.0
    """How long the document may stay behind while nothing is landed."""
    default_schema: str = "dbo"
    takes: frozenset[Marker] = frozenset()
    """What the zone's mirror takes beyond the published markers (PROTOCOL §5.7)."""
    monotonic: Callable[[], float] = time.monotonic


@dataclass(frozen=True, kw_only=True)
class BatchReport:
    """What became of one batch."""

    records: int
    """Records that were read."""
    end: Offset
    """The next one to be read."""
    rows: Mapping[TablePath, int] = field(default_factory=dict)
    """Change rows that landed, by table."""
    stopped: Mapping[TablePath, StoppedTable] = field(default_factory=dict)
    """Tables that stopped now."""
    anew: frozenset[TablePath] = frozenset()
    """Tables that had stopped, and go on with a new snapshot."""
    newest_ts_us: int | None = None
    """The source's time of the newest change that was read: microseconds since 1970."""


class Relay:
    """Lands one stream in one zone. Several at once are safe, and of no use.

    `open` comes first. Every call may raise what the store raises (Unavailable, AccessDenied,
    OSError): nothing is lost then, and the same call goes on.
    """

    def __init__(
        self,
        store: FileStore,
        zone: StorePath,
        stream: str,
        source: RecordSource,
        decode: Decode,
        options: RelayOptions | None = None,
    ) -> None:
        self._store = store
        self._zone = zone
        self._stream = stream
        self._source = source
        self._decode = decode
        self._options = options or RelayOptions()
        self._folders = RelayedFolders(
            store,
            zone,
            stream,
            source.identity,
            self._options.default_schema,
            self._options.takes,
        )
        self._document = SharedDocument(store, zone, stream, source.identity)
        self._next = Offset(0)
        self._held: dict[TablePath, TableRecords] = {}
        self._written_at = 0.0

    @property
    def document(self) -> StreamDocument:
        """The stream's document, as it was read or written last."""
        return self._document.now

    @property
    def next(self) -> Offset:
        """The first record that has not been read."""
        return self._next

    def ends(self) -> tuple[Offset | None, Offset]:
        """The first record that is still there, and the next one that will be written.

        None for the first one where none goes that is needed.
        """
        begins, end = self._source.ends()
        return begins if self._source.forgets_by_itself else None, end

    def open(self, *, anew: bool = False) -> None:
        """Find out from where to read on.

        With `anew` its tables are made anew: their folders are deleted first. So does a stream that
        replaces another one which had not ended its first snapshot, or landed nothing.
        Raises StreamReplaced otherwise, and EventsLost where the stream does not reach back.
        """
        # Before the document: another relay may move that on, and let records go, at any moment.
        earliest, _ = self._source.ends()
        there = self._document.read()
        if there is not None and (anew or there.identity != self._source.identity):
            if not (anew or there.is_snapshot_open or not there.tables):
                raise StreamReplaced(self._document.replaced_by(there))
            for path in sorted(there.tables):
                self._folders.delete(path)
            self._document.delete()
            there = None
        if there is None:
            # What has landed of the records from there on says each table itself.
            kept = self._folders.kept_stops()
            self._change(lambda there: there.begun_at(earliest).advanced(earliest, kept, kept))
        else:
            self._document.adopt(there)
        if self._document.now.needed_from < earliest:
            raise EventsLost(
                f"stream {self._stream} begins at record {earliest}, and record "
                f"{self._document.now.needed_from} is needed. Take a new snapshot of its tables, "
                "and begin them from there: --anew"
            )
        self._next = self._document.now.complete_to
        self._held = {}

    def step(self) -> BatchReport:
        """Land one batch; one without records where there is nothing to read.

        Raises StreamStopped for a record that nobody can attribute to a table.
        """
        records = self._read_records()
        if not records.num_rows:
            if self._is_document_due():
                self._advance(self._next, {})
            else:
                # Another relay of this stream may have written it.
                self._document.refresh()
            return BatchReport(records=0, end=self._next)
        end = Offset(records.column("offset")[-1].as_py() + 1)
        decoded = self._decode(records)
        self._place(decoded)
        tables = by_table(decoded, end)
        landed = {
            path: self._go_on(path, together(self._held.get(path), tables.get(path), end))
            for path in sorted({**self._held, **tables})
        }
        self._held = {path: one.held for path, one in landed.items() if one.held is not None}
        self._next = end
        snapshot = _snapshot_open(decoded)
        has_ended = snapshot is False and self._document.now.is_snapshot_open
        # Behind its last record a snapshot has landed: only then is it not to be read again.
        if has_ended or self._has_to_say(landed):
            self._advance(end, landed, snapshot)
        return BatchReport(
            records=records.num_rows,
            end=end,
            rows={path: one.rows for path, one in landed.items() if one.rows},
            stopped={path: one.stopped for path, one in landed.items() if one.stopped},
            anew=frozenset(path for path, one in landed.items() if one.is_anew),
            newest_ts_us=_newest(decoded),
        )

    def retry(self, path: TablePath) -> BatchReport:
        """Let a table that stopped go on from there, up to where the others are.

        Where it stops again, nothing has changed but what landed before that. Raises UnknownName
        for a table that has not stopped, WrongRequest for one that only a snapshot helps, and
        EventsLost where the stream does not reach back.
        """
        stopped = self._document.now.stopped.get(path)
        if stopped is None:
            raise UnknownName(f"{path} has not stopped")
        if stopped.stop.code.needs_snapshot:
            why = f"{stopped.stop.detail}. {stopped.stop.remedy}"
            raise WrongRequest(f"{path} cannot go on where it stopped: {why}")
        end, read, rows = stopped.at, 0, 0
        landed = LandedRecords()
        for found, end, records in self._stretches(path, stopped.at, self._next):
            read += records
            if found is not None or landed.held is not None:
                landed = self._land(path, together(landed.held, found, end))
                rows += landed.rows
            if landed.stopped is not None:
                break
        again = {path: landed.stopped} if landed.stopped is not None else {}
        if landed.held is not None:
            self._held[path] = landed.held
        tables = [path] if rows else []
        self._change(lambda d: d.resumed(path).advanced(d.complete_to, tables, again))
        return BatchReport(records=read, end=end, rows={path: rows} if rows else {}, stopped=again)

    def _place(self, decoded: Decoded) -> None:
        """Let the document say where tables land, before any of these records does."""
        seen = tuple(seen_tables(decoded))
        there = self._document.now
        now = placed(there, seen)
        if now != there:
            new = {path: one for path, one in now.stopped.items() if path not in there.stopped}
            self._folders.keep_stops(new)
            self._change(lambda newest: placed(newest, seen))

    def _read_records(self) -> pa.Table:
        most_records, most_bytes = self._options.most_records, self._options.most_bytes
        try:
            return self._source.read(self._next, most_records, most_bytes)
        except EventsLost:
            # Another relay of this stream may have landed them, and let them go.
            before = self._next
            self.open()
            if self._next == before:
                raise
            return self._source.read(self._next, most_records, most_bytes)

    def _go_on(self, path: TablePath, records: TableRecords) -> LandedRecords:
        """Land a table's part of a batch; one that waits for a snapshot only from there on."""
        stopped, rows = self._document.now.stopped.get(path), 0
        landed = LandedRecords()
        if stopped is None:
            landed = self._land(path, records)
            stopped, rows = landed.stopped, landed.rows
        while stopped is not None and stopped.stop.code.needs_snapshot:
            again = self._land(path, replace(records, stopped_at=stopped.at))
            if not again.is_anew:
                break
            landed, stopped, rows = again, again.stopped, rows + again.rows
        return replace(landed, rows=rows)

    def _land(self, path: TablePath, records: TableRecords) -> LandedRecords:
        document = self._document.now
        is_known = path in document.tables
        records = replace(records, is_cut=document.begins_at > START)
        return self._folders.land(path, records, is_known=is_known)

    def _stretches(
        self, path: TablePath, at: Offset, end: Offset
    ) -> Iterator[tuple[TableRecords | None, Offset, int]]:
        """A table's records in portions: those of each, its end, and how many of all were read."""
        while at < end:
            most = min(self._options.most_records, end - at)
            records = self._source.read(at, most, self._options.most_bytes)
            # Offsets may have holes: what comes may lie behind the end, or be nothing.
            records = records.filter(pc.less(records.column("offset"), end))
            at = Offset(records.column("offset")[-1].as_py() + 1) if records.num_rows else end
            yield by_table(self._decode(records), at).get(path), at, records.num_rows

    def _advance(
        self,
        end: Offset,
        landed: Mapping[TablePath, LandedRecords],
        snapshot: bool | None = None,
    ) -> None:
        """Move the document on; what is held of a table is read again after a restart."""
        complete = min([end, *(records.first for records in self._held.values())])
        tables = [path for path, one in landed.items() if one.rows]
        stopped = {path: one.stopped for path, one in landed.items() if one.stopped}
        # Before the document, which lets their records go.
        self._folders.keep_stops(stopped)
        anew = [path for path, one in landed.items() if one.is_anew]
        self._change(
            lambda there: there.resumed(*anew).advanced(complete, tables, stopped, snapshot)
        )
        for path in anew:
            if path not in stopped:
                self._folders.forget_stop(path)
        self._source.forget(self._document.now.needed_from)

    def _has_to_say(self, landed: Mapping[TablePath, LandedRecords]) -> bool:
        """Whether the document has to move, and not only may."""
        changed = any(one.rows or one.stopped or one.is_anew for one in landed.values())
        return changed or self._is_document_due()

    def _is_document_due(self) -> bool:
        waited = self._options.monotonic() - self._written_at
        return self._document.now.complete_to < self._next and waited >= self._options.idle_seconds

    def _change(self, change: Callable[[StreamDocument], StreamDocument]) -> None:
        self._document.change(change)
        self._written_at = self._options.monotonic()


def _snapshot_open(decoded: Decoded) -> bool | None:
    """Whether the first snapshot may go on behind a batch; None where the batch does not say.

    The last row of a snapshot does not end it: only what comes behind shows that the connector has
    gone on from there.
    """
    newest: tuple[int, str | None] | None = None
    for piece in (*decoded.tables, *decoded.left_out):
        if piece.rows.num_rows:
            last = piece.rows.slice(piece.rows.num_rows - 1).to_pylist()[0]
            newest = max(newest or (-1, None), (last["__offset"], last["__snapshot"]))
    if newest is None:
        return False if decoded.others else None
    return newest[1] not in ("false", "incremental")


def _newest(decoded: Decoded) -> int | None:
    times = [pc.max(piece.rows.column("__ts_us")).as_py() for piece in decoded.tables]
    return max((time for time in times if time is not None), default=None)
