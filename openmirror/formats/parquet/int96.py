"""Times of INT96, which have a day and the nanoseconds since it began, and no unit.

pyarrow reads them in a unit that is asked for. Two things it does in silence: it cuts what is finer
than that unit, and it takes nanoseconds for a number without a sign. Arrow before version 23 wrote
times before 1970 with a day that is one too late and nanoseconds below 0; in microseconds these
come 584 years late, while in nanoseconds, which overflow by just as much, they are right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

_ARROW = re.compile(r"parquet-cpp(?:-arrow)? version (\d+)")
_FIRST_THAT_WRITES_NONE = 23
_OVERFLOW, _ITS_REST = divmod(1 << 64, 1000)
_LAST = (1 << 63) // 1000
"""Microseconds before and after 1970 of all that nanoseconds can say."""


def may_be_below_zero(metadata: Any) -> bool:
    """Whether a file's writer is one that gave times before 1970 nanoseconds below 0."""
    version = _ARROW.match(metadata.created_by or "")
    return version is not None and int(version[1]) < _FIRST_THAT_WRITES_NONE


def as_meant(in_micro: pa.Array, in_nano: pa.Array) -> pa.Array:
    """Times of such a file in microseconds, from both ways in which pyarrow reads them.

    What is finer is cut towards the day, as Spark does. Only Arrow's own writers wrote these, and
    none of them has a time both beyond the range of nanoseconds and finer than a microsecond. Times
    from 1093 to 1677, in which nanoseconds overflow as well, stay as they were read.
    """
    micro, rests = _rests(in_micro, in_nano)
    wrong = _is_below_zero(micro, rests)
    if not pc.any(wrong).as_py():
        return in_micro
    cut = pc.cast(pc.greater(rests, _ITS_REST), pa.int64())
    meant = pc.add(pc.subtract(micro, _OVERFLOW), cut)
    return pc.if_else(wrong, meant, micro).cast(in_micro.type)


def finer_in_int96(content: BinaryIO, metadata: Any, names: Sequence[str]) -> str | None:
    """The first time in these columns that is finer than a microsecond, in words; None when there
    is none.

    Raises what pyarrow raises for data that cannot be read.
    """
    first_row = 0
    below_zero = may_be_below_zero(metadata)
    pairs = zip(
        _groups(content, metadata, names, "us"),
        _groups(content, metadata, names, "ns"),
        strict=True,
    )
    for in_micro, in_nano in pairs:
        found = [
            (row, name)
            for name in names
            if (row := _finer(in_micro.column(name), in_nano.column(name), below_zero)) >= 0
        ]
        if found:
            row, name = min(found)
            where = f"row {first_row + row + 1}, column {name!r}"
            moment = in_micro.column(name).slice(row, 1).combine_chunks()
            if below_zero:
                moment = as_meant(moment, in_nano.column(name).slice(row, 1).combine_chunks())
            moment = moment.cast(pa.string())[0].as_py()
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


def _finer(in_micro: pa.ChunkedArray, in_nano: pa.ChunkedArray, below_zero: bool) -> int:
    """The first row whose nanoseconds are no whole microseconds; -1 without one."""
    micro, rests = _rests(in_micro, in_nano)
    finer = pc.not_equal(rests, 0)
    if below_zero:
        whole = pc.and_(_is_below_zero(micro, rests), pc.equal(rests, _ITS_REST))
        finer = pc.and_not(finer, whole)
    return int(pc.index(finer, pa.scalar(True)).as_py())


def _rests(in_micro: Any, in_nano: Any) -> tuple[Any, Any]:
    """Microseconds as numbers, and the nanoseconds that are left of each.

    Nanoseconds of years before 1678 and after 2262 overflow, and so does this product: by as much.
    """
    micro, nano = in_micro.cast(pa.int64()), in_nano.cast(pa.int64())
    return micro, pc.subtract(nano, pc.multiply(micro, 1000))


def _is_below_zero(micro: Any, rests: Any) -> Any:
    beyond = pc.or_(pc.greater(micro, _LAST), pc.less(micro, -_LAST))
    return pc.and_(beyond, pc.not_equal(rests, 0))
