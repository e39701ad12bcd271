"""Values as Arrow reads them from Parquet, in the types of a table's columns (PROTOCOL §6.5)."""

from __future__ import annotations

import uuid
from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.formats.arrow_types import arrow_type
from openmirror.formats.parquet.json_values import NotJson, as_json
from openmirror.formats.parquet.types import ParquetType
from openmirror.protocol.schema import ColumnType

_DAY = 24 * 60 * 60 * 1_000_000
"""Microseconds."""


class Loss(NamedTuple):
    """A time that lost what is finer than a microsecond."""

    row: int
    """Of the array, from 0."""
    value: str


class Unfit(Exception):
    """A value that its column cannot hold: which row of the array, from 0, and why."""

    def __init__(self, row: int, why: str) -> None:
        super().__init__(f"row {row}: {why}")
        self.row = row
        self.why = why


def truncated(array: pa.Array) -> tuple[pa.Array, Loss | None]:
    """Times in whole microseconds, and the first that lost what is finer; others as they are."""
    in_nanoseconds = pa.types.is_timestamp(array.type) or pa.types.is_time64(array.type)
    if not in_nanoseconds or array.type.unit != "ns":
        return array, None
    numbers = array.cast(pa.int64())
    quotients = pc.divide(numbers, 1000)
    rests = pc.subtract(numbers, pc.multiply(quotients, 1000))
    row = pc.index(pc.not_equal(rests, 0), pa.scalar(True)).as_py()
    if row < 0:
        return array, None
    # Division goes towards zero; a moment before 1970 must not become a later one.
    whole = pc.if_else(pc.less(rests, 0), pc.subtract(quotients, 1), quotients)
    is_time = pa.types.is_time64(array.type)
    target = pa.time64("us") if is_time else pa.timestamp("us", array.type.tz)
    return whole.cast(target), Loss(row, f"{numbers[row].as_py()} nanoseconds")


def to_column(array: pa.Array, kind: ParquetType, of_table: ColumnType) -> pa.Array:
    """One column's values in the table's type; raises Unfit for the first that has none."""
    target = arrow_type(of_table)
    if not kind.simple:
        return _json(array, kind)
    if kind.logical == "UUID":
        texts = (
            None if value is None else str(uuid.UUID(bytes=value)) for value in array.to_pylist()
        )
        return pa.array(texts, target)
    if kind.logical == "Time":
        return _times(array)
    if kind.logical in ("Timestamp", "None") and pa.types.is_timestamp(array.type):
        return _microseconds(array, pa.timestamp("us", array.type.tz)).view(target)
    if pa.types.is_binary(array.type) and pa.types.is_string(target):
        # Of bytes that are not UTF-8 Spark makes what it can; so it shall of these.
        return array.view(target)
    if pa.types.is_floating(array.type) and pa.types.is_integer(target):
        return _whole(array, target)
    return array if array.type == target else array.cast(target)


def _whole(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Floats as the integers that they are; raises Unfit for the first that is none."""
    reals = array.cast(pa.float64())
    counted = 2.0**53 if array.type == pa.float64() else 2.0**24
    bound = 2.0 ** (target.bit_width - 1)
    fits = pc.and_(
        pc.equal(pc.floor(reals), reals),
        pc.and_(
            pc.less_equal(pc.abs(reals), counted),
            pc.and_(pc.greater_equal(reals, -bound), pc.less(reals, bound)),
        ),
    )
    row = pc.index(fits, pa.scalar(False)).as_py()
    if row >= 0:
        value = reals[row].as_py()
        why = (
            f"beyond {counted:.0f} floats do not count in ones"
            if abs(value) > counted
            else f"it is no whole number of {target.bit_width} bits"
        )
        raise Unfit(row, f"{value!r} does not fit an integer column: {why}")
    return reals.cast(target)


def _microseconds(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Times or timestamps in microseconds, none of which may lose a digit."""
    try:
        return array.cast(target)
    except pa.ArrowInvalid:
        return _in_words(array, target)


def _in_words(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Which value it was; Arrow names it without its row."""
    for row in range(len(array)):
        try:
            array.slice(row, 1).cast(target)
        except pa.ArrowInvalid:
            value = array.slice(row, 1).cast(pa.int64())[0].as_py()
            unit = {"ns": "nanoseconds", "ms": "milliseconds", "s": "seconds"}[array.type.unit]
            why = (
                f"{value} {unit} are no whole microseconds, and tables hold nothing finer"
                if array.type.unit == "ns"
                else f"{value} {unit} lie beyond what microseconds can count"
            )
            raise Unfit(row, why) from None
    raise AssertionError("a value that failed among others passes alone")


def _times(array: pa.Array) -> pa.Array:
    """`HH:mm:ss`, and a fraction of six digits where it is not zero."""
    times = _microseconds(array, pa.time64("us"))
    numbers = times.cast(pa.int64())
    outside = pc.or_(pc.less(numbers, 0), pc.greater_equal(numbers, _DAY))
    if (row := pc.index(outside, True).as_py()) >= 0:
        raise Unfit(row, f"{numbers[row].as_py()} microseconds are no time of day")
    return pc.replace_substring_regex(times.cast(pa.string()), r"\.000000$", "")


def _json(array: pa.Array, kind: ParquetType) -> pa.Array:
    try:
        texts = as_json(array, kind.leaves)
    except NotJson:
        for row in range(len(array)):
            try:
                as_json(array.take(pa.array([row])), kind.leaves)
            except NotJson as error:
                raise Unfit(row, str(error)) from error
        raise
    nulls = pc.is_null(array).to_pylist()
    return pa.array(
        [None if null else text for text, null in zip(texts, nulls, strict=True)], pa.string()
    )
