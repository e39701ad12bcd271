"""Dates and times as Debezium writes them, in numbers or in text, to Arrow's."""

from __future__ import annotations

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

_DAY = 86_400
_LARGEST = (1 << 63) - 1
_MICROSECOND = 6
_NANOSECOND = 9
_CLOCK = len("HH:mm:ss")
FIRST_DAY = -719_162
"""0001-01-01, in days since 1970."""
LAST_DAY = 2_932_896
"""9999-12-31."""

_LONGEST_TIME = 839 * 3600 - 1
"""Seconds: 838:59:59."""
_DATE = r"(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?"
ISO_DATE = rf"\A{_DATE}Z?\z"
ISO_TIME = rf"\A{_TIME}Z?\z"
ISO_TIMESTAMP = rf"\A{_DATE}T{_TIME}Z?\z"
ZONED_TIMESTAMP = rf"\A{_DATE}T{_TIME}(?:Z|[+-][0-9]{{2}}:[0-9]{{2}})\z"
_FINER = r"(\.[0-9]{6})[0-9]+"
_FINER_THAN_ZERO = r"\.[0-9]{6,}[1-9]"
"""Found in the same places, but for digits that say nothing."""


def days(raw: pa.Array) -> pa.Array:
    """Which days since 1970 are in years 1 to 9999: outside, other readers see other dates."""
    return _between(raw, FIRST_DAY, LAST_DAY)


def timestamps(raw: pa.Array, digits: int) -> tuple[pa.Array, pa.Array]:
    """Units since 1970, of which 10**digits are a second, in microseconds; and which have a place.

    A place is had by what is in years 1 to 9999; a unit is a microsecond or longer.
    """
    unit = 10**digits
    fits = _between(raw, FIRST_DAY * _DAY * unit, (LAST_DAY + 1) * _DAY * unit - 1)
    inside = pc.if_else(fits, raw, None)
    return pc.multiply(inside, 10 ** (_MICROSECOND - digits)), fits


def times_of_day(raw: pa.Array, digits: int) -> tuple[pa.Array, pa.Array]:
    """Units since midnight as `HH:mm:ss`, with a fraction unless that is zero; and which are times.

    PostgreSQL has 24:00:00 as well, and a time of MySQL and MariaDB may be `-838:59:59.5`.
    """
    most = _LONGEST_TIME * 10**digits
    fits = _between(raw, -most, most)
    length = pc.abs(pc.if_else(fits, raw.cast(pa.int64()), None))
    nanos = pc.multiply(length, 10 ** (_NANOSECOND - digits))
    seconds = pc.divide(nanos, 10**_NANOSECOND)
    fraction = pc.subtract(nanos, pc.multiply(seconds, 10**_NANOSECOND))
    minutes = pc.divide(seconds, 60)
    hours = pc.divide(minutes, 60)
    clock = pc.binary_join_element_wise(
        _padded(hours, 2),
        _padded(pc.subtract(minutes, pc.multiply(hours, 60)), 2),
        _padded(pc.subtract(seconds, pc.multiply(minutes, 60)), 2),
        ":",
    )
    sign = pc.if_else(pc.less(raw, 0), "-", "")
    text = _with_fraction(clock, _padded(fraction, _NANOSECOND))
    return pc.binary_join_element_wise(sign, text, ""), fits


def times_in_text(texts: pa.Array) -> pa.Array:
    """Texts that match ISO_TIME as `times_of_day` has times."""
    bare = pc.utf8_rtrim(texts, characters="Z")
    clock = pc.utf8_slice_codeunits(bare, start=0, stop=_CLOCK)
    digits = pc.utf8_slice_codeunits(bare, start=_CLOCK + 1)
    return _with_fraction(clock, pc.utf8_rpad(digits, width=_NANOSECOND, padding="0"))


def finer(texts: pa.Array) -> pa.Array:
    """Which of them say more than microseconds."""
    return pc.match_substring_regex(texts, _FINER_THAN_ZERO)


def parsed(texts: pa.Array, pattern: str, kind: pa.DataType) -> tuple[pa.Array, pa.Array]:
    """Texts that match a pattern as dates or timestamps, and which are one: no 30th of February.

    What is finer than a microsecond is cut off.
    """
    fits = pc.match_substring_regex(texts, pattern)
    zoneless = getattr(kind, "tz", None) is None
    trimmed = pc.utf8_rtrim(texts, characters="Z") if zoneless else texts
    in_micros = pc.replace_substring_regex(trimmed, pattern=_FINER, replacement=r"\1")
    matching = pc.if_else(fits, in_micros, None)
    try:
        return matching.cast(kind), fits
    except pa.ArrowInvalid:
        values = [_one(text, kind) for text in matching]
        return pa.array(values, kind), pa.array([value is not None for value in values])


def _one(text: pa.StringScalar, kind: pa.DataType) -> pa.Scalar | None:
    try:
        return text.cast(kind) if text.is_valid else None
    except pa.ArrowInvalid:
        return None


def _between(raw: pa.Array, least: int, most: int) -> pa.Array:
    least, most = max(least, -_LARGEST - 1), min(most, _LARGEST)
    return pc.and_(pc.greater_equal(raw, least), pc.less_equal(raw, most))


def _padded(numbers: pa.Array, width: int) -> pa.Array:
    return pc.utf8_lpad(numbers.cast(pa.string()), width=width, padding="0")


def _with_fraction(clock: pa.Array, nanos: pa.Array) -> pa.Array:
    """The nine digits behind the point as six, or none, where the others are zero."""
    micros = pc.utf8_slice_codeunits(nanos, start=0, stop=_MICROSECOND)
    digits = pc.if_else(pc.ends_with(nanos, pattern="000"), micros, nanos)
    is_whole = pc.equal(digits, "0" * _MICROSECOND)
    fraction = pc.if_else(is_whole, "", pc.binary_join_element_wise("", digits, "."))
    return pc.binary_join_element_wise(clock, fraction, "")
