"""Times of INT96 that are finer than a microsecond, which whoever reads them cuts in silence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]


def finer_in_int96(content: BinaryIO, metadata: Any, names: Sequence[str]) -> str | None:
    """The first such time in these columns, in words; None when there is none.

    Raises what pyarrow raises for data that cannot be read.
    """
    first_row = 0
    pairs = zip(
        _groups(content, metadata, names, "us"),
        _groups(content, metadata, names, "ns"),
        strict=True,
    )
    for in_micro, in_nano in pairs:
        found = [
            (row, name)
            for name in names
            if (row := _finer(in_micro.column(name), in_nano.column(name))) >= 0
        ]
        if found:
            row, name = min(found)
            where = f"row {first_row + row + 1}, column {name!r}"
            moment = in_micro.column(name)[row].cast(pa.string()).as_py()
            return f"{where}: a time after {moment} is finer than a microsecond"
        first_row += in_micro.num_rows
    return None


def _groups(
    content: BinaryIO, metadata: Any, names: Sequence[str], unit: str
) -> Iterator[pa.Table]:
    for group in range(metadata.num_row_groups):
        with pq.ParquetFile(
            content, metadata=metadata, pre_buffer=False, coerce_int96_timestamp_unit=unit
        ) as file:
            yield file.read_row_group(group, columns=list(names), use_threads=False)


def _finer(in_micro: pa.ChunkedArray, in_nano: pa.ChunkedArray) -> int:
    """The first row whose nanoseconds are no whole microseconds; -1 without one.

    Nanoseconds of years before 1678 and after 2262 overflow, and so does this product: by as much.
    """
    micro, nano = in_micro.cast(pa.int64()), in_nano.cast(pa.int64())
    rests = pc.subtract(nano, pc.multiply(micro, 1000))
    return int(pc.index(pc.not_equal(rests, 0), pa.scalar(True)).as_py())
