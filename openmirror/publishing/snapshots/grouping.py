"""A stream of batches as tables that are neither too small to write nor too large to hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]


@dataclass(frozen=True)
class GroupLimits:
    """When a table is full, whichever comes first."""

    rows: int
    size: int
    """Bytes in memory."""


def grouped(batches: Iterable[pa.RecordBatch], limits: GroupLimits) -> Iterator[pa.Table]:
    """All rows in their order; each table has one schema, and rows."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for whole in batches:
        for batch in _slices(whole, limits):
            other = bool(held) and held[0].schema != batch.schema
            if held and (
                other or rows + batch.num_rows > limits.rows or size + batch.nbytes > limits.size
            ):
                yield pa.Table.from_batches(held)
                held, rows, size = [], 0, 0
            held.append(batch)
            rows += batch.num_rows
            size += batch.nbytes
    if held:
        yield pa.Table.from_batches(held)


def _slices(batch: pa.RecordBatch, limits: GroupLimits) -> Iterator[pa.RecordBatch]:
    step = limits.rows
    if batch.nbytes > limits.size:
        step = min(step, max(1, batch.num_rows * limits.size // batch.nbytes))
    for start in range(0, batch.num_rows, step):
        yield batch.slice(start, step)
