"""Which changes have the same key, as Spark's `<=>` says it (PROTOCOL §5.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

_MOST = 1 << 62


class KnownKeys(NamedTuple):
    """As `MergeNeeds` has them."""

    bounds: Mapping[str, tuple[int, int]]
    not_null: frozenset[str]


def numbered(columns: Sequence[pa.ChunkedArray], rows: int) -> npt.NDArray[np.int64]:
    """A number for each row, the same for rows with the same key, from 0 on without a gap."""
    numbers, kinds = np.zeros(rows, dtype=np.int64), 1
    for column in columns:
        codes = _codes(column)
        own = int(codes.max()) + 1 if rows else 1
        if kinds * own > _MOST:
            numbers, kinds = _dense(numbers)
        numbers, kinds = numbers * own + codes, kinds * own
    return _dense(numbers)[0]


def bounds(column: pa.ChunkedArray) -> tuple[int, int] | None:
    """The least and greatest value of whole numbers and days (since 1970), without any NULL.

    None for other types, and where some row has none: a row of the table beyond the bounds might
    have its key.
    """
    if column.null_count or not len(column):
        return None
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    if not pa.types.is_integer(column.type):
        return None
    found = pc.min_max(column)
    return found["min"].as_py(), found["max"].as_py()


def known_of_keys(rows: pa.Table, keys: Sequence[str]) -> KnownKeys:
    """What is known of the keys, by position, of rows that a commit looks for in the table."""
    found = {key: bounds(rows.column(key)) for key in keys}
    return KnownKeys(
        {key: both for key, both in found.items() if both is not None},
        frozenset(key for key in keys if not rows.column(key).null_count),
    )


def _codes(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    encoded = _canonical(column).combine_chunks().dictionary_encode(null_encoding="encode")
    codes: npt.NDArray[np.int64] = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _canonical(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """-0.0 is 0.0, and NaN is NaN, whatever its bits; what is equal elsewhere has equal bytes."""
    if not pa.types.is_floating(column.type):
        return column
    zero, nan = (pa.scalar(value, column.type) for value in (0.0, float("nan")))
    positive = pc.if_else(pc.equal(column, zero), zero, column)
    return pc.if_else(pc.is_nan(positive), nan, positive)


def _dense(numbers: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], int]:
    distinct, dense = np.unique(numbers, return_inverse=True)
    return dense.astype(np.int64), max(1, len(distinct))
