"""Lineage in columns: which change writes a row, as columns of every change (PROTOCOL §5.10)."""

from __future__ import annotations

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.columnar.changes import ChangesInOrder
from openmirror.plan import Batch
from openmirror.protocol.lineage import FILE, LINEAGE, NUMBER, OPERATION, ROW, Lineage


def lineage_places(batch: Batch) -> frozenset[int]:
    """Where among its columns a batch has those of lineage, if they are to be filled."""
    if batch.lineage is not Lineage.WRITTEN:
        return frozenset()
    return frozenset(map(batch.union.schema.names.index, LINEAGE))


def with_lineage(changes: ChangesInOrder) -> list[pa.ChunkedArray]:
    """The columns of all changes with their places, where the table has lineage.

    When the batch will be decided nobody knows yet.
    """
    batch = changes.batch
    if batch.lineage is not Lineage.WRITTEN:
        return changes.columns
    names = pa.array([file.name for file in batch.files], pa.string())
    values: dict[str, pa.Array] = {
        FILE: names.take(changes.of_file),
        NUMBER: changes.sequences,
        ROW: changes.rows,
        OPERATION: changes.operations,
    }
    return [
        pa.chunked_array([values[name]]) if name in values else column
        for name, column in zip(batch.union.schema.names, changes.columns, strict=True)
    ]
