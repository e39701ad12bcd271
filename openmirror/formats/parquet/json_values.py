"""Nested values as JSON text (PROTOCOL §6.5)."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.types as kinds  # type: ignore[import-untyped]

from openmirror.formats.parquet.types import ParquetType

_NULL = "null"
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 24 * 60 * 60


class NotJson(Exception):
    """A value that has no JSON text; the message says which."""


def as_json(array: pa.Array, leaves: Sequence[ParquetType]) -> list[str]:
    """Each value as JSON, `null` for NULL; `leaves` are the types inside, in order.

    Raises NotJson.
    """
    return _texts(array, iter(leaves))


def _texts(array: pa.Array, leaves: Iterator[ParquetType]) -> list[str]:
    kind = array.type
    if kinds.is_struct(kind):
        texts = _objects(array, leaves)
    elif kinds.is_map(kind):
        texts = _maps(array, leaves)
    elif kinds.is_list(kind):
        inside = _texts(array.values, leaves)
        texts = [f"[{','.join(inside[start:end])}]" for start, end in _spans(array)]
    else:
        return _scalars(array, next(leaves))
    nulls = array.is_null().to_pylist()
    return [_NULL if null else text for text, null in zip(texts, nulls, strict=True)]


def _objects(array: pa.Array, leaves: Iterator[ParquetType]) -> list[str]:
    names = [_quoted(field.name) for field in array.type]
    columns = [_texts(column, leaves) for column in array.flatten()]
    if not columns:
        return ["{}"] * len(array)
    return [
        "{" + ",".join(f"{name}:{text}" for name, text in zip(names, row, strict=True)) + "}"
        for row in zip(*columns, strict=True)
    ]


def _maps(array: pa.Array, leaves: Iterator[ParquetType]) -> list[str]:
    keys = [text if text.startswith('"') else _quoted(text) for text in _texts(array.keys, leaves)]
    items = _texts(array.items, leaves)
    texts = []
    for start, end in _spans(array):
        if len(set(keys[start:end])) < end - start:
            twice = next(key for key in keys[start:end] if keys[start:end].count(key) > 1)
            raise NotJson(f"a map has the key {twice} twice")
        texts.append("{" + ",".join(f"{keys[at]}:{items[at]}" for at in range(start, end)) + "}")
    return texts


def _spans(array: pa.Array) -> list[tuple[int, int]]:
    """Where each value's items lie among all items."""
    offsets = array.offsets.to_pylist()
    return list(pairwise(offsets))


def _scalars(array: pa.Array, leaf: ParquetType) -> list[str]:
    shown, values = _writer(array, leaf)
    try:
        return [_NULL if value is None else shown(value) for value in values.to_pylist()]
    except UnicodeDecodeError as error:
        raise NotJson("a text inside is not UTF-8") from error


def _writer(array: pa.Array, leaf: ParquetType) -> tuple[Callable[[Any], str], pa.Array]:
    """How one type is written, and the array as plain Python values come of it."""
    kind = array.type
    if leaf.logical == "UUID":
        return lambda value: f'"{uuid.UUID(bytes=value)}"', array
    if leaf.logical == "Enum":
        return _quoted, array.view(pa.string())
    if kinds.is_boolean(kind):
        return lambda value: "true" if value else "false", array
    if kinds.is_integer(kind):
        return str, array
    if kinds.is_floating(kind):
        return _number, array.cast(pa.float64())
    if kinds.is_decimal(kind):
        return _decimal, array
    if kinds.is_date(kind):
        return _date, array.cast(pa.date32()).cast(pa.int32())
    if kinds.is_time(kind):
        return _time(_PER_SECOND[kind.unit]), array.cast(
            pa.int32() if kinds.is_time32(kind) else pa.int64()
        )
    if kinds.is_timestamp(kind):
        is_utc = leaf.physical == "INT96" or bool(leaf.details.get("isAdjustedToUTC"))
        return _moment(_PER_SECOND[kind.unit], "Z" if is_utc else ""), array.cast(pa.int64())
    if kinds.is_string(kind) or kinds.is_large_string(kind):
        return _quoted, array
    return lambda value: f'"{base64.b64encode(value).decode()}"', array


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _number(value: float) -> str:
    """The shortest digits that read back as the same double; JSON has no NaN, so it is text."""
    if value != value:
        return '"NaN"'
    if abs(value) == float("inf"):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return repr(value)


def _decimal(value: Decimal) -> str:
    return f"{value:f}"


def _date(days: int) -> str:
    try:
        return f'"{(date(1970, 1, 1) + timedelta(days=days)).isoformat()}"'
    except OverflowError as error:
        raise NotJson(f"{days} days from 1970 lie outside the years 1 to 9999") from error


def _time(per_second: int) -> Callable[[int], str]:
    def shown(value: int) -> str:
        seconds, rest = divmod(value, per_second)
        if not 0 <= seconds < _DAY:
            raise NotJson(f"{value} of {per_second} a second are no time of day")
        return f'"{_clock(seconds)}{_fraction(rest, per_second)}"'

    return shown


def _moment(per_second: int, zone: str) -> Callable[[int], str]:
    def shown(value: int) -> str:
        seconds, rest = divmod(value, per_second)
        days, of_day = divmod(seconds, _DAY)
        day = _date(days)[1:-1]
        return f'"{day}T{_clock(of_day)}{_fraction(rest, per_second)}{zone}"'

    return shown


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _fraction(rest: int, per_second: int) -> str:
    """Nothing, six digits, or nine where six would lose some."""
    if not rest:
        return ""
    nine = f"{rest * (10**9 // per_second):09d}"
    return "." + (nine[:6] if nine.endswith("000") else nine)
