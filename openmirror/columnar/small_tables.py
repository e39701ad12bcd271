"""Small tables whose new data file this process writes, and Spark only commits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.columnar.applying import MarkedBy, applied, as_decided, only_data
from openmirror.columnar.applying_versions import applied_versions, only_new_versions
from openmirror.columnar.columns import RepeatsTooMuch
from openmirror.columnar.data_files import NotForHere, read_data_file, write_data_file
from openmirror.columnar.version_folding import TooManyVersions
from openmirror.plan import Batch
from openmirror.ports.merge_rows import FoldedBatch, key_positions, positions_of
from openmirror.ports.new_files import Codec, FileWriter, NewFile
from openmirror.protocol.versions import CLOSED, IS_CURRENT, VALID_TO

UNPACKED = 8
"""Bytes in memory for one of a small table's files, at most: these are compressed."""


class SmallTables(FileWriter):
    """Reads tables that take at most `most_bytes` in memory; safe to use from several threads."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes

    def added(self, batch: Batch, folded: FoldedBatch, codec: Codec, to: Path) -> NewFile | None:
        """The rows that a batch adds; what a commit finds of them in the table it does not ask."""
        if folded.versions is None:
            rows = as_decided(folded.rows, batch)
        else:
            assert batch.decided_at is not None
            rows = only_new_versions(folded.versions.opens(batch.decided_at))
        return write_data_file(only_data(rows, batch), batch.union.schema, codec, to)

    def applied(
        self, files: Sequence[Path], batch: Batch, folded: FoldedBatch, codec: Codec, to: Path
    ) -> NewFile | None:
        """All rows of the table after the batch."""
        try:
            rows = _applied(self._read(files, batch), batch, folded)
        except (NotForHere, TooManyVersions, RepeatsTooMuch):
            return None
        return write_data_file(rows, batch.union.schema, codec, to)

    def _read(self, files: Sequence[Path], batch: Batch) -> pa.Table:
        parts, left = list[pa.Table](), self._most
        try:
            for file in files:
                rows = read_data_file(file, batch.union.schema, left)
                left -= rows.nbytes
                parts.append(rows)
        except (pa.ArrowException, OSError, ValueError) as error:
            # It has gone, or is broken: Spark, which reads it too, says so.
            raise NotForHere(str(error)) from error
        return pa.concat_tables(parts)


def _applied(table: pa.Table, batch: Batch, folded: FoldedBatch) -> pa.Table:
    schema = batch.union.schema
    keys = key_positions(batch)
    if folded.versions is None:
        return applied(table, as_decided(folded.rows, batch), keys, MarkedBy.of(batch))
    assert batch.decided_at is not None  # nothing is committed before it is decided
    [is_current] = positions_of(schema, [IS_CURRENT])
    return applied_versions(
        table,
        folded.versions.opens(batch.decided_at),
        folded.versions.closes(batch.decided_at),
        keys=keys,
        is_current=is_current,
        closing=positions_of(schema, [VALID_TO, IS_CURRENT, *CLOSED]),
    )
