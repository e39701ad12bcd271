"""A column of text into a column of its type, all values at once where they are written plainly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.formats.text.plain_values import ARROW, at_once, rewritten
from openmirror.formats.text.values import BLANKS, read_value
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


def arrow_type(column: TextColumn) -> Any:
    """The Arrow type that a column of text becomes."""
    return ARROW[column.type]


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
    if (values := at_once(strings, column.type, binary)) is not None:
        return values
    trimmed = pc.utf8_trim(strings, BLANKS)
    if not may_be_empty:
        trimmed = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)
    for spelled in (trimmed, rewritten(trimmed, column.type)):
        if (values := at_once(spelled, column.type, binary)) is not None:
            return values
    return _one_by_one(trimmed, column.type, binary)


_BEHIND = r"( ?(?:[Zz]|[+-][0-9]{2}:?[0-9]{2})?)[ \t]*$"
_FINE = rf"(\.[0-9]{{6}})[0-9]{{1,3}}{_BEHIND}"
_LOSES = rf"\.[0-9]{{6}}(?:[1-9][0-9]{{0,2}}|0[1-9][0-9]?|00[1-9]){_BEHIND}"


def truncated(strings: Any, column: TextColumn) -> tuple[Any, int | None]:
    """Times without what is finer than a microsecond, and the first row that lost some of it."""
    if column.type not in (TextType.DATE_TIME, TextType.TIME):
        return strings, None
    loses = pc.match_substring_regex(strings, _LOSES)
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
    return pa.array(values, ARROW[kind])


def shown(value: object) -> str:
    """A value in a message: long ones cut short."""
    text = str(value)
    return repr(text) if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]!r}…"
