"""Decimals as Kafka Connect writes them, in bytes of two's complement, to Arrow's own."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

_BYTES = 16
_MOST_DIGITS = 38
_NEGATIVE = b"\x80"


def to_decimals(raw: pa.Array, digits: int, scale: int) -> tuple[pa.Array, pa.Array]:
    """Big-endian bytes as decimals of so many digits, and which fit; NULL for those that do not."""
    values, few = _unscaled(raw, scale)
    fits = pc.and_(few, _within(values, digits, scale))
    return pc.if_else(fits, values, None).cast(pa.decimal128(digits, scale)), fits


def to_texts(raw: pa.Array, scales: pa.Array) -> pa.Array:
    """Big-endian bytes as plain decimal text, each with its own count of digits after the point."""
    values, few = _unscaled(raw, 0)
    few = pc.and_(few, _within(values, _MOST_DIGITS, 0))
    whole = pc.if_else(few, values, None).cast(pa.string())
    many = pc.indices_nonzero(pc.and_(pc.is_valid(raw), pc.invert(pc.fill_null(few, False))))
    if len(many):
        # Numbers of more than 38 digits: rare enough to be taken one by one.
        exact = whole.to_pylist()
        for row in many.to_pylist():
            number = int.from_bytes(raw[row].as_py(), "big", signed=True)
            exact[row] = str(Decimal(number))  # str of an int ends at 4300 digits
        whole = pa.array(exact, pa.string())
    result = pa.nulls(len(raw), pa.string())
    for scale in pc.unique(scales).to_pylist():
        if scale is not None:
            result = pc.if_else(pc.equal(scales, scale), _with_point(whole, scale), result)
    return result


def _unscaled(raw: pa.Array, scale: int) -> tuple[pa.Array, pa.Array]:
    """As decimals of 38 digits that may hold 39, and which have bytes enough but not too many."""
    length = pc.binary_length(raw)
    few = pc.and_(pc.greater(length, 0), pc.less_equal(length, _BYTES))
    # Arrow's own form is 16 bytes, the lowest first: reversed, and filled up by the sign.
    reverse = pc.binary_reverse(pc.if_else(pc.fill_null(few, False), raw, b"\x00"))
    negative = pc.greater_equal(pc.binary_slice(reverse, -1), _NEGATIVE)
    filler = pc.if_else(negative, b"\xff", b"\x00")
    missing = pc.subtract(_BYTES, pc.binary_length(reverse))
    full = pc.binary_join_element_wise(reverse, pc.binary_repeat(filler, missing), b"")
    data = full.cast(pa.binary(_BYTES)).buffers()[1]
    values = pa.Array.from_buffers(pa.decimal128(_MOST_DIGITS, scale), len(raw), [None, data])
    return pc.if_else(pc.is_valid(raw), values, None), few


def _within(values: pa.Array, digits: int, scale: int) -> pa.Array:
    nines = Decimal((0, (9,) * digits, -scale))
    most = pa.scalar(nines, values.type)
    least = pa.scalar(nines.copy_negate(), values.type)
    return pc.and_(pc.less_equal(values, most), pc.greater_equal(values, least))


def _with_point(whole: pa.Array, scale: int) -> pa.Array:
    if scale == 0:
        return whole
    sign = pc.if_else(pc.starts_with(whole, pattern="-"), "-", "")
    digits = pc.utf8_ltrim(whole, characters="-")
    if scale < 0:
        zeros = pc.if_else(pc.equal(digits, "0"), "", "0" * -scale)
        return pc.binary_join_element_wise(sign, digits, zeros, "")
    digits = pc.utf8_lpad(digits, width=scale + 1, padding="0")
    before = pc.utf8_slice_codeunits(digits, start=0, stop=-scale)
    after = pc.utf8_slice_codeunits(digits, start=-scale)
    number = pc.binary_join_element_wise(before, after, ".")
    return pc.binary_join_element_wise(sign, number, "")
