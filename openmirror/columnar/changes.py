"""The changes of a small batch in their order, as columns, before anything is folded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.columnar.file_rows import RowsInMemory
from openmirror.columnar.folding import ChangePlaces
from openmirror.columnar.marked import Markers
from openmirror.formats.arrow_types import arrow_type
from openmirror.plan import Batch
from openmirror.ports import Counts
from openmirror.protocol.checksums import Checksum
from openmirror.protocol.rows import UPDATES, Marker
from openmirror.protocol.sequence import Sequence as SequenceNumber
from openmirror.table.control import Truncated


@dataclass(frozen=True)
class ChangesInOrder:
    """All changes of a batch; each is known by its place, counted from 0."""

    batch: Batch
    files: Sequence[RowsInMemory]

    @cached_property
    def markers(self) -> Markers:
        """Each one's marker."""
        return np.concatenate([file.markers for file in self.files])

    @cached_property
    def columns(self) -> list[pa.ChunkedArray]:
        """The columns of the batch's union, each of one chunk, so that rows can be taken by
        their places."""
        return [
            _joined([file.columns[at] for file in self.files], arrow_type(column.type))
            for at, column in enumerate(self.batch.union.schema.columns)
        ]

    @cached_property
    def operations(self) -> pa.Array:
        """What each one does, in a word."""
        kinds, which = np.unique(self.markers, return_inverse=True)
        words = pa.array([Marker(int(kind)).operation for kind in kinds], pa.string())
        return words.take(pa.array(which))

    @cached_property
    def sequences(self) -> pa.Array:
        """The number of each one's file."""
        return pa.array([int(file.sequence) for file in self.batch.files]).take(self.of_file)

    @cached_property
    def rows(self) -> pa.Array:
        """Its row in its file, counted from 1."""
        begins = np.cumsum([0, *self._sizes[:-1]])
        return pa.array(np.arange(len(self.markers)) - begins[self._of_file] + 1)

    @property
    def of_file(self) -> pa.Array:
        """Which of the batch's files it is of."""
        return pa.array(self._of_file)

    @property
    def checksums(self) -> dict[SequenceNumber, Checksum]:
        """Those of all files."""
        pairs = zip(self.batch.files, self.files, strict=True)
        return {file.sequence: rows.checksum for file, rows in pairs}

    def counts(self) -> Counts:
        """How many there are of each kind."""
        pairs = zip(self.batch.files, self.files, strict=True)
        return Counts(
            inserts=int((self.markers == Marker.INSERT).sum()),
            updates=int(np.isin(self.markers, [marker.value for marker in UPDATES]).sum()),
            deletes=int(np.isin(self.markers, [Marker.DELETE, Marker.TRUNCATE]).sum()),
            first_truncated=next(
                (Truncated(file.name, rows.truncated) for file, rows in pairs if rows.truncated),
                None,
            ),
        )

    @property
    def _sizes(self) -> list[int]:
        return [len(file.markers) for file in self.files]

    @cached_property
    def _of_file(self) -> ChangePlaces:
        return np.repeat(np.arange(len(self.files), dtype=np.int64), self._sizes)


def _joined(parts: Sequence[pa.ChunkedArray], kind: pa.DataType) -> pa.ChunkedArray:
    chunks = [chunk for part in parts for chunk in part.chunks]
    return pa.chunked_array([pa.concat_arrays(chunks)] if chunks else [], kind)
