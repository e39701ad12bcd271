"""The relay: reads a stream in batches, and lands each table's part of them.

The order that makes it exact, whatever fails in between:

1. Records are read from a place before which every record has landed.
2. Each table's newest footer says which of them it has already; the others land.
3. Only then does the stream's document move on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.decoded import Decoded
from openmirror.cdc.records import RecordSource
from openmirror.cdc.relay.by_table import by_table, together
from openmirror.cdc.relay.document import document_path, read_document
from openmirror.cdc.relay.folders import LandedRecords, RelayedFolders
from openmirror.cdc.relay.selecting import TableRecords
from openmirror.cdc.stops import EventsLost, StreamReplaced
from openmirror.errors import NotThere, UnknownName, WrongRequest
from openmirror.ports import FileStore
from openmirror.protocol.names import TablePath
from openmirror.protocol.rows import Marker
from openmirror.protocol.streams import Offset, StoppedTable, StreamDocument
from openmirror.publishing.documents import bring_to
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


@dataclass(frozen=True)
class BatchReport:
    """What became of one batch."""

    records: int
    """Records that were read."""
    end: Offset
    """The next one to be read."""
    rows: Mapping[TablePath, int]
    """Change rows that landed, by table."""
    stopped: Mapping[TablePath, StoppedTable]
    """Tables that stopped now."""
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
        self._document = StreamDocument(source.identity)
        self._next = Offset(0)
        self._held: dict[TablePath, TableRecords] = {}
        self._written_at = 0.0

    @property
    def document(self) -> StreamDocument:
        """The stream's document, as it was read or written last."""
        return self._document

    def open(self, *, anew: bool = False) -> None:
        """Find out from where to read on.

        A stream that replaces another one makes its tables anew, with `anew`, or where the other
        one had not ended its first snapshot or landed nothing: their folders are deleted first.
        Raises StreamReplaced otherwise, and EventsLost where the stream does not reach back.
        """
        there = self._read()
        if there is not None and there.identity != self._source.identity:
            if not (anew or there.is_snapshot_open or not there.tables):
                raise StreamReplaced(_replaced(self._stream, there, self._source))
            for path in sorted(there.tables):
                self._folders.delete(path)
            self._store.delete_file(document_path(self._zone, self._stream))
            there = None
        earliest, _ = self._source.ends()
        if there is None:
            # What has landed of the records from there on says each table itself.
            self._write(lambda there: there.advanced(earliest, (), {}))
        else:
            self._document = there
        if self._document.needed_from < earliest:
            raise EventsLost(
                f"stream {self._stream} begins at record {earliest}, and record "
                f"{self._document.needed_from} is needed: take a new snapshot of its tables"
            )
        self._next = self._document.complete_to
        self._held = {}

    def step(self) -> BatchReport:
        """Land one batch; one without records where there is nothing to read.

        Raises StreamStopped for a record that nobody can attribute to a table.
        """
        records = self._read_records()
        if not records.num_rows:
            if self._is_document_due():
                self._advance(self._next, {})
            return BatchReport(0, self._next, {}, {})
        end = Offset(records.column("offset")[-1].as_py() + 1)
        decoded = self._decode(records)
        tables = by_table(decoded, end)
        landed = {
            path: self._land(path, together(self._held.get(path), tables.get(path), end))
            for path in sorted({**self._held, **tables})
            if path not in self._document.stopped
        }
        self._held = {path: one.held for path, one in landed.items() if one.held is not None}
        self._next = end
        snapshot = _snapshot_open(decoded)
        has_ended = snapshot is False and self._document.is_snapshot_open
        if has_ended or self._has_to_say(landed):
            self._advance(end, landed, snapshot)
        return BatchReport(
            records=records.num_rows,
            end=end,
            rows={path: one.rows for path, one in landed.items() if one.rows},
            stopped={path: one.stopped for path, one in landed.items() if one.stopped},
            newest_ts_us=_newest(decoded),
        )

    def retry(self, path: TablePath) -> BatchReport:
        """Let a table that stopped go on from there, up to where the others are.

        Where it stops again, nothing has changed but what landed before that. Raises UnknownName
        for a table that has not stopped, WrongRequest for one that only a snapshot helps, and
        EventsLost where the stream does not reach back.
        """
        stopped = self._document.stopped.get(path)
        if stopped is None:
            raise UnknownName(f"{path} has not stopped")
        if stopped.stop.code.needs_snapshot:
            why = f"{stopped.stop.detail}. {stopped.stop.remedy}"
            raise WrongRequest(f"{path} cannot go on where it stopped: {why}")
        at, read, rows = stopped.at, 0, 0
        landed = LandedRecords()
        while at < self._next and landed.stopped is None:
            most = min(self._options.most_records, self._next - at)
            records = self._source.read(at, most, self._options.most_bytes)
            at = Offset(records.column("offset")[-1].as_py() + 1)
            found = by_table(self._decode(records), at).get(path)
            read += records.num_rows
            if found is not None or landed.held is not None:
                landed = self._land(path, together(landed.held, found, at))
                rows += landed.rows
        again = {path: landed.stopped} if landed.stopped is not None else {}
        if landed.held is not None:
            self._held[path] = landed.held
        tables = [path] if rows else []
        self._write(lambda d: d.resumed(path).advanced(d.complete_to, tables, again))
        return BatchReport(read, at, {path: rows} if rows else {}, again)

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

    def _land(self, path: TablePath, records: TableRecords) -> LandedRecords:
        return self._folders.land(path, records, is_known=path in self._document.tables)

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
        self._write(lambda there: there.advanced(complete, tables, stopped, snapshot))
        self._source.forget(self._document.needed_from)

    def _has_to_say(self, landed: Mapping[TablePath, LandedRecords]) -> bool:
        """Whether the document has to move, and not only may."""
        changed = any(one.rows or one.stopped for one in landed.values())
        return changed or self._is_document_due()

    def _is_document_due(self) -> bool:
        waited = self._options.monotonic() - self._written_at
        return self._document.complete_to < self._next and waited >= self._options.idle_seconds

    def _read(self) -> StreamDocument | None:
        path = document_path(self._zone, self._stream)
        try:
            content = self._store.read(path)
        except NotThere:
            return None
        return read_document(content.data, path)

    def _write(self, change: Callable[[StreamDocument], StreamDocument]) -> None:
        path = document_path(self._zone, self._stream)

        def wanted(content: bytes) -> bytes | None:
            there = StreamDocument(self._source.identity)
            if content:
                there = read_document(content, path)
            if there.identity != self._source.identity:
                raise StreamReplaced(_replaced(self._stream, there, self._source))
            self._document = change(there)
            return None if content and self._document == there else self._document.as_json()

        bring_to(self._store, path, wanted)
        self._written_at = self._options.monotonic()


def _replaced(stream: str, there: StreamDocument, source: RecordSource) -> str:
    tables = ", ".join(sorted(map(str, there.tables))) or "none"
    return (
        f"stream {stream} is another one now ({source.identity}) than the one that its tables were "
        f"made of ({there.identity}): what changed between the two is in neither. Begin them anew "
        f"with --anew, which deletes these folders of the landing zone first: {tables}"
    )


def _snapshot_open(decoded: Decoded) -> bool | None:
    """Whether the first snapshot may go on behind a batch; None where the batch does not say.

    The last row of a snapshot does not end it: only what comes behind shows that the connector has
    gone on from there.
    """
    newest: tuple[int, str | None] | None = None
    for piece in decoded.tables:
        if piece.rows.num_rows:
            last = piece.rows.slice(piece.rows.num_rows - 1).to_pylist()[0]
            newest = max(newest or (-1, None), (last["__offset"], last["__snapshot"]))
    if newest is None:
        return False if decoded.others else None
    return newest[1] not in ("false", "incremental")


def _newest(decoded: Decoded) -> int | None:
    times = [pc.max(piece.rows.column("__ts_us")).as_py() for piece in decoded.tables]
    return max((time for time in times if time is not None), default=None)
