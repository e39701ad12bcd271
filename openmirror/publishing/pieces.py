"""Change rows that wait to be landed, and how they are cut into files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.protocol.rows import Marker
from openmirror.protocol.rules import Broken
from openmirror.protocol.schema import TableSchema, union_schema
from openmirror.publishing.positions import SourcePosition


@dataclass(frozen=True, kw_only=True)
class WaitingRows:
    """Rows of one call, in order, with what they do."""

    rows: pa.Table
    """Without a marker column, except where `marker` is None."""
    marker: Marker | None
    """What every row does; None where the rows' own `__rowMarker__` says it."""
    columns: TableSchema
    """The columns that have a type, without the marker."""
    position: SourcePosition | None = None
    """The batch that they belong to."""
    offset: int = 0
    """The place of the first row in its batch."""
    ends: bool = False
    """Whether the batch has no more rows after these."""
    whole: bool = False
    """Whether they may not be cut apart, since a reader would see half of one change."""

    @property
    def count(self) -> int:
        """Rows."""
        return int(self.rows.num_rows)

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return int(self.rows.nbytes)

    def without_first(self, rows: int) -> WaitingRows:
        """What is left behind the first rows."""
        return replace(self, rows=self.rows.slice(rows), offset=self.offset + rows)

    def first(self, rows: int) -> WaitingRows:
        """The first rows; they end no batch unless they are all."""
        return replace(self, rows=self.rows.slice(0, rows), ends=self.ends and rows == self.count)


def next_file(
    waiting: Sequence[WaitingRows], most_rows: int, *, hold_back: bool
) -> tuple[list[WaitingRows], list[WaitingRows]]:
    """The rows of the next file, and those that stay; both in order.

    A file has one type a column, which holds what all of its rows have there. It has at most so
    many rows, unless rows that may not be cut apart are more. With `hold_back` the last row stays,
    so that the file that ends its batch will have a row to be landed for.
    """
    taken: list[WaitingRows] = []
    columns = TableSchema()
    room = most_rows
    left = list(waiting)
    while left and (room > 0 or (left[0].count == 0 and left[0].ends)):
        piece = left[0]
        union = in_one_file(columns, piece.columns)
        if isinstance(union, Broken):
            break
        columns = union
        fits = piece.count if piece.whole and not taken else min(piece.count, room)
        if piece.whole and fits < piece.count:
            break
        left.pop(0)
        if fits < piece.count:
            left.insert(0, piece.without_first(fits))
            piece = piece.first(fits)
        taken.append(piece)
        room -= fits
    if hold_back and not left and taken:
        last = taken.pop()
        if last.count > 1 and not last.whole:
            taken.append(last.first(last.count - 1))
            last = last.without_first(last.count - 1)
        left = [last]
    return taken, left


def in_one_file(columns: TableSchema, more: TableSchema) -> TableSchema | Broken:
    """The columns of a file that has both; Broken where one type does not hold both.

    Times with a zone and without are two types: only the mirror knows which the table has.
    """
    if columns == more:
        return columns
    union = union_schema(columns, more)
    return union if isinstance(union, Broken) else union.schema


def columns_of(pieces: Sequence[WaitingRows]) -> TableSchema | Broken:
    """The columns of a file of these rows; Broken where they are none of one file."""
    columns = TableSchema()
    for piece in pieces:
        union = in_one_file(columns, piece.columns)
        if isinstance(union, Broken):
            return union
        columns = union
    return columns
