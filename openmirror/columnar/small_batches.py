"""Small batches, read from the very bytes whose ETag was planned, and folded in this process."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.columnar.changes import ChangesInOrder
from openmirror.columnar.columns import RepeatsTooMuch, taken, with_column
from openmirror.columnar.file_rows import RowsInMemory, TooLarge, read_file
from openmirror.columnar.folding import ChangePlaces, Fold, fold
from openmirror.columnar.growing import NotGrown, grown
from openmirror.columnar.keys import known_of_keys, numbered
from openmirror.columnar.lineage import lineage_places, with_lineage
from openmirror.columnar.soft_folding import LIVE, SoftFold, fold_softly
from openmirror.columnar.version_batches import folded_versions
from openmirror.plan import Batch
from openmirror.ports import BadFile, FileStore
from openmirror.ports.merge_rows import (
    DELETED,
    KIND,
    MAY_INSERT,
    BatchFolder,
    FoldedBatch,
    MergeKind,
    MergeNeeds,
    key_positions,
    positional,
    positions_of,
)
from openmirror.protocol.rows import DELETED_AT, Marker
from openmirror.protocol.rules import Broken

_NARROWEST = 8
"""Bytes of a row's cell, about: what is surely too large is not read first."""


class SmallBatches(BatchFolder):
    """Folds batches of at most `most_bytes` in memory, or `most_direct` where their commit is a
    direct one; safe to use from several threads.

    Spark folds what this does not: larger batches, partial updates, tables with a version column,
    whose keys may need what the table holds, and truncates that mark or close all of its rows.
    """

    def __init__(
        self, store: FileStore, most_bytes: int, threads: int = 2, most_direct: int = 0
    ) -> None:
        self._store = store
        self._most = most_bytes
        self._most_direct = max(most_bytes, most_direct)
        self._threads = threads

    def may_fold(self, batch: Batch, *, direct: bool = False) -> bool:
        """As the port has it."""
        return _is_for_here(batch, self._most_direct if direct else self._most)

    def fold(self, batch: Batch, *, direct: bool = False) -> FoldedBatch | BadFile | None:
        """The folded batch, the first file that breaks a rule, or None for Spark's own."""
        most = self._most_direct if direct else self._most
        if not self.may_fold(batch, direct=direct):
            return None
        try:
            found = self._read(batch, most)
            if isinstance(found, BadFile):
                return found
            changes = ChangesInOrder(batch, found)
            return folded_versions(changes) if batch.is_of_history else _folded(changes)
        except (TooLarge, NotGrown, RepeatsTooMuch):
            return None

    def _read(self, batch: Batch, most: int) -> list[RowsInMemory] | BadFile:
        files: list[RowsInMemory] = []
        size = 0
        with ThreadPoolExecutor(self._threads, thread_name_prefix="small-batch") as pool:
            work = [pool.submit(read_file, self._store, file, batch, most) for file in batch.files]
            try:
                for file, future in zip(batch.files, work, strict=True):
                    rows = future.result()
                    if isinstance(rows, Broken):
                        return BadFile(file.name, rows)
                    size += rows.bytes
                    if size > most or np.isin(rows.markers, _not_here(batch)).any():
                        raise TooLarge(file.path)
                    files.append(rows)
            finally:
                pool.shutdown(cancel_futures=True)
        return files


def _is_for_here(batch: Batch, most: int) -> bool:
    if batch.frozen.version_column is not None:
        return False
    cells = sum(file.facts.rows for file in batch.files if file.facts) * max(
        1, len(batch.union.schema.columns)
    )
    return max(batch.bytes, cells * _NARROWEST) <= most


def _not_here(batch: Batch) -> list[int]:
    """Markers that Spark must fold."""
    keeps_all = batch.soft is not None or batch.is_of_history
    beyond = (Marker.PARTIAL_UPDATE, Marker.TRUNCATE) if keeps_all else (Marker.PARTIAL_UPDATE,)
    return [marker.value for marker in beyond]


def _folded(changes: ChangesInOrder) -> FoldedBatch:
    began, batch = time.monotonic(), changes.batch
    markers, columns = changes.markers, with_lineage(changes)
    [truncates] = np.nonzero(markers == Marker.TRUNCATE)
    if len(truncates):
        # Nothing comes of what was before the last of them, nor of its own row.
        after = int(truncates[-1]) + 1
        markers, columns = markers[after:], [column.slice(after) for column in columns]
    placed = dict(zip(positional(len(columns)), columns, strict=True))
    keys = [placed[name] for name in key_positions(batch)]
    if (markers == Marker.INSERT).all():
        soft_fold = _as_they_are(len(markers))
    elif batch.soft is None:
        soft_fold = _all_live(fold(numbered(keys, len(markers)), markers))
    else:
        soft_fold = fold_softly(numbered(keys, len(markers)), markers)
    rows = _table(columns, soft_fold, lineage_places(batch))
    if batch.soft is not None:
        rows = _with_times(rows, placed, batch, soft_fold.deleted_by)
    return FoldedBatch(
        counts=changes.counts(),
        checksums=changes.checksums,
        rows=rows,
        needs=_needs(batch, rows),
        truncates=bool(len(truncates)),
        fold_seconds=time.monotonic() - began,
    )


def _as_they_are(count: int) -> SoftFold:
    """Inserts alone, without a key: each is a row."""
    kinds = np.full(count, MergeKind.PLAIN_INSERT, dtype=object)
    places = np.arange(count, dtype=np.int64)
    return _all_live(Fold(places, kinds, np.ones(count, dtype=np.bool_)))


def _all_live(folded: Fold) -> SoftFold:
    return SoftFold(folded, np.full(len(folded.values), LIVE))


def _table(
    columns: Sequence[pa.ChunkedArray], soft_fold: SoftFold, of_writers: frozenset[int]
) -> pa.Table:
    """The rows that a batch leaves; `of_writers` are columns that a mark writes too."""
    folded, by = soft_fold.fold, soft_fold.deleted_by
    values = pa.array(folded.values)
    writers = pa.array(np.where(by == LIVE, folded.values, by)) if of_writers else values
    arrays = [
        taken(column, writers if at in of_writers else values) for at, column in enumerate(columns)
    ]
    arrays += [
        pa.array(folded.kinds, pa.string()),
        pa.array(folded.may_insert),
    ]
    return pa.table(arrays, names=[*positional(len(columns)), KIND, MAY_INSERT])


def _with_times(
    rows: pa.Table, placed: Mapping[str, pa.ChunkedArray], batch: Batch, deleted_by: ChangePlaces
) -> pa.Table:
    """With what the publisher says of when rows were deleted, and which ones are."""
    assert batch.soft is not None
    schema, time_column = batch.union.schema, batch.soft.time_column
    deleted = pa.array(deleted_by != LIVE)
    if time_column is not None:
        [name] = positions_of(schema, [time_column])
        [ours] = positions_of(schema, [DELETED_AT])
        times = placed[name].combine_chunks().take(pa.array(deleted_by, mask=deleted_by == LIVE))
        kind = schema.columns[rows.schema.get_field_index(ours)].type
        rows = with_column(rows, ours, grown(times, kind))
    return rows.append_column(DELETED, deleted)


def _needs(batch: Batch, rows: pa.Table) -> MergeNeeds:
    kinds, may_insert = rows.column(KIND), rows.column(MAY_INSERT)
    found = set(pc.unique(kinds).to_pylist())
    merged = rows.filter(pc.not_equal(kinds, str(MergeKind.PLAIN_INSERT)))
    keys = known_of_keys(merged, key_positions(batch))
    updates = pc.equal(kinds, str(MergeKind.UPDATE))
    return MergeNeeds(
        deletes=MergeKind.DELETE in found,
        updates=MergeKind.UPDATE in found,
        inserts=MergeKind.PLAIN_INSERT in found
        or bool(pc.any(pc.and_(updates, may_insert)).as_py()),
        marks=MergeKind.MARK in found,
        unmarks=MergeKind.UNMARK in found,
        bounds=keys.bounds,
        not_null=keys.not_null,
    )
