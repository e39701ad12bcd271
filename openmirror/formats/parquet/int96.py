"""Times of INT96, which have a day and the nanoseconds since it began, and no unit.

pyarrow reads them in a unit that is asked for. Two things it does in silence: it cuts what is finer
than that unit, and it takes nanoseconds for a number without a sign. Arrow before version 23, and
libraries that did as it does, wrote times before 1970 with a day that is one too late and
nanoseconds below 0. In microseconds such a time comes 2^64 nanoseconds late, which is 584 years; in
nanoseconds it is right, because there 2^64 is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

_LATE, _ITS_REST = divmod(1 << 64, 1000)
_LAST = (1 << 63) // 1000
"""Microseconds before and after 1970 of all that nanoseconds can say."""


def may_be_below_zero(in_micro: pa.Array) -> bool:
    """Whether a time, in nested values as well, is one that such a writer may have meant to be
    another: beyond what nanoseconds can say. Times from 1093 to 1677 become such as are not, and
    stay as pyarrow reads them."""
    return any(pc.any(_is_beyond(leaf.cast(pa.int64()))).as_py() for leaf in _times_in(in_micro))


def as_meant(in_micro: pa.Array, in_nano: pa.Array) -> pa.Array:
    """Times in microseconds, from both ways in which pyarrow reads them; what is finer is cut
    towards the day, as Spark does.

    A time that is that late and has a rest of nanoseconds is one of these: the writers that knew
    such years counted in microseconds or less, and their rest is that of 2^64 alone. Not known is
    one that is finer than a microsecond by as much, and so has none.
    """
    micro, rests = _rests(in_micro, in_nano)
    wrong = _is_below_zero(micro, rests)
    if not pc.any(wrong).as_py():
        return in_micro
    cut = pc.cast(pc.greater(rests, _ITS_REST), pa.int64())
    meant = pc.add(pc.subtract(micro, _LATE), cut)
    return pc.if_else(wrong, meant, micro).cast(in_micro.type)


def are_as_meant(in_micro: pa.Array, in_nano: pa.Array) -> bool:
    """Whether all times inside nested values are right in microseconds."""
    pairs = zip(_times_in(in_micro), _times_in(in_nano), strict=True)
    return not any(pc.any(_is_below_zero(*_rests(*pair))).as_py() for pair in pairs)


def finer_in_int96(content: BinaryIO, metadata: Any, names: Sequence[str]) -> str | None:
    """The first time in these columns that is finer than a microsecond, in words; None when there
    is none.

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
            pair = [table.column(name).slice(row, 1) for table in (in_micro, in_nano)]
            moment = as_meant(*pair).cast(pa.string())[0].as_py()
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
    """The first row whose nanoseconds are no whole microseconds; -1 without one."""
    micro, rests = _rests(in_micro, in_nano)
    whole = pc.and_(_is_below_zero(micro, rests), pc.equal(rests, _ITS_REST))
    finer = pc.and_not(pc.not_equal(rests, 0), whole)
    return int(pc.index(finer, pa.scalar(True)).as_py())


def _rests(in_micro: Any, in_nano: Any) -> tuple[Any, Any]:
    """Microseconds as numbers, and the nanoseconds that are left of each.

    Nanoseconds of years before 1678 and after 2262 overflow, and so does this product: by as much.
    """
    micro, nano = in_micro.cast(pa.int64()), in_nano.cast(pa.int64())
    return micro, pc.subtract(nano, pc.multiply(micro, 1000))


def _is_below_zero(micro: Any, rests: Any) -> Any:
    """A time later than 2^64 nanoseconds is none: whatever is meant lies before 1970."""
    may_be = pc.and_(_is_beyond(micro), pc.less_equal(micro, _LATE))
    return pc.and_(may_be, pc.not_equal(rests, 0))


def _is_beyond(micro: Any) -> Any:
    return pc.or_(pc.greater(micro, _LAST), pc.less(micro, -_LAST))


def _times_in(array: pa.Array) -> Iterator[pa.Array]:
    """The times among the values that an array is made of, in one order for any unit."""
    kind = array.type
    if pa.types.is_timestamp(kind):
        yield array
    elif pa.types.is_struct(kind):
        for field in array.flatten():
            yield from _times_in(field)
    elif pa.types.is_map(kind):
        for part in (array.keys, array.items):
            yield from _times_in(part)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _times_in(array.flatten())
