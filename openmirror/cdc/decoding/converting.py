"""JSON's values to values of Delta's types, a column at a time; what has no place is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.decoding import times
from openmirror.cdc.decoding.decimals import to_decimals, to_texts
from openmirror.cdc.decoding.types import Form, Reading
from openmirror.formats.arrow_types import arrow_type

_MICROSECOND = 6


@dataclass(frozen=True)
class Converted:
    """A column in its Delta type."""

    values: pa.Array
    invalid: pa.Array | None = None
    """Where a value has no place in the type, and NULL stands for it; None: nowhere."""


def convert(raw: pa.Array, reading: Reading) -> Converted:
    """What Spark read of a column's JSON as its Delta type has it."""
    return _FORMS[reading.form](raw, reading)


def _plain(raw: pa.Array, reading: Reading) -> Converted:
    wanted = arrow_type(reading.type)
    if reading.type != "byte":
        return Converted(raw.cast(wanted))
    return _checked(raw, pc.and_(pc.greater_equal(raw, -128), pc.less_equal(raw, 127)), wanted)


def _checked(raw: pa.Array, fits: pa.Array, wanted: pa.DataType) -> Converted:
    """NULL where a value does not fit, and where that is."""
    if pc.all(fits).as_py():
        return Converted(raw.cast(wanted))
    invalid = pc.fill_null(pc.invert(fits), False)
    return Converted(pc.if_else(fits, raw, None).cast(wanted), invalid)


def _decimal(raw: pa.Array, reading: Reading) -> Converted:
    wanted = arrow_type(reading.type)
    values, fits = to_decimals(raw, wanted.precision, wanted.scale)
    return _marked(raw, values, fits)


def _long_decimal(raw: pa.Array, reading: Reading) -> Converted:
    scales = pa.repeat(pa.scalar(reading.scale, pa.int32()), len(raw))
    return Converted(to_texts(raw, scales))


def _variable_decimal(raw: pa.Array, _: Reading) -> Converted:
    return Converted(to_texts(pc.struct_field(raw, "value"), pc.struct_field(raw, "scale")))


def _days(raw: pa.Array, _: Reading) -> Converted:
    return _checked(raw, times.days(raw), pa.date32())


def _time(raw: pa.Array, reading: Reading) -> Converted:
    values, fits = times.times_of_day(raw, reading.scale)
    return _marked(raw, values, fits)


def _timestamp(raw: pa.Array, reading: Reading) -> Converted:
    values, fits = times.timestamps(raw, reading.scale)
    return _marked(raw, values.cast(arrow_type(reading.type)), fits)


def _zoned_timestamp(raw: pa.Array, reading: Reading) -> Converted:
    values, fits = times.parsed(raw, times.ZONED_TIMESTAMP, arrow_type(reading.type))
    # An offset may lead out of the years that a date can have.
    _, in_range = times.timestamps(values.cast(pa.int64()), _MICROSECOND)
    return _marked(raw, pc.if_else(in_range, values, None), pc.and_(fits, in_range))


def _iso_date(raw: pa.Array, reading: Reading) -> Converted:
    return _marked(raw, *times.parsed(raw, times.ISO_DATE, arrow_type(reading.type)))


def _iso_timestamp(raw: pa.Array, reading: Reading) -> Converted:
    return _marked(raw, *times.parsed(raw, times.ISO_TIMESTAMP, arrow_type(reading.type)))


def _iso_time(raw: pa.Array, _: Reading) -> Converted:
    fits = pc.match_substring_regex(raw, times.ISO_TIME)
    return _marked(raw, times.times_in_text(pc.if_else(fits, raw, None)), fits)


def _marked(raw: pa.Array, values: pa.Array, fits: pa.Array) -> Converted:
    invalid = pc.and_(pc.is_valid(raw), pc.invert(pc.fill_null(fits, False)))
    return Converted(values, invalid if pc.any(invalid).as_py() else None)


_FORMS: dict[Form, Callable[[pa.Array, Reading], Converted]] = {
    Form.PLAIN: _plain,
    Form.DECIMAL: _decimal,
    Form.LONG_DECIMAL: _long_decimal,
    Form.VARIABLE_DECIMAL: _variable_decimal,
    Form.DAYS: _days,
    Form.TIME: _time,
    Form.TIMESTAMP: _timestamp,
    Form.ZONED_TIMESTAMP: _zoned_timestamp,
    Form.ISO_DATE: _iso_date,
    Form.ISO_TIME: _iso_time,
    Form.ISO_TIMESTAMP: _iso_timestamp,
    Form.JSON: _plain,
}
