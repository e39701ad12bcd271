"""Lineage in columns: which change writes a row, as columns of every change (PROTOCOL §5.10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.columnar.marked import Markers
from openmirror.plan import Batch
from openmirror.protocol.lineage import FILE, LINEAGE, NUMBER, OPERATION, ROW, Lineage
from openmirror.protocol.rows import Marker


def lineage_places(batch: Batch) -> frozenset[int]:
    """Where among its columns a batch has those of lineage, if they are to be filled."""
    if batch.lineage is not Lineage.WRITTEN:
        return frozenset()
    return frozenset(map(batch.union.schema.names.index, LINEAGE))


def with_lineage(
    columns: list[pa.ChunkedArray], batch: Batch, rows: Sequence[int], markers: Markers
) -> list[pa.ChunkedArray]:
    """All changes of a batch with their places, where its table has lineage.

    `rows` is how many each file has. When the batch will be decided nobody knows yet.
    """
    if batch.lineage is not Lineage.WRITTEN:
        return columns
    of_file = np.repeat(np.arange(len(rows)), rows)
    begins = np.cumsum([0, *rows[:-1]])
    kinds, which = np.unique(markers, return_inverse=True)
    values: Mapping[str, pa.Array] = {
        FILE: pa.array([file.name for file in batch.files], pa.string()).take(pa.array(of_file)),
        NUMBER: pa.array([int(file.sequence) for file in batch.files]).take(pa.array(of_file)),
        ROW: pa.array(np.arange(len(markers)) - begins[of_file] + 1),
        OPERATION: pa.array([Marker(int(kind)).operation for kind in kinds], pa.string()).take(
            pa.array(which)
        ),
    }
    names = batch.union.schema.names
    return [
        pa.chunked_array([values[name]]) if name in values else column
        for name, column in zip(names, columns, strict=True)
    ]
