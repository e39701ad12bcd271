"""Columns of the server's texts as Arrow columns. Pure.

Whole columns are converted by Arrow. Where Arrow refuses one, or could read a text otherwise than
PostgreSQL wrote it, the column is read again value by value, exactly.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.postgresql.arrays import ArrayRefused, json_of_array, plain_arrays
from openmirror.cdc.postgresql.encodings import decoded, is_utf8
from openmirror.cdc.postgresql.texts import bytes_of, of_parts, offsets_of, viewed
from openmirror.cdc.postgresql.types import TextForm, TypeReading
from openmirror.formats.arrow_types import arrow_type

NO_TEXT = "bytes that are no text"
"""How the reason begins for a value that cannot be decoded."""
_TEXTS = (TextForm.TEXT, TextForm.DIGITS, TextForm.JSON)
_INTEGER = re.compile(r"-?[0-9]+\Z")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?\Z")
_FLOAT = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?\Z")
_MONEY = r"^-?\$[0-9]{1,3}(?:,[0-9]{3})*\.[0-9]{2}$"
_HEX = re.compile(r"\\x(?:[0-9a-f]{2})*\Z")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})\Z")
_TIMESTAMP = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}(?:\.[0-9]{1,6})?)\Z")
_ZONED = re.compile(
    _TIMESTAMP.pattern.removesuffix(r"\Z") + r"([+-])([0-9]{2})(?::([0-9]{2}))?(?::([0-9]{2}))?\Z"
)
_NOT_FINITE: Final[Mapping[str, str]] = {
    "NaN": "NaN",
    "Infinity": "an infinity",
    "-Infinity": "an infinity",
    "infinity": "an infinity",
    "-infinity": "an infinity",
}
_LEAST_US, _MOST_US = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The years 1 to 9999, in microseconds since 1970."""


class ValueRefused(ValueError):
    """A value that its column's Delta type cannot hold."""

    def __init__(self, row: int, why: str, column: str = "") -> None:
        super().__init__(f"row {row}: {column or 'its value'} is {why}")
        self.row = row
        """The first such row, from 0."""
        self.why = why
        """What the value is, without quoting it, such as `NaN, which decimal(10,2) cannot hold`."""
        self.column = column
        """The column's name, where the caller of `to_arrow` knows it."""


def to_arrow(texts: pa.Array, reading: TypeReading, encoding: str) -> pa.Array:
    """Return a column's values in the Arrow type of its Delta type.

    Args:
        texts: The server's texts as a `binary` array; NULL where the value is NULL.
        reading: How they are read.
        encoding: The server's encoding as `SHOW server_encoding` names it.

    Raises:
        ValueRefused: The first value that is no text of the encoding, or that the type cannot
            hold exactly.
    """
    if len(texts) == texts.null_count:
        return pa.nulls(len(texts), arrow_type(reading.type))
    try:
        found = _FAST[reading.form](texts, reading, encoding)
    except (pa.ArrowInvalid, binascii.Error):
        found = None
    return _one_by_one(texts, reading, encoding) if found is None else found


def _one_by_one(texts: pa.Array, reading: TypeReading, encoding: str) -> pa.Array:
    values: list[Any] = []
    for row, content in enumerate(texts.to_pylist()):
        try:
            values.append(None if content is None else value_of(content, reading, encoding))
        except UnicodeDecodeError:
            raise ValueRefused(row, f"{NO_TEXT} of {encoding}") from None
        except ArrayRefused as error:
            raise ValueRefused(row, str(error)) from None
        except _Unfit as error:
            raise ValueRefused(row, f"{error}, which {reading.type} cannot hold") from None
    return pa.array(values, arrow_type(reading.type))


def value_of(content: bytes, reading: TypeReading, encoding: str) -> Any:
    """Return one value of the server's text, exactly.

    Raises:
        ValueError: The type cannot hold it, or it is no text of the encoding.
    """
    text = decoded(content, encoding)
    if reading.form in _TEXTS:
        return text
    if reading.form is TextForm.ARRAY:
        assert reading.element is not None
        return json_of_array(text, reading.element, reading.delimiter)
    return _EXACT[reading.form](text, reading)


class _Unfit(ValueError):
    """The message says what the value is."""


def _unfit(text: str, otherwise: str) -> _Unfit:
    return _Unfit(_NOT_FINITE.get(text, otherwise))


# Value by value


def _exact_integer(text: str, reading: TypeReading) -> int:
    if not _INTEGER.match(text):
        raise _unfit(text, "a text that is no whole number")
    bits = arrow_type(reading.type).bit_width
    value = int(text)
    if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise _Unfit("a number out of range")
    return value


def _exact_boolean(text: str, _: TypeReading) -> bool:
    if text not in ("t", "f"):
        raise _Unfit("a text that is no boolean")
    return text == "t"


def _exact_float(text: str, reading: TypeReading) -> float:
    if text in ("NaN", "Infinity", "-Infinity"):
        return float(text)
    if not _FLOAT.match(text):
        raise _Unfit("a text that is no number")
    # Through Arrow, because Python would round to a double before it rounds to a float.
    value: float = pa.scalar(text).cast(arrow_type(reading.type)).as_py()
    is_zero = not text.lower().partition("e")[0].strip("-0.")
    if value in (float("inf"), float("-inf")) or (value == 0) is not is_zero:
        raise _Unfit("a number out of range")
    return value


def _exact_decimal(text: str, reading: TypeReading) -> Decimal:
    if not _NUMBER.match(text):
        raise _unfit(text, "a text that is no number")
    kind = arrow_type(reading.type)
    whole, _, fraction = text.lstrip("-").partition(".")
    digits = len(whole.lstrip("0"))
    if len(fraction.rstrip("0")) > kind.scale or digits > kind.precision - kind.scale:
        raise _Unfit("a number of more digits")
    return Decimal(text)


def _exact_money(text: str, reading: TypeReading) -> Decimal:
    if not re.match(_MONEY, text):
        raise _Unfit("a text that is no amount of money")
    return _exact_decimal(text.replace("$", "").replace(",", ""), reading)


def _exact_date(text: str, _: TypeReading) -> date:
    if not _DATE.match(text):
        raise _moment(text, "date")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise _Unfit("a text that is no date") from None


def _exact_timestamp(text: str, _: TypeReading) -> datetime:
    if not _TIMESTAMP.match(text):
        raise _moment(text, "timestamp")
    return _parsed(text)


def _exact_zoned(text: str, _: TypeReading) -> datetime:
    found = _ZONED.match(text)
    if found is None:
        raise _moment(text, "timestamp with an offset")
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[2:])
    offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    try:
        moment = _parsed(found[1]) + (offset if found[2] == "-" else -offset)
    except OverflowError:
        raise _Unfit("a moment outside of the years 1 to 9999") from None
    return moment.replace(tzinfo=UTC)


def _exact_bytes(text: str, _: TypeReading) -> bytes:
    if not _HEX.match(text):
        raise _Unfit("a text that is no bytes in hex")
    return bytes.fromhex(text[2:])


def _parsed(text: str) -> datetime:
    moment, _, fraction = text.partition(".")
    try:
        whole = datetime.strptime(moment, "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007
    except ValueError:
        raise _Unfit("a text that is no timestamp") from None
    return whole.replace(microsecond=int(fraction.ljust(6, "0")))


def _moment(text: str, what: str) -> _Unfit:
    if text.endswith(" BC"):
        return _Unfit("a moment before Christ")
    if re.match(r"[0-9]{5,}-", text):
        return _Unfit("a year after 9999")
    return _unfit(text, f"a text that is no {what}")


_EXACT: Final[Mapping[TextForm, Callable[[str, TypeReading], Any]]] = {
    TextForm.INTEGER: _exact_integer,
    TextForm.BOOLEAN: _exact_boolean,
    TextForm.FLOAT: _exact_float,
    TextForm.DECIMAL: _exact_decimal,
    TextForm.MONEY: _exact_money,
    TextForm.DATE: _exact_date,
    TextForm.TIMESTAMP: _exact_timestamp,
    TextForm.ZONED_TIMESTAMP: _exact_zoned,
    TextForm.BYTES: _exact_bytes,
}


# Whole columns: each returns None where it is not sure of a text.


def _fast_text(texts: pa.Array, _: TypeReading, encoding: str) -> pa.Array | None:
    if is_utf8(encoding):
        return texts.cast(pa.string())
    # Every server encoding has ASCII in it.
    return viewed(texts, pa.string()) if (bytes_of(texts) < 0x80).all() else None


def _fast_integer(texts: pa.Array, reading: TypeReading, _: str) -> pa.Array | None:
    # Without this, Arrow would read `0x1f` as a number.
    if (bytes_of(texts) > ord("9")).any():
        return None
    return viewed(texts, pa.string()).cast(arrow_type(reading.type))


def _fast_boolean(texts: pa.Array, _: TypeReading, __: str) -> pa.Array | None:
    values = pc.equal(texts, b"t")
    known = pc.or_(values, pc.equal(texts, b"f"))
    return values if pc.all(known).as_py() else None


def _fast_float(texts: pa.Array, reading: TypeReading, _: str) -> pa.Array | None:
    values = viewed(texts, pa.string()).cast(arrow_type(reading.type))
    # Arrow reads numbers out of range as an infinity or as zero.
    odd = pc.or_(pc.invert(pc.is_finite(values)), pc.equal(values, 0))
    if pc.any(odd).as_py():
        known = pa.array([b"0", b"-0", b"NaN", b"Infinity", b"-Infinity"])
        if not pc.all(pc.is_in(texts.filter(odd), known)).as_py():
            return None
    return values


def _fast_decimal(texts: pa.Array, reading: TypeReading, _: str) -> pa.Array:
    return viewed(texts, pa.string()).cast(arrow_type(reading.type))


def _fast_money(texts: pa.Array, reading: TypeReading, _: str) -> pa.Array | None:
    amounts = texts.cast(pa.string())
    if not pc.all(pc.match_substring_regex(amounts, _MONEY)).as_py():
        return None
    for mark in ("$", ","):
        amounts = pc.replace_substring(amounts, mark, "")
    return amounts.cast(arrow_type(reading.type))


def _fast_moment(texts: pa.Array, reading: TypeReading, _: str) -> pa.Array | None:
    values = viewed(texts, pa.string()).cast(arrow_type(reading.type))
    found = pc.min_max(values)
    least, most = (found[end].cast(pa.timestamp("us")).cast(pa.int64()) for end in ("min", "max"))
    is_possible = least.as_py() >= _LEAST_US and most.as_py() <= _MOST_US
    return values if is_possible else None


def _fast_bytes(texts: pa.Array, _: TypeReading, __: str) -> pa.Array | None:
    offsets, content = offsets_of(texts), bytes_of(texts)
    offsets = offsets - offsets[0]
    lengths = np.diff(offsets)
    # A NULL has no bytes.
    is_value = lengths > 0
    starts = offsets[:-1][is_value]
    if len(starts) != len(texts) - texts.null_count or (lengths % 2).any():
        return None
    if (content[starts] != ord("\\")).any() or (content[starts + 1] != ord("x")).any():
        return None
    is_digit = np.ones(len(content), np.bool_)
    is_digit[starts] = is_digit[starts + 1] = False
    values = np.frombuffer(binascii.unhexlify(content[is_digit].tobytes()), np.uint8)
    sizes = np.where(is_value, lengths // 2 - 1, 0)
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return of_parts(pa.binary(), ends, values, texts)


def _fast_array(texts: pa.Array, reading: TypeReading, _: str) -> pa.Array | None:
    assert reading.element is not None
    return plain_arrays(viewed(texts, pa.string()), reading.element, reading.delimiter)


_FAST: Final[Mapping[TextForm, Callable[[pa.Array, TypeReading, str], pa.Array | None]]] = {
    TextForm.INTEGER: _fast_integer,
    TextForm.BOOLEAN: _fast_boolean,
    TextForm.FLOAT: _fast_float,
    TextForm.DECIMAL: _fast_decimal,
    TextForm.MONEY: _fast_money,
    TextForm.DATE: _fast_moment,
    TextForm.TIMESTAMP: _fast_moment,
    TextForm.ZONED_TIMESTAMP: _fast_moment,
    TextForm.BYTES: _fast_bytes,
    TextForm.JSON: _fast_text,
    TextForm.DIGITS: _fast_text,
    TextForm.TEXT: _fast_text,
    TextForm.ARRAY: _fast_array,
}
