"""Typed values with one spelling each, as publishers spell them in delimited text."""

from __future__ import annotations

import base64
import math
import random
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from openmirror.protocol.text_format import TextType
from tests.text.dialects import LINE_ENDS, NULLS, QUOTES, SEPARATORS

Value = Any
Spelled = tuple[Value, str]
"""What a reader must find, and what stands in the file."""

_MARKS = (*SEPARATORS, *QUOTES[:2], "\\", "/", *LINE_ENDS)
_LOOKALIKES = (
    *NULLS,
    "",
    " ",
    "  a ",
    "\ta",
    "true",
    "-1",
    "007",
    "#not a comment",
    "--",
    "\\N\\",
    "\\\\",
    "\\n",
    '""',
    '"a" b',
    "''",
    "it's",
    '5" disk',
    "a\\",
    "a/",
    '\\"',
    '"',
    "'",
    "C:\\new\\table",
    "http://a//b",
    "\n",
    "\r\n\r\n",
    "a\nb",
    ",,,",
    "\x0b\x0c\x1c\x1d\x1e",
    "\x1a",
    "=1+1",
    '{"a": "b,c"}',
)


def text(draw: random.Random, characters: str) -> str:
    """Text that wants to be taken for something else."""
    if "\ufeff" in characters and draw.random() < 0.03:
        return "\ufeffa"  # a byte order mark only at the very beginning of a file
    match draw.randrange(8):
        case 0 | 1:
            return draw.choice(_LOOKALIKES)
        case 2:
            return "".join(draw.choices((*_MARKS, "a", " "), k=draw.randint(1, 8)))
        case 3 | 4:
            pieces = (*_MARKS, *characters, "word", " ")
            return "".join(draw.choices(pieces, k=draw.randint(1, 12)))
        case 5:
            return "".join(draw.choices(characters, k=draw.randint(1, 9)))
        case _:
            return draw.choice(("plain", "two words", "x", "x y z"))


def _string(draw: random.Random, characters: str) -> Spelled:
    chosen = text(draw, characters)
    if draw.random() < 0.004:
        # Longer than the pieces in which a reader may take a file.
        chosen = (chosen or "abc") * draw.randint(1000, 9000)
    return chosen, chosen


def _whole(bits: int) -> Callable[[random.Random, str], Spelled]:
    edges = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 0, 1, -1)

    def whole(draw: random.Random, _: str) -> Spelled:
        value = draw.choice(edges) if draw.random() < 0.3 else draw.randint(*edges[:2])
        spellings = (f"{value:d}", f"{value:+d}", f"{value:012d}", f"{value}.", f"{value}.00")
        return value, draw.choices(spellings, (20, 1, 1, 1, 1))[0]

    return whole


_DOUBLES = (0.0, -0.0, 5e-324, 1.7976931348623157e308, -2.5, 0.1, 1e22, 2.0**53 + 2)
_SINGLES = (0.0, 1.401298464324817e-45, 3.4028234663852886e38, -1.5, 16777216.0)
_NOT_FINITE = ((math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"))


def _double(draw: random.Random, _: str) -> Spelled:
    if draw.random() < 0.05:
        return draw.choice(_NOT_FINITE)
    value = draw.choice((draw.choice(_DOUBLES), draw.uniform(-1e6, 1e6), draw.gauss(0, 1e-9)))
    return value, draw.choice((repr(value), f"{value:.17E}"))


def _single(draw: random.Random, _: str) -> Spelled:
    if draw.random() < 0.05:
        return draw.choice(_NOT_FINITE)
    drawn = draw.choice((draw.choice(_SINGLES), draw.uniform(-1e6, 1e6)))
    value: float = struct.unpack("f", struct.pack("f", drawn))[0]
    return value, draw.choice((repr(value), f"{value:.9g}"))


_FIRST_DAY, _LAST_DAY = date(1, 1, 1), date(9999, 12, 31)


def _date(draw: random.Random, _: str) -> Spelled:
    days = (_LAST_DAY - _FIRST_DAY).days
    usual = date(2024, 2, 29) + timedelta(draw.randint(-9999, 9999))
    value = draw.choice(
        (
            *(_FIRST_DAY, _LAST_DAY, date(1970, 1, 1), date(1582, 10, 10), usual, usual),
            _FIRST_DAY + timedelta(draw.randint(0, days)),
        )
    )
    return value, value.isoformat()


def _day(draw: random.Random, characters: str) -> Spelled:
    value, text = _date(draw, characters)
    return value, text + draw.choices(("", "T00:00:00", " 00:00"), (9, 1, 1))[0]


def _time_of_day(draw: random.Random) -> time:
    edges = (time(0), time(23, 59, 59, 999999), time(12, 30))
    drawn = time(draw.randint(0, 23), draw.randint(0, 59), draw.randint(0, 59))
    if draw.random() < 0.5:
        drawn = drawn.replace(microsecond=draw.choice((1, 500000, 120000, 999999)))
    return draw.choice((*edges, drawn, drawn, drawn))


_ZONES = {
    "": timedelta(),
    "Z": timedelta(),
    " +00:00": timedelta(),
    "+02:00": timedelta(hours=2),
    "-0530": timedelta(hours=-5, minutes=-30),
}


def _moment(draw: random.Random, characters: str) -> Spelled:
    day, day_text = _date(draw, characters)
    of_day = _time_of_day(draw)
    value = datetime.combine(day, of_day, UTC)
    if draw.random() < 0.05:
        return datetime.combine(day, time(), UTC), day_text
    zone = "" if draw.random() < 0.6 else draw.choice(tuple(_ZONES))
    if _FIRST_DAY < day < _LAST_DAY:
        value -= _ZONES[zone]
    else:
        zone = ""
    return value, f"{day_text}{draw.choice(' T')}{of_day.isoformat()}{_finer(of_day, draw)}{zone}"


def _finer(of_day: time, draw: random.Random) -> str:
    """Zeros that some writers put behind microseconds."""
    return draw.choice(("", "0", "000")) if of_day.microsecond else ""


def _clock_time(draw: random.Random, _: str) -> Spelled:
    of_day = _time_of_day(draw)
    if draw.random() < 0.1:
        return of_day.replace(second=0, microsecond=0).isoformat(), f"{of_day:%H:%M}"
    if draw.random() < 0.1:
        day = _date(draw, "")[1]
        return f"{day} {of_day.isoformat()}", f"{day}{draw.choice(' T')}{of_day.isoformat()}"
    return of_day.isoformat(), of_day.isoformat() + _finer(of_day, draw)


_TRUE = ("true", "True", "TRUE", "1", "t", "yes", "Y", "On")
_FALSE = ("false", "False", "FALSE", "0", "F", "NO", "n", "off")


def _boolean(draw: random.Random, _: str) -> Spelled:
    value = draw.random() < 0.5
    return value, draw.choice(_TRUE if value else _FALSE)


def _bytes(draw: random.Random, _: str) -> Spelled:
    value = draw.randbytes(draw.choice((0, 1, 2, 3, 20)))
    return value, base64.b64encode(value).decode()


_DRAWS: dict[TextType, Callable[[random.Random, str], Spelled]] = {
    TextType.DOUBLE: _double,
    TextType.SINGLE: _single,
    TextType.INT16: _whole(16),
    TextType.INT32: _whole(32),
    TextType.INT64: _whole(64),
    TextType.DATE_TIME: _moment,
    TextType.DATE: _day,
    TextType.TIME: _clock_time,
    TextType.STRING: _string,
    TextType.BOOLEAN: _boolean,
    TextType.BYTES: _bytes,
}


def spelled(kind: TextType, draw: random.Random, characters: str) -> Spelled:
    """A value of this type and one of its spellings."""
    value, text = _DRAWS[kind](draw, characters)
    if kind is not TextType.STRING and draw.random() < 0.05:
        text = draw.choice((f" {text}", f"{text}  ", f"\t{text} "))
    return value, text
