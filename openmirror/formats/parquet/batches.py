"""The rows of a whole Parquet file, some at a time, in the values that their writer meant."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature
from typing import Any, BinaryIO

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.formats.broken_rows import RowsBroken
from openmirror.formats.parquet import footer
from openmirror.formats.parquet.int96 import are_as_meant, as_meant, may_be_below_zero
from openmirror.formats.parquet.types import ParquetType
from openmirror.protocol.rules import Broken, Code

_MOST_ROWS = 1 << 13
_MOST_BYTES = 1 << 24
"""Of a batch, by what the footer says of its row group."""


def batches(content: BinaryIO, metadata: Any) -> Iterator[pa.RecordBatch]:
    """All rows in order, times of INT96 in microseconds.

    In memory are one row group as it is stored, and a few rows of it unpacked. Raises RowsBroken
    for a time inside a nested value that pyarrow gives as another, and what pyarrow raises for
    pages that cannot be read.
    """
    found = enumerate(footer.columns(metadata))
    times = [(at, name, kind) for at, (name, kind) in found if _has_int96(kind)]
    names = [name for _, name, _ in times]
    for group in range(metadata.num_row_groups):
        in_nano = enumerate(_of_group(content, metadata, group, "ns", names))
        for number, batch in enumerate(_of_group(content, metadata, group, "us")):
            if not any(may_be_below_zero(batch.column(at)) for at, _, _ in times):
                yield batch
                continue
            same = next(rows for other, rows in in_nano if other == number)
            columns = batch.columns
            for (at, name, kind), exact in zip(times, same.columns, strict=True):
                if kind.simple:
                    columns[at] = as_meant(columns[at], exact)
                elif not are_as_meant(columns[at], exact):
                    _refuse(name)
            yield pa.record_batch(columns, schema=batch.schema)


def storage_types() -> dict[str, bool]:
    """The option that keeps UUID and JSON columns bytes and text, as `to_column` takes them.

    Before pyarrow 21 (Databricks Runtime 17.3 has 19) there is no such option, nor need of one.
    """
    name = "arrow_extensions_enabled"
    return {name: False} if name in signature(pq.ParquetFile).parameters else {}


def _has_int96(kind: ParquetType) -> bool:
    return any(leaf.physical == "INT96" for leaf in kind.leaves or (kind,))


def _of_group(
    content: BinaryIO, metadata: Any, group: int, unit: str, columns: list[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """With times of INT96 in this unit; of any unit as many rows at once."""
    about = metadata.row_group(group)
    with pq.ParquetFile(
        content,
        metadata=metadata,
        pre_buffer=False,
        coerce_int96_timestamp_unit=unit,
        page_checksum_verification=True,
        **storage_types(),
    ) as file:
        yield from file.iter_batches(
            _rows_at_once(about), row_groups=[group], columns=columns, use_threads=False
        )


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
