"""How large the values of a Parquet file are in memory, where its own size says little.

A value that repeats is stored once: a file of a megabyte may hold a billion bytes of text.
"""

from __future__ import annotations

from typing import Any, BinaryIO

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.formats.parquet import footer
from openmirror.formats.parquet.types import ParquetType

_BATCH_ROWS = 1 << 16
WIDEST_NUMBER = 16
"""Bytes of a value of a type that has no length, at most."""


def unpacked_bytes(content: BinaryIO, metadata: Any, most: int) -> int:
    """Bytes that a flat file's values take when each stands for itself; above `most` perhaps fewer.

    Values of variable length are read as they are stored, so that nothing is unpacked for this.
    Raises what pyarrow raises for data that cannot be read.
    """
    names = [name for name, kind in footer.columns(metadata) if _varies(kind)]
    leaves = [metadata.schema.column(at) for at in range(len(metadata.schema))]
    widths = [max(WIDEST_NUMBER, int(leaf.length)) for leaf in leaves]
    total = int(metadata.num_rows) * sum(widths)
    if not names or total > most:
        return total
    with pq.ParquetFile(
        content, metadata=metadata, pre_buffer=False, read_dictionary=names
    ) as file:
        for batch in file.iter_batches(_BATCH_ROWS, columns=names, use_threads=False):
            total += sum(map(_length, batch.columns))
            if total > most:
                break
    return total


def _varies(kind: ParquetType) -> bool:
    return kind.physical == "BYTE_ARRAY"


def _length(array: pa.Array) -> int:
    if not pa.types.is_dictionary(array.type):
        return int(array.nbytes)
    lengths = pc.binary_length(array.dictionary)
    return int(pc.sum(lengths.take(array.indices)).as_py() or 0)
