"""Rows that wait for their file, and the batch of the source that is being given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.protocol.rows import Marker
from openmirror.protocol.schema import TableSchema
from openmirror.publishing.pieces import WaitingRows, next_file
from openmirror.publishing.positions import SourcePosition


@dataclass(frozen=True)
class BatchLimits:
    """When rows that wait become a file, whichever comes first."""

    rows: int = 1_000_000
    """Rows of one file at most, and as many as make one."""
    size: int = 128 << 20
    """Bytes in memory that make a file."""
    seconds: float | None = 60.0
    """Age of the oldest waiting row; None leaves rows until there are enough, or a flush."""

    def __post_init__(self) -> None:
        if self.rows < 1 or self.size < 1 or (self.seconds is not None and self.seconds <= 0):
            raise ValueError(f"every limit is above 0: {self}")


_NO_ROWS = WaitingRows(rows=pa.table({}), marker=Marker.INSERT, columns=TableSchema())


@dataclass
class _OpenBatch:
    """A batch whose rows are being given."""

    position: SourcePosition
    is_landed: bool
    """Whether it landed before, so that its rows are only counted."""
    rows: int = 0
    last: WaitingRows = _NO_ROWS
    """The rows that came last, which may be none."""


class RowBuffer:
    """Waiting rows in order; knows nothing of files that are landed."""

    def __init__(self) -> None:
        self._waiting: list[WaitingRows] = []
        self._batch: _OpenBatch | None = None
        self._rows = 0
        self._size = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits, not even the end of a batch."""
        return not self._waiting

    @property
    def has_rows(self) -> bool:
        """Whether rows wait, and not only the ends of batches."""
        return self._rows > 0

    @property
    def waiting(self) -> Sequence[WaitingRows]:
        """All that waits, in order."""
        return self._waiting

    @property
    def batch(self) -> SourcePosition | None:
        """The batch that is being given; None outside of any."""
        return self._batch.position if self._batch is not None else None

    def begin(self, position: SourcePosition, *, is_landed: bool) -> None:
        """All rows from here on are this batch's, which starts with them."""
        self._batch = _OpenBatch(position, is_landed)

    def take(self, piece: WaitingRows) -> bool:
        """Let rows wait, as a part of the batch that is being given; whether they do."""
        batch = self._batch
        if batch is not None:
            piece = replace(piece, position=batch.position, offset=batch.rows)
            batch.rows += piece.count
            batch.last = piece
            if batch.is_landed:
                return False
        if piece.count:
            self._put(piece)
        return piece.count > 0

    def end(self) -> WaitingRows | None:
        """The batch that is being given has no more rows.

        Answers what waits for that alone: the end of a batch whose rows have all been cut, or that
        had none.
        """
        batch, self._batch = self._batch, None
        if batch is None or batch.is_landed:
            return None
        last = self._waiting[-1] if self._waiting else None
        if last is not None and last.position == batch.position:
            self._waiting[-1] = replace(last, ends=True)
            return None
        end = replace(batch.last.first(0), position=batch.position, offset=batch.rows, ends=True)
        self._put(end)
        return end

    def forget_batch(self) -> None:
        """The batch that is being given will be given again, from its first row."""
        if self._batch is not None:
            position, self._batch = self._batch.position, None
            self._keep([rows for rows in self._waiting if rows.position != position])

    def clear(self) -> None:
        """Nothing waits any more."""
        self._batch = None
        self._keep([])

    def is_full(self, limits: BatchLimits) -> bool:
        """Whether there is a file's worth of rows, besides what must stay behind in a batch."""
        if self._last_is_held and self._rows <= self._held_rows:
            return False
        most = limits.rows + 1 if self._last_is_held else limits.rows
        return self._rows >= most or (self._rows > 0 and self._size >= limits.size)

    def cut(self, limits: BatchLimits, *, hold_back: bool) -> list[WaitingRows]:
        """Take away the rows of the next file.

        With `hold_back`, the last row of the batch that is being given stays: the file that ends
        the batch then has a row to be landed for.
        """
        most = limits.rows
        if self._size > limits.size:
            most = min(most, max(1, self._rows * limits.size // self._size))
        held = hold_back and self._last_is_held
        taken, left = next_file(self._waiting, most, hold_back=held)
        self._keep(left)
        return taken

    @property
    def _last_is_held(self) -> bool:
        batch = self._batch
        return bool(batch and self._waiting and self._waiting[-1].position == batch.position)

    @property
    def _held_rows(self) -> int:
        """Rows that stay behind while their batch is being given."""
        last = self._waiting[-1]
        return last.count if last.whole else 1

    def _put(self, piece: WaitingRows) -> None:
        self._waiting.append(piece)
        self._rows += piece.count
        self._size += piece.size

    def _keep(self, rows: list[WaitingRows]) -> None:
        self._waiting = rows
        self._rows = sum(piece.count for piece in rows)
        self._size = sum(piece.size for piece in rows)
