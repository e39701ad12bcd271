"""Change files of a stream's tables: made from placed rows, and landed (PROTOCOL §13.1, §13.4).

A table's newest footer alone says what has landed, so the same rows may be given again, cut in any
way: those that landed are left out by their places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from uuid import uuid4

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.cdc.postgresql.fingerprints import Fingerprint
from openmirror.cdc.postgresql.own_names import OwnNames
from openmirror.cdc.postgresql.placed_rows import COMMIT_COLUMN, NUMBER_COLUMN, PlacedRows
from openmirror.cdc.postgresql.places import BEFORE_ALL, LogPlace
from openmirror.cdc.postgresql.progress import LogProgress, SentColumn, progress_in
from openmirror.cdc.postgresql.staging import StagedPieces
from openmirror.errors import FolderReplaced, NotThere
from openmirror.formats.arrow_types import arrow_type
from openmirror.ports import FileStore
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.names import ROW_MARKER_COLUMN, TablePath, fold_case
from openmirror.protocol.rules import Broken
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.streams import StreamIdentity
from openmirror.publishing.columns import merged
from openmirror.publishing.declaring import declared
from openmirror.publishing.encoding import MARKER_TYPE, encoded, one_table
from openmirror.publishing.footer import PublishedFooter, with_footer
from openmirror.publishing.landing import ComposedFile, Lander
from openmirror.publishing.naming import need_possible
from openmirror.publishing.newest import ZoneState
from openmirror.publishing.pieces import WaitingRows, columns_of
from openmirror.publishing.streamed import StreamedParquet
from openmirror.publishing.tidying import tidy
from openmirror.table.layout import StorePath, join


@dataclass(frozen=True)
class OpenFolder:
    """A table folder that is written into."""

    metadata: TableMetadata
    lander: Lander

    def has_keys(self, keys: Sequence[str]) -> bool:
        """Return whether the table was made with these key columns."""
        return set(map(fold_case, keys)) == set(map(fold_case, self.metadata.key_columns))


class PlacedPiece(Protocol):
    """Change rows of one table, in memory or staged."""

    @property
    def columns(self) -> TableSchema:
        """The table's columns, those of lineage included."""
        ...

    @property
    def sent(self) -> tuple[SentColumn, ...]:
        """The columns as the log sent them."""
        ...

    @property
    def first(self) -> LogPlace:
        """The place of the first row."""
        ...

    @property
    def last(self) -> LogPlace:
        """The place of the last row."""
        ...

    @property
    def has_partial_updates(self) -> bool:
        """Whether markers are text."""
        ...

    def behind(self, place: LogPlace) -> PlacedPiece | None:
        """Return the rows whose places are behind another; None where there are none."""
        ...

    def tables(self) -> Iterator[pa.Table]:
        """Yield the rows with their places, the same at each call."""
        ...


@dataclass(frozen=True, kw_only=True)
class StagedChanges:
    """Change rows of a transaction larger than memory, staged in the zone."""

    pieces: StagedPieces
    name: str
    columns: TableSchema
    sent: tuple[SentColumn, ...]
    first: LogPlace
    last: LogPlace
    has_partial_updates: bool
    after: LogPlace = BEFORE_ALL
    """Rows up to here are left out, because they have landed."""

    def behind(self, place: LogPlace) -> StagedChanges | None:
        """Return the rows whose places are behind another; None where there are none."""
        return None if self.last <= place else replace(self, after=max(place, self.after))

    def tables(self) -> Iterator[pa.Table]:
        """Yield the rows with their places, the same at each call."""
        for table in self.pieces.read(self.name):
            kept = PlacedRows(table=table, columns=self.columns, sent=self.sent).behind(self.after)
            if kept is not None:
                yield kept.table


class StreamFolders:
    """The table folders that one stream lands in. Every method raises what the store raises."""

    def __init__(
        self,
        store: FileStore,
        zone: StorePath,
        stream: str,
        identity: StreamIdentity,
        default_schema: str = "dbo",
    ) -> None:
        self._store = store
        self._zone = zone
        self.stream = stream
        self.identity = identity
        self._names = OwnNames(store, zone, default_schema)
        self._open: dict[TablePath, OpenFolder] = {}

    def folder(self, path: TablePath) -> StorePath:
        """Return where a table's change files lie."""
        return join(self._zone, *str(path).split("/"))

    def opened(self, path: TablePath, keys: Sequence[str] | None = None) -> OpenFolder:
        """Return a table's folder, made with these keys where there is none.

        Raises:
            FolderReplaced: There is no folder, and no keys are given to make it with.
            PublishRefused: The name, or what lies in the folder, is not possible for a table.
        """
        if path in self._open:
            return self._open[path]
        need_possible(path)
        folder = self.folder(path)
        if keys is None and self._store.incarnation(folder) is None:
            raise FolderReplaced("its folder was deleted, and with it what landed before")
        self._names.need(path)
        metadata = declared(self._store, folder, keys)
        tidy(self._store, folder)
        lander = Lander(self._store, folder, self._store.incarnation(folder))
        self._open[path] = OpenFolder(metadata, lander)
        return self._open[path]

    def progress(self, path: TablePath) -> tuple[LogProgress, TableSchema] | None:
        """Return how far a table has landed, and every column that its files ever had.

        None where nothing of this stream has landed. Raises FolderReplaced without a folder.
        """
        state = self.opened(path).lander.state()
        progress = progress_in(state, self.stream, self.identity)
        return None if progress is None else (progress, state.columns)

    def has_folder(self, path: TablePath) -> bool:
        """Return whether a table has a folder now."""
        return self._store.incarnation(self.folder(path)) is not None

    def forget(self, path: TablePath) -> None:
        """Open a table's folder anew at its next use."""
        self._open.pop(path, None)

    def delete(self, path: TablePath) -> None:
        """Delete a table's folder; its Delta table stays until a new one has rows (PROTOCOL §7)."""
        self.forget(path)
        try:
            self._store.delete_folder(self.folder(path))
        except NotThere:
            return

    def land(self, path: TablePath, pieces: Sequence[PlacedPiece], fingerprint: Fingerprint) -> int:
        """Land what of these rows has not landed; return how many rows landed now.

        Args:
            path: the table.
            pieces: its rows, in their order.
            fingerprint: the table in the catalogue, as it was read behind the rows.

        Raises:
            FolderReplaced: The folder, or what had landed in it, is gone.
            OtherPublisher: Somebody else has landed in it by other rules.
            PublishRefused: A column's type does not fit the table's.
        """
        composer = _Composer(self, pieces, self.opened(path).metadata, fingerprint)
        try:
            while self.opened(path).lander.land(composer.compose) is not None:
                composer.landed += composer.rows
        except FolderReplaced:
            self.forget(path)
            raise
        return composer.landed


class _Composer:
    """Makes a table's next file for the state that its folder has."""

    def __init__(
        self,
        files: StreamFolders,
        pieces: Sequence[PlacedPiece],
        metadata: TableMetadata,
        fingerprint: Fingerprint,
    ) -> None:
        self._files = files
        self._fingerprint = fingerprint
        self._pieces = pieces
        self._default = metadata.default_marker
        self._body: tuple[LogPlace, StreamedParquet] | None = None
        self.rows = 0
        self.landed = 0

    def compose(self, state: ZoneState) -> ComposedFile | None:
        progress = progress_in(state, self._files.stream, self._files.identity)
        if progress is None:
            raise FolderReplaced("its folder was deleted, and with it what landed before")
        left = [piece.behind(progress.place) for piece in self._pieces]
        group = _one_file([piece for piece in left if piece is not None])
        if not group:
            return None
        after = LogProgress(
            identity=self._files.identity,
            place=group[-1].last,
            columns=group[-1].sent,
            load=progress.load,
            fingerprint=self._fingerprint,
        )
        columns = _columns(group)
        assert not isinstance(columns, Broken)
        if any(isinstance(piece, StagedChanges) for piece in group):
            body = self._streamed(group, columns, progress.place)
            self.rows = body.rows
            footer = next_footer(state, self._files.stream, after, columns, self.rows)
            return ComposedFile(footer, body)
        table = one_table(_waiting(group), columns, self._default)
        self.rows = int(table.num_rows)
        footer = next_footer(state, self._files.stream, after, columns, self.rows)
        return ComposedFile(footer, with_footer(encoded(table), footer.as_json()))

    def _streamed(
        self, group: Sequence[PlacedPiece], columns: TableSchema, behind: LogPlace
    ) -> StreamedParquet:
        """Return the same body for the same rows, so that it is sent once."""
        if self._body is None or self._body[0] != behind:
            schema = file_schema(columns, as_text=_has_text_markers(group))
            pieces = tuple(group)
            self._body = behind, StreamedParquet(schema, lambda: _tables(pieces, schema))
        return self._body[1]


def file_schema(columns: TableSchema, *, as_text: bool) -> pa.Schema:
    """Return the Arrow columns of a change file, its marker last."""
    fields = [pa.field(one.name, arrow_type(one.type)) for one in columns.columns]
    marker = pa.string() if as_text else MARKER_TYPE
    return pa.schema([*fields, pa.field(ROW_MARKER_COLUMN, marker)])


def in_file_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows with the columns of a file: one that they lack is NULL, others are left out."""
    arrays = []
    for field in schema:
        if field.name in table.column_names:
            column = table.column(field.name)
            arrays.append(column if column.type == field.type else column.cast(field.type))
        else:
            arrays.append(pa.nulls(table.num_rows, field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _tables(pieces: Sequence[PlacedPiece], schema: pa.Schema) -> Iterator[pa.Table]:
    for piece in pieces:
        for table in piece.tables():
            yield in_file_schema(table, schema)


def next_footer(
    state: ZoneState, stream: str, after: LogProgress, columns: TableSchema, rows: int
) -> PublishedFooter:
    """Return the footer of the next file of a folder.

    Args:
        state: the folder as it is.
        after: how far the stream has landed once the file has.
        columns: those of the file.
        rows: how many change rows the file has.

    Raises:
        PublishRefused: A column's type does not fit the table's.
    """
    carried = state.carried or PublishedFooter(file="", previous=None)
    return PublishedFooter(
        file=uuid4().hex,
        previous=state.predecessor,
        sources=carried.sources,
        streams={**carried.streams, stream: after.as_json()},
        columns=merged(carried.columns, columns),
        rows=carried.rows + rows,
    )


def _columns(group: Sequence[PlacedPiece]) -> TableSchema | Broken:
    """Return the columns of a file that has all of these rows, or why there is none."""
    empty = pa.table({})
    return columns_of([WaitingRows(rows=empty, marker=None, columns=p.columns) for p in group])


def _one_file(pieces: Sequence[PlacedPiece]) -> list[PlacedPiece]:
    """Return the first pieces, as many as fit into one file: one type a column holds them all."""
    group: list[PlacedPiece] = []
    for piece in pieces:
        if group and isinstance(_columns([*group, piece]), Broken):
            break
        group.append(piece)
    return group


def _has_text_markers(group: Sequence[PlacedPiece]) -> bool:
    return any(piece.has_partial_updates for piece in group)


def _waiting(group: Sequence[PlacedPiece]) -> list[WaitingRows]:
    """Return the rows without their places; markers are text in all where they are in one."""
    as_text = _has_text_markers(group)
    found = []
    for piece in group:
        for table in piece.tables():
            rows = table.drop_columns([COMMIT_COLUMN, NUMBER_COLUMN])
            at = rows.schema.get_field_index(ROW_MARKER_COLUMN)
            if as_text and not pa.types.is_string(rows.schema.field(at).type):
                markers = rows.column(at).cast(pa.string())
                rows = rows.set_column(at, ROW_MARKER_COLUMN, markers)
            found.append(WaitingRows(rows=rows, marker=None, columns=piece.columns))
    return found
