"""The rows of a whole Parquet file, some at a time, in the values that their writer meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import signature
from typing import Any, BinaryIO

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.formats.broken_rows import RowsBroken
from openmirror.formats.parquet.int96 import are_as_meant, as_meant, may_be_below_zero
from openmirror.formats.parquet.types import ParquetType
from openmirror.protocol.rules import Broken, Code

_MOST_ROWS = 1 << 13
_MOST_BYTES = 1 << 24
"""Of a batch, by what the footer says of its row group."""


def batches(
    content: BinaryIO, metadata: Any, columns: Sequence[tuple[str, ParquetType]]
) -> Iterator[pa.RecordBatch]:
    """All rows in order, times of INT96 in microseconds; `columns` are those of the footer.

    In memory are one row group as it is stored, and a few rows of it unpacked. Raises RowsBroken
    for a time inside a nested value that pyarrow gives as another, and what pyarrow raises for
    pages that cannot be read.
    """
    times = [(at, name, kind) for at, (name, kind) in enumerate(columns) if _has_int96(kind)]
    with _opened(content, metadata, "us") as file:
        for group in range(metadata.num_row_groups):
            in_nano = enumerate(_in_nano(content, metadata, group, [name for _, name, _ in times]))
            for number, batch in enumerate(_of_group(file, group)):
                if not any(may_be_below_zero(batch.column(at)) for at, _, _ in times):
                    yield batch
                    continue
                same = next(rows for other, rows in in_nano if other == number)
                yield _as_meant(batch, same, times)


def _as_meant(
    batch: pa.RecordBatch, in_nano: pa.RecordBatch, times: Sequence[tuple[int, str, ParquetType]]
) -> pa.RecordBatch:
    arrays = batch.columns
    for (at, name, kind), exact in zip(times, in_nano.columns, strict=True):
        if kind.simple:
            arrays[at] = as_meant(arrays[at], exact)
        elif not are_as_meant(arrays[at], exact):
            _refuse(name)
    return pa.record_batch(arrays, schema=batch.schema)


def storage_types() -> dict[str, bool]:
    """The option that keeps UUID and JSON columns bytes and text, as `to_column` takes them.

    Before pyarrow 21 (Databricks Runtime 17.3 has 19) there is no such option, nor need of one.
    """
    name = "arrow_extensions_enabled"
    return {name: False} if name in signature(pq.ParquetFile).parameters else {}


def _has_int96(kind: ParquetType) -> bool:
    return any(leaf.physical == "INT96" for leaf in kind.leaves or (kind,))


def _opened(content: BinaryIO, metadata: Any, unit: str) -> pq.ParquetFile:
    """With times of INT96 in this unit."""
    return pq.ParquetFile(
        content,
        metadata=metadata,
        pre_buffer=False,
        coerce_int96_timestamp_unit=unit,
        page_checksum_verification=True,
        **storage_types(),
    )


def _in_nano(
    content: BinaryIO, metadata: Any, group: int, names: list[str]
) -> Iterator[pa.RecordBatch]:
    with _opened(content, metadata, "ns") as file:
        yield from _of_group(file, group, names)


def _of_group(
    file: pq.ParquetFile, group: int, names: list[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """As many rows at once whatever is read of them."""
    rows = _rows_at_once(file.metadata.row_group(group))
    yield from file.iter_batches(rows, row_groups=[group], columns=names, use_threads=False)


def _rows_at_once(group: Any) -> int:
    """Rows that fit into a batch; the footer counts a value that repeats only once."""
    fit = group.num_rows * _MOST_BYTES // max(1, group.total_byte_size)
    return int(min(max(1, fit), _MOST_ROWS))


def _refuse(name: str) -> None:
    detail = (
        f"column {name!r}: a nested value has a time before 1970 as Arrow wrote it before its "
        "version 23, which not all readers read right. Write it by a newer one"
    )
    raise RowsBroken(Broken(Code.VALUE_INVALID, detail))
