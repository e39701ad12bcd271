"""What the text of a value means in each type; the grammar of PROTOCOL §4.6, value by value.

This is the definition. `columns.py` reads whole columns faster where all of it is written plainly.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta

from openmirror.plan.read_rules import BinaryText
from openmirror.protocol.text_format import TextType

BLANKS = " \t"
"""Around a value of any type but String, these mean nothing."""
TRUE = ("true", "t", "1", "yes", "y", "on")
FALSE = ("false", "f", "0", "no", "n", "off")

_WHOLE = re.compile(r"([+-]?[0-9]+)(?:\.0*)?\Z")
_REAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)\Z", re.IGNORECASE)
_CLOCK = r"([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\.([0-9]{1,9}))?)?"
_TIME = re.compile(rf"(?:([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})[Tt ])?{_CLOCK}\Z")
_HEX = re.compile(r"(?:0[xX]|\\[xX])?((?:[0-9a-fA-F]{2})*)\Z")
_EITHER = re.compile(r"0[xX](?:[0-9a-fA-F]{2})*\Z")
"""What SQL Server and others write for bytes, and base64 can be."""
_ZONE = r"(Z|z|[+-](?:[01][0-9]|2[0-3]):?[0-5][0-9])"
_MOMENT = re.compile(rf"([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})(?:[Tt ]{_CLOCK} ?{_ZONE}?)?\Z")


def read_value(kind: TextType, text: str, binary: BinaryText | None = None) -> object:
    """The value that this text is, without blanks around it; ValueError says why it is none.

    `binary` is how bytes are written, where that is declared.
    """
    if kind is TextType.BYTES:
        return _bytes(text, binary)
    return _READERS[kind](text)


def _whole(bits: int) -> Callable[[str], int]:
    lowest, highest = -(1 << bits - 1), (1 << bits - 1) - 1

    def read(text: str) -> int:
        match = _WHOLE.match(text)
        if match is None:
            raise ValueError("it is no whole number")
        # Digits beyond any number's are refused unread: reading them takes time by their square.
        digits = match[1].lstrip("+-").lstrip("0")
        value = int(match[1]) if len(digits) < 20 else highest + 1
        if not lowest <= value <= highest:
            raise ValueError(f"it must lie between {lowest} and {highest}")
        return value

    return read


def _double(text: str) -> float:
    if _NOT_FINITE.match(text):
        return float(text)
    if not _REAL.match(text):
        raise ValueError("it is no number")
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("it is too large for its type")
    return value


def _single(text: str) -> float:
    try:
        value: float = struct.unpack("<f", struct.pack("<f", _double(text)))[0]
    except OverflowError as error:
        raise ValueError("it is too large for its type") from error
    return value


def _boolean(text: str) -> bool:
    word = text.lower()
    if word not in TRUE + FALSE:
        raise ValueError("it must be true or false, t or f, 1 or 0, yes or no, y or n, on or off")
    return word in TRUE


def _moment(text: str) -> datetime:
    match = _MOMENT.match(text)
    if match is None:
        raise ValueError("it is no date and time, such as 2025-06-17T14:30:00")
    day, of_day = _day(match[1]), match.groups()[1:5]
    moment = datetime.combine(day, _clock(*of_day) if of_day[0] else time(), UTC)
    try:
        return moment - _offset(match[6])
    except OverflowError as error:
        raise ValueError("in UTC it lies outside the years 1 to 9999") from error


def _date(text: str) -> date:
    match = _MOMENT.match(text)
    if match is None:
        raise ValueError("it is no date, such as 2025-06-17")
    of_day = match.groups()[1:5]
    if of_day[0] and _clock(*of_day) != time():
        raise ValueError("it has a time of day")
    if _offset(match[6]):
        raise ValueError("a date in another zone than UTC may be two days")
    return _day(match[1])


def _time(text: str) -> str:
    match = _TIME.match(text)
    if match is None:
        raise ValueError("it is no time of day, such as 14:30:00")
    day, *of_day = match.groups()
    clock = _clock(*of_day).isoformat()
    return f"{_day(day).isoformat()} {clock}" if day else clock


def _bytes(text: str, binary: BinaryText | None) -> bytes:
    if binary is BinaryText.HEX:
        match = _HEX.match(text)
        if match is None:
            raise ValueError("it is not hexadecimal, two digits a byte")
        return bytes.fromhex(match[1])
    if binary is None and _EITHER.match(text):
        raise ValueError(
            "it may be hexadecimal or base64, two different values; set binaryText in "
            "mirroring.json to hex or base64"
        )
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("it is not base64") from error


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ValueError("there is no such day") from error


def _clock(hour: str, minute: str, second: str | None, fraction: str | None) -> time:
    digits = (fraction or "").ljust(6, "0")
    if digits[6:].strip("0"):
        raise ValueError("it is finer than a microsecond")
    return time(int(hour), int(minute), int(second or 0), int(digits[:6]))


def _offset(zone: str | None) -> timedelta:
    if zone is None or zone in "Zz":
        return timedelta()
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    return timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)


_READERS: dict[TextType, Callable[[str], object]] = {
    TextType.DOUBLE: _double,
    TextType.SINGLE: _single,
    TextType.INT16: _whole(16),
    TextType.INT32: _whole(32),
    TextType.INT64: _whole(64),
    TextType.DATE_TIME: _moment,
    TextType.DATE: _date,
    TextType.TIME: _time,
    TextType.STRING: str,
    TextType.BOOLEAN: _boolean,
}
