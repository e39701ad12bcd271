"""A column of text into a column of its type, all values at once where they are written plainly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.formats.text.values import BLANKS, FALSE, TRUE, read_value
from openmirror.plan.read_rules import BinaryText
from openmirror.protocol.schema import ColumnType
from openmirror.protocol.text_format import TextColumn, TextType

_MOST_SHOWN = 60


@dataclass(frozen=True)
class Misfit(Exception):
    """The first value of a column that does not fit its type."""

    row: int
    """In this batch, from 0."""
    why: str


TYPES: dict[TextType, ColumnType] = {
    TextType.DOUBLE: ColumnType("double"),
    TextType.SINGLE: ColumnType("float"),
    TextType.INT16: ColumnType("short"),
    TextType.INT32: ColumnType("integer"),
    TextType.INT64: ColumnType("long"),
    # The type says nothing of a zone; a value that has one was brought to UTC.
    TextType.DATE_TIME: ColumnType("timestamp_ntz"),
    TextType.DATE: ColumnType("date"),
    TextType.TIME: ColumnType("string"),
    TextType.STRING: ColumnType("string"),
    TextType.BOOLEAN: ColumnType("boolean"),
    TextType.BYTES: ColumnType("binary"),
}
"""The type of a table's column for each type of text."""

_ARROW: dict[TextType, Any] = {
    TextType.DOUBLE: pa.float64(),
    TextType.SINGLE: pa.float32(),
    TextType.INT16: pa.int16(),
    TextType.INT32: pa.int32(),
    TextType.INT64: pa.int64(),
    TextType.DATE_TIME: pa.timestamp("us", tz="UTC"),
    TextType.DATE: pa.date32(),
    TextType.TIME: pa.string(),
    TextType.STRING: pa.string(),
    TextType.BOOLEAN: pa.bool_(),
    TextType.BYTES: pa.binary(),
}


def arrow_type(column: TextColumn) -> Any:
    """The Arrow type that a column of text becomes."""
    return _ARROW[column.type]


def converted(strings: Any, column: TextColumn, null: str, binary: BinaryText | None = None) -> Any:
    """A column in its own type, from strings where NULL is already NULL (PROTOCOL §4.6).

    Raises Misfit.
    """
    may_be_empty = column.type in (TextType.STRING, TextType.BYTES)
    if may_be_empty and not column.nullable and not null:
        # Nothing but an empty text can stand for "no text" in a column that is never NULL.
        strings = pc.fill_null(strings, "")
    if column.type is TextType.STRING:
        return strings
    trimmed = pc.utf8_trim(strings, BLANKS)
    if not may_be_empty:
        trimmed = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)
    try:
        fast = _at_once(trimmed, column.type)
    except pa.ArrowInvalid:
        fast = None
    return _one_by_one(trimmed, column.type, binary) if fast is None else fast


_ZONE_BEHIND = r"( ?(?:[Zz]|[+-][0-9]{2}:?[0-9]{2})?)"
_FINE = rf"(\.[0-9]{{6}})[0-9]{{1,3}}{_ZONE_BEHIND}[ \t]*$"
_LOSES = rf"\.[0-9]{{6}}[0-9]*[1-9][0-9]*{_ZONE_BEHIND}[ \t]*$"


def truncated(strings: Any, column: TextColumn) -> tuple[Any, int | None]:
    """Times without what is finer than a microsecond, and the first row that lost some of it."""
    if column.type not in (TextType.DATE_TIME, TextType.TIME):
        return strings, None
    fine = pc.match_substring_regex(strings, _FINE)
    loses = pc.and_(fine, pc.match_substring_regex(strings, _LOSES))
    row = pc.index(loses, pa.scalar(True)).as_py()
    if row < 0:
        return strings, None
    return pc.replace_substring_regex(strings, _FINE, r"\1\2"), row


def _one_by_one(strings: Any, kind: TextType, binary: BinaryText | None) -> Any:
    values: list[object] = []
    for row, text in enumerate(strings.to_pylist()):
        try:
            values.append(None if text is None else read_value(kind, text, binary))
        except ValueError as error:
            raise Misfit(row, str(error)) from error
    return pa.array(values, _ARROW[kind])


_DIGITS = "^-?[0-9]+$"
_REAL = r"^-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
# Years that no arithmetic over them leaves the calendar with.
_DAY = "[12][0-9]{3}-[0-9]{2}-[0-9]{2}"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_ZONE = "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_PLAIN_MOMENT = rf"{_DAY}[ T]{_TIME}(?:\.[0-9]{{1,6}})?"
_MOMENT, _MOMENT_IN_ZONE = f"^{_PLAIN_MOMENT}$", f"^{_PLAIN_MOMENT}{_ZONE}$"
_TOO_FINE = r"(\.[0-9]{6})0{1,3}(Z|[+-][0-9:]{5})?$"
_TIME_ALONE = rf"^{_TIME}(?:\.[0-9]{{5}}[1-9])?$"


def _at_once(strings: Any, kind: TextType) -> Any | None:
    """The whole column, or None when some value is written in another way, or wrong.

    What is accepted here `read_value` must read in the same way.
    """
    match kind:
        case TextType.INT16 | TextType.INT32 | TextType.INT64:
            return pc.cast(strings, _ARROW[kind]) if _all(strings, _DIGITS) else None
        case TextType.DOUBLE | TextType.SINGLE:
            return _reals(strings, kind) if _all(strings, _REAL) else None
        case TextType.BOOLEAN:
            return _booleans(strings)
        case TextType.DATE:
            return pc.cast(strings, pa.date32()) if _all(strings, f"^{_DAY}$") else None
        case TextType.DATE_TIME:
            return _moments(strings)
        case TextType.TIME:
            return strings if _all(strings, _TIME_ALONE) else None
        case _:
            return None


def _all(strings: Any, pattern: str) -> bool:
    """Whether every value that is not NULL is written so."""
    found = pc.all(pc.match_substring_regex(strings, pattern))
    return found.as_py() is not False


def _reals(strings: Any, kind: TextType) -> Any | None:
    doubles = pc.cast(strings, pa.float64())
    reals = pc.cast(doubles, _ARROW[kind])
    # All of them were written with digits, so what is not finite was too large.
    return reals if pc.all(pc.is_finite(reals)).as_py() is not False else None


def _booleans(strings: Any) -> Any | None:
    words = pc.utf8_lower(strings)
    true = pc.is_in(words, value_set=pa.array(TRUE))
    known = pc.is_in(words, value_set=pa.array([*TRUE, *FALSE, None], pa.string()))
    if pc.all(known).as_py() is False:
        return None
    return pc.if_else(pc.is_valid(words), true, pa.scalar(None, pa.bool_()))


def _moments(strings: Any) -> Any | None:
    plain = pc.replace_substring_regex(strings, _TOO_FINE, r"\1\2")
    if _all(plain, _MOMENT):
        return pc.cast(pc.cast(plain, pa.timestamp("us")), _ARROW[TextType.DATE_TIME])
    if _all(plain, _MOMENT_IN_ZONE):
        return pc.cast(plain, _ARROW[TextType.DATE_TIME])
    return None


def shown(value: object) -> str:
    """A value in a message: long ones cut short."""
    text = str(value)
    return repr(text) if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]!r}…"
