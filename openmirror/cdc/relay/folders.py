"""The table folders that a stream is landed in, and what keeps a table from going on there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.decoded import DecodedRows
from openmirror.cdc.relay.composing import StreamComposer
from openmirror.cdc.relay.kept_stops import forget_stop, keep_stop, kept_stops
from openmirror.cdc.relay.runs import from_offset
from openmirror.cdc.relay.selecting import Before, Selection, TableRecords, select
from openmirror.cdc.stops import ASK_CONNECTOR
from openmirror.errors import FolderReplaced, NotThere, OtherPublisher, PublishRefused
from openmirror.ports import FileStore
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.names import TablePath
from openmirror.protocol.rows import Marker
from openmirror.protocol.streams import StopCode, StoppedTable, StopReason, StreamIdentity
from openmirror.publishing.declaring import declared
from openmirror.publishing.landing import Lander
from openmirror.publishing.naming import need_own_name, need_possible
from openmirror.publishing.tidying import tidy
from openmirror.table.layout import StorePath, join

_BEGIN_ANEW = "Let its connector take a snapshot of all tables, and begin the stream anew: --anew."


@dataclass(frozen=True)
class LandedRecords:
    """What became of one table's part of a batch."""

    rows: int = 0
    """Change rows that landed."""
    stopped: StoppedTable | None = None
    held: TableRecords | None = None
    """What is to be landed together with records that follow."""
    is_anew: bool = False
    """Whether a new snapshot has begun to land, behind where the table had stopped."""


@dataclass(frozen=True)
class _OpenFolder:
    metadata: TableMetadata
    lander: Lander


class RelayedFolders:
    """Lands one stream's records in the tables of one zone."""

    def __init__(
        self,
        store: FileStore,
        zone: StorePath,
        stream: str,
        identity: StreamIdentity,
        default_schema: str,
        takes: frozenset[Marker],
    ) -> None:
        """`takes`: what the zone's mirror takes beyond the published markers."""
        self._takes = takes
        self._store = store
        self._zone = zone
        self._stream = stream
        self._identity = identity
        self._default_schema = default_schema
        self._open: dict[TablePath, _OpenFolder] = {}

    def land(self, path: TablePath, records: TableRecords, *, is_known: bool) -> LandedRecords:
        """Land what of these records has not landed; a table that cannot go on is an answer.

        `is_known`: whether files of this stream landed in it before. Raises what the store does.
        """
        try:
            return self._land(path, records, is_known=is_known)
        except FolderReplaced as error:
            self._open.pop(path, None)
            stop = StopReason(StopCode.RESNAPSHOT_NEEDED, f"{path}: {error}", _BEGIN_ANEW)
        except (PublishRefused, OtherPublisher) as error:
            stop = StopReason(StopCode.CHANGE_REFUSED, f"{path}: {error}", ASK_CONNECTOR)
        return LandedRecords(stopped=StoppedTable(records.first, stop))

    def keep_stops(self, stopped: Mapping[TablePath, StoppedTable]) -> None:
        """Let the folders remember those whose records nobody keeps."""
        for path, stop in stopped.items():
            if stop.stop.code.needs_snapshot:
                keep_stop(self._store, self._folder(path), self._stream, self._identity, stop)

    def forget_stop(self, path: TablePath) -> None:
        """A table goes on."""
        forget_stop(self._store, self._folder(path), self._stream)

    def kept_stops(self) -> Mapping[TablePath, StoppedTable]:
        """What the folders remember, for a stream whose document is lost."""
        return kept_stops(self._store, self._zone, self._stream, self._identity)

    def delete(self, path: TablePath) -> None:
        """Delete a table's folder, so that the table begins anew."""
        self._open.pop(path, None)
        try:
            self._store.delete_folder(self._folder(path))
        except NotThere:
            return

    def _land(self, path: TablePath, records: TableRecords, *, is_known: bool) -> LandedRecords:
        if not records.keys and not is_known and not self._has_folder(path):
            # It has no folder, and gets none; a truncate of an empty table needs none.
            if records.stop is None and all(map(_is_of_truncates, records.pieces)):
                return LandedRecords()
            return _ended(select(Before(), records), records, 0)
        # A truncate has no key, and may be the first record that is seen of a table.
        folder = self._opened(path, records.keys or None, is_known=is_known)
        keys, takes = records.keys or folder.metadata.key_columns, self._takes
        if folder.metadata.version_column is not None:
            takes -= {Marker.PARTIAL_UPDATE}
        records = replace(records, keys=keys, takes=takes)
        composer = StreamComposer(
            self._stream,
            self._identity,
            records,
            folder.metadata.default_marker,
            is_known=is_known,
        )
        rows = 0
        while folder.lander.land(composer.compose) is not None:
            rows += composer.rows
        ended = _ended(composer.selection, records, rows)
        return replace(ended, is_anew=composer.has_resumed)

    def _opened(
        self, path: TablePath, keys: tuple[str, ...] | None, *, is_known: bool
    ) -> _OpenFolder:
        if path in self._open:
            return self._open[path]
        need_possible(path)
        folder = self._folder(path)
        if is_known and self._store.incarnation(folder) is None:
            raise FolderReplaced("its folder was deleted, and with it what landed before")
        need_own_name(self._store, self._zone, path, self._default_schema)
        metadata = declared(self._store, folder, keys)
        tidy(self._store, folder)
        lander = Lander(self._store, folder, self._store.incarnation(folder))
        made = self._open[path] = _OpenFolder(metadata, lander)
        return made

    def _has_folder(self, path: TablePath) -> bool:
        """Also of a table that the stream's document does not know any more."""
        return path in self._open or self._store.incarnation(self._folder(path)) is not None

    def _folder(self, path: TablePath) -> StorePath:
        return join(self._zone, *str(path).split("/"))


def _is_of_truncates(piece: DecodedRows) -> bool:
    return bool(pc.all(pc.equal(piece.rows["__op"], "t")).as_py())


def _ended(selection: Selection, records: TableRecords, rows: int) -> LandedRecords:
    stopped = None if selection.stop is None else StoppedTable(*selection.stop)
    held = None
    if selection.held is not None:
        left = tuple(from_offset(piece, selection.held) for piece in records.pieces)
        held = replace(records, pieces=left, stop=None, stopped_at=None)
    return LandedRecords(rows, stopped, held)
