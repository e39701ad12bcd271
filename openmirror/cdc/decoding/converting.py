"""JSON's values to values of Delta's types, a column at a time; what has no place is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.decoding import times
from openmirror.cdc.decoding.decimals import to_decimals, to_texts
from openmirror.cdc.decoding.types import Reading, WrittenAs
from openmirror.formats.arrow_types import arrow_type

_MICROSECOND = 6


@dataclass(frozen=True)
class TypedColumn:
    """A column in its Delta type."""

    values: pa.Array
    invalid: pa.Array | None = None
    """Where a value has no place in the type, and NULL stands for it; None: nowhere."""
    cut: pa.Array | None = None
    """Where a value is finer than its type, so that two of them may be the same here."""


def convert(raw: pa.Array, reading: Reading) -> TypedColumn:
    """What Spark read of a column's JSON as its Delta type has it."""
    return _FORMS[reading.form](raw, reading)


def _plain(raw: pa.Array, reading: Reading) -> TypedColumn:
    wanted = arrow_type(reading.type)
    if reading.type != "byte":
        return TypedColumn(raw.cast(wanted))
    return _checked(raw, pc.and_(pc.greater_equal(raw, -128), pc.less_equal(raw, 127)), wanted)


def _checked(raw: pa.Array, fits: pa.Array, wanted: pa.DataType) -> TypedColumn:
    """NULL where a value does not fit, and where that is."""
    if pc.all(fits).as_py():
        return TypedColumn(raw.cast(wanted))
    invalid = pc.fill_null(pc.invert(fits), False)
    return TypedColumn(pc.if_else(fits, raw, None).cast(wanted), invalid)


def _decimal(raw: pa.Array, reading: Reading) -> TypedColumn:
    wanted = arrow_type(reading.type)
    values, fits = to_decimals(raw, wanted.precision, wanted.scale)
    return _marked(raw, values, fits)


def _long_decimal(raw: pa.Array, reading: Reading) -> TypedColumn:
    scales = pa.repeat(pa.scalar(reading.scale, pa.int32()), len(raw))
    return TypedColumn(to_texts(raw, scales))


def _variable_decimal(raw: pa.Array, _: Reading) -> TypedColumn:
    """Equal numbers as equal texts: a snapshot and the log may write zeros at the end or not."""
    texts = to_texts(pc.struct_field(raw, "value"), pc.struct_field(raw, "scale"))
    bare = pc.utf8_rtrim(pc.utf8_rtrim(texts, characters="0"), characters=".")
    return TypedColumn(pc.if_else(pc.match_substring(texts, "."), bare, texts))


def _days(raw: pa.Array, _: Reading) -> TypedColumn:
    return _checked(raw, times.days(raw), pa.date32())


def _time(raw: pa.Array, reading: Reading) -> TypedColumn:
    values, fits = times.times_of_day(raw, reading.scale)
    return _marked(raw, values, fits)


def _timestamp(raw: pa.Array, reading: Reading) -> TypedColumn:
    values, fits = times.timestamps(raw, reading.scale)
    return _marked(raw, values.cast(arrow_type(reading.type)), fits)


def _zoned_timestamp(raw: pa.Array, reading: Reading) -> TypedColumn:
    values, fits = times.parsed(raw, times.ZONED_TIMESTAMP, arrow_type(reading.type))
    # An offset may lead out of the years that a date can have.
    _, in_range = times.timestamps(values.cast(pa.int64()), _MICROSECOND)
    column = _marked(raw, pc.if_else(in_range, values, None), pc.and_(fits, in_range))
    return replace(column, cut=times.finer(raw))


def _iso_date(raw: pa.Array, reading: Reading) -> TypedColumn:
    return _marked(raw, *times.parsed(raw, times.ISO_DATE, arrow_type(reading.type)))


def _iso_timestamp(raw: pa.Array, reading: Reading) -> TypedColumn:
    column = _marked(raw, *times.parsed(raw, times.ISO_TIMESTAMP, arrow_type(reading.type)))
    return replace(column, cut=times.finer(raw))


def _iso_time(raw: pa.Array, _: Reading) -> TypedColumn:
    fits = pc.match_substring_regex(raw, times.ISO_TIME)
    return _marked(raw, times.times_in_text(pc.if_else(fits, raw, None)), fits)


def _marked(raw: pa.Array, values: pa.Array, fits: pa.Array) -> TypedColumn:
    invalid = pc.and_(pc.is_valid(raw), pc.invert(pc.fill_null(fits, False)))
    return TypedColumn(values, invalid if pc.any(invalid).as_py() else None)


_FORMS: dict[WrittenAs, Callable[[pa.Array, Reading], TypedColumn]] = {
    WrittenAs.PLAIN: _plain,
    WrittenAs.DECIMAL: _decimal,
    WrittenAs.LONG_DECIMAL: _long_decimal,
    WrittenAs.VARIABLE_DECIMAL: _variable_decimal,
    WrittenAs.DAYS: _days,
    WrittenAs.TIME: _time,
    WrittenAs.TIMESTAMP: _timestamp,
    WrittenAs.ZONED_TIMESTAMP: _zoned_timestamp,
    WrittenAs.ISO_DATE: _iso_date,
    WrittenAs.ISO_TIME: _iso_time,
    WrittenAs.ISO_TIMESTAMP: _iso_timestamp,
    WrittenAs.JSON: _plain,
}
