"""The rows of the one change file by which a load lands.

Ranges are read at different moments, and each may already show changes of the log that follow in
the file. The file is exact nevertheless:

- A key that no change behind the first mark names had one row, or none, in every snapshot since
  then, because each snapshot sees every transaction before the mark. Its range has that row. A key
  above the highest key of the first snapshot came later, and the log names it.
- Of any other key only the last change counts, whatever its range had. An update that leaves values
  out is treated in `partial_rows`.
- A range counts once a mark that was emitted behind it has come in the stream. Every change that
  the range shows has come before that mark, so it is among the changes of the file.

Everything streams in pieces of bounded size. Rows of ranges come in key order, then rows that were
read once more, then changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.postgresql.load_state import LoadState
from openmirror.cdc.postgresql.partial_rows import (
    Resolution,
    RowKey,
    is_behind,
    key_rows,
    places_of,
    resolved,
)
from openmirror.cdc.postgresql.placed_rows import COMMIT_COLUMN, NUMBER_COLUMN
from openmirror.cdc.postgresql.places import LogPlace
from openmirror.cdc.postgresql.staging import StagedPieces
from openmirror.cdc.postgresql.table_files import file_schema
from openmirror.protocol.names import ROW_MARKER_COLUMN
from openmirror.protocol.rows import Marker
from openmirror.protocol.schema import TableSchema
from openmirror.publishing.encoding import MARKER_TYPE

_PLACE = (COMMIT_COLUMN, NUMBER_COLUMN)


class PieceKind(Enum):
    """Where rows of a load's file come from."""

    ROWS = auto()
    """From a range, or from a key that was read once more."""
    CHANGES = auto()
    """From the log."""


Adapted = Callable[[pa.Table, PieceKind], pa.Table]
"""Adds to a piece what is no column of the source, such as the columns of lineage."""


@dataclass(frozen=True, kw_only=True)
class LoadFile:
    """The content of one load's change file."""

    pieces: StagedPieces
    state: LoadState
    """All rows confirmed, and every change up to the last mark staged."""
    resolution: Resolution
    """Of exactly this state, with no key that is still needed."""
    columns: TableSchema
    """The columns of the file without its marker, those that `adapted` adds included."""
    begins_empty: bool
    """Whether the table has no row in the mirror. Otherwise the file begins with a truncate."""
    adapted: Adapted | None = None
    """None for rows that stay as they are staged."""

    @property
    def schema(self) -> pa.Schema:
        """The file's Arrow columns; markers are text where a change leaves values out."""
        has_partial = any(part.has_partial for part in self.state.needed_changes)
        return file_schema(self.columns, as_text=has_partial)

    def tables(self) -> Iterator[pa.Table]:
        """Yield the file's rows in pieces that have its schema."""
        schema = self.schema
        if not self.begins_empty:
            yield _truncate_row(schema)
        for piece in self._source_rows():
            if piece.num_rows:
                yield _in_schema(_marked(self._adapted(piece, PieceKind.ROWS)), schema)
        for piece in self._changes():
            if piece.num_rows:
                yield _in_schema(self._adapted(piece, PieceKind.CHANGES), schema)

    def _adapted(self, piece: pa.Table, kind: PieceKind) -> pa.Table:
        return piece if self.adapted is None else self.adapted(piece, kind)

    def _source_rows(self) -> Iterator[pa.Table]:
        truncated_at = self.resolution.truncated_at
        if truncated_at is None:
            for part in self.state.ranges:
                yield from self.pieces.read(part.file)
        for reread in self.state.rereads:
            for piece in self.pieces.read(reread.file):
                kept = piece.filter(is_behind(piece, truncated_at)) if truncated_at else piece
                yield kept.drop_columns(list(_PLACE))

    def _changes(self) -> Iterator[pa.Table]:
        offset = 0
        for piece in changes_of(self.pieces, self.state):
            rows = pa.array(range(offset, offset + piece.num_rows), pa.int64())
            offset += piece.num_rows
            dropped = pa.array(sorted(self.resolution.dropped), pa.int64())
            is_kept = pc.invert(pc.is_in(rows, dropped))
            if self.resolution.truncated_at is not None:
                is_kept = pc.and_(is_kept, is_behind(piece, self.resolution.truncated_at))
            yield piece.filter(is_kept)


def changes_of(
    pieces: StagedPieces, state: LoadState, columns: Sequence[str] | None = None
) -> Iterator[pa.Table]:
    """Yield the staged changes behind the first mark; the same rows in the same order each time.

    Args:
        pieces: Where they are staged.
        state: The load, begun.
        columns: The columns to read, those of the place among them; None for all.
    """
    mark = _first_mark(state)
    for part in state.needed_changes:
        for piece in pieces.read(part.file, columns):
            yield piece if part.begins > mark else piece.filter(is_behind(piece, mark))


def resolution_of(pieces: StagedPieces, state: LoadState, keys: Sequence[str]) -> Resolution:
    """Return what becomes of staged changes that leave values out.

    Args:
        pieces: Where the load is staged.
        state: The load, with all its rows confirmed.
        keys: The table's key columns.
    """
    placed = [*keys, ROW_MARKER_COLUMN, *_PLACE]

    if not any(part.has_partial or part.has_truncate for part in state.needed_changes):
        return Resolution()

    def rows() -> Iterable[pa.Table]:
        for part in state.ranges:
            yield from pieces.read(part.file, list(keys))

    def changes() -> Iterable[pa.Table]:
        return changes_of(pieces, state, placed)

    return resolved(keys, rows, changes, _reread_places(pieces, state, keys))


def _reread_places(
    pieces: StagedPieces, state: LoadState, keys: Sequence[str]
) -> dict[RowKey, LogPlace]:
    """Return the keys that were read once more; a later reading stands for more changes."""
    found: dict[RowKey, LogPlace] = {}
    for part in state.rereads:
        for piece in pieces.read(part.file, [*keys, *_PLACE]):
            found |= zip(key_rows(piece, keys), places_of(piece), strict=True)
    return found


def _first_mark(state: LoadState) -> LogPlace:
    if state.first_mark is None:
        raise ValueError(f"load {state.number} has not begun")
    return state.first_mark


def _marked(rows: pa.Table) -> pa.Table:
    markers = pa.repeat(pa.scalar(Marker.UPSERT.value, MARKER_TYPE), rows.num_rows)
    return rows.append_column(ROW_MARKER_COLUMN, markers)


def _truncate_row(schema: pa.Schema) -> pa.Table:
    nulls = [pa.nulls(1, field.type) for field in schema][:-1]
    marker = pa.array([Marker.TRUNCATE.value], MARKER_TYPE).cast(schema[-1].type)
    return pa.Table.from_arrays([*nulls, marker], schema=schema)


def _in_schema(piece: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a piece with the file's columns; only integer markers are turned into text."""
    marker = piece.column(ROW_MARKER_COLUMN).cast(schema[-1].type)
    columns = [piece.column(name) for name in schema.names[:-1]]
    return pa.Table.from_arrays([*columns, marker], schema=schema)
