"""JSON lines as rows: one object a line, its members the columns.

A column has the type that is declared or that the table has; else what its values are: whole
numbers `long`, other numbers `double`, `true` and `false` `boolean`, text `string`, objects and
lists `string` as JSON. To know that, files with other columns are read twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.formats.arrow_types import arrow_type
from openmirror.formats.broken_rows import RowsBroken
from openmirror.formats.text.columns import shown
from openmirror.formats.text.decoding import Undecodable, decoded
from openmirror.formats.text.packing import Unpackable, unpacked
from openmirror.formats.text.values import read_value
from openmirror.plan.read_rules import BinaryText
from openmirror.protocol.names import fold_case
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.protocol.text_format import TextType
from openmirror.publishing.reading.column_types import ColumnTypes
from openmirror.publishing.reading.parquet import Batches

_BATCH_ROWS = 1 << 14
_EXACT = 1 << 53
"""Up to here a double holds every whole number."""
_TEXT_TYPES = {
    "boolean": TextType.BOOLEAN,
    "float": TextType.SINGLE,
    "double": TextType.DOUBLE,
    "date": TextType.DATE,
    "timestamp": TextType.DATE_TIME,
    "timestamp_ntz": TextType.DATE_TIME,
    "binary": TextType.BYTES,
}
_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_Row = tuple[int, dict[str, Any]]
"""A line's number, and its object."""


def open_json_lines(path: Path, types: ColumnTypes) -> tuple[TableSchema, Batches]:
    """The columns of a file's objects, in order of appearance, and what reads its rows.

    Raises RowsBroken, whose detail names line and column.
    """
    names: dict[str, str] = {}
    seen: dict[str, _Seen] = {}
    for line, row in _objects(path):
        for name, value in row.items():
            folded = fold_case(name)
            names.setdefault(folded, name)
            if types.of(name) is None:
                seen.setdefault(folded, _Seen(name)).add(line, value)
    columns = []
    for folded, name in names.items():
        kind = types.of(name) or seen[folded].type
        if kind is not None:
            columns.append(Column(name, kind))
    schema = TableSchema(tuple(columns))
    return schema, lambda: _rows(path, schema, types.binary)


class _Seen:
    """What the values of one column are."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._type: ColumnType | None = None
        self._line = 0
        self._widest = 0

    @property
    def type(self) -> ColumnType | None:
        """None where all of them are null."""
        return self._type

    def add(self, line: int, value: object) -> None:
        kind = _type_of(value)
        if kind is None:
            return
        if isinstance(value, int):
            self._widest = max(self._widest, abs(value))
        if kind == "long" and not -(1 << 63) <= int(str(value)) < 1 << 63:
            self._refuse(line, f"{shown(value)} is beyond 64 bits: declare it decimal or string")
        if self._type is None:
            self._type, self._line = kind, line
        elif kind != self._type:
            if {kind, self._type} != {"long", "double"}:
                self._refuse(line, f"it is {kind}, and {self._type} in line {self._line}")
            self._type = ColumnType("double")
        if self._type == "double" and self._widest > _EXACT:
            self._refuse(line, "whole numbers beyond 2^53 and fractions: declare it decimal")

    def _refuse(self, line: int, why: str) -> NoReturn:
        detail = f"line {line}, column {self._name!r}: {why}, or declare its type with --type"
        raise RowsBroken(Broken(Code.VALUE_INVALID, detail))


def _type_of(value: object) -> ColumnType | None:
    match value:
        case None:
            return None
        case bool():
            return ColumnType("boolean")
        case int():
            return ColumnType("long")
        case float() | Decimal():
            return ColumnType("double")
        case _:
            return ColumnType("string")


def _rows(path: Path, columns: TableSchema, binary: BinaryText | None) -> Iterator[pa.RecordBatch]:
    readers = {
        fold_case(column.name): (number, column, _reader(column.type, binary))
        for number, column in enumerate(columns.columns)
    }
    objects = _objects(path)
    while rows := list(islice(objects, _BATCH_ROWS)):
        values: list[list[object]] = [[None] * len(rows) for _ in columns.columns]
        for at, (line, row) in enumerate(rows):
            for name, value in row.items():
                if value is None:
                    continue
                number, column, read = readers[fold_case(name)]
                try:
                    values[number][at] = read(value)
                except ValueError as error:
                    _misfit(line, column, value, str(error))
        arrays = [
            _array(cells, column, rows)
            for cells, column in zip(values, columns.columns, strict=True)
        ]
        yield pa.record_batch(arrays, names=list(columns.names))


def _array(cells: list[object], column: Column, rows: list[_Row]) -> pa.Array:
    target = arrow_type(column.type)
    try:
        return pa.array(cells, target)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        for cell, (line, _) in zip(cells, rows, strict=True):
            try:
                pa.array([cell], target)
            except (pa.ArrowException, OverflowError, ValueError, TypeError):
                _misfit(line, column, cell, "it has more digits")
        raise


def _misfit(line: int, column: Column, value: object, why: str) -> NoReturn:
    place = f"line {line}, column {column.name!r}: {shown(value)}"
    detail = f"{place} does not fit {column.type}: {why}"
    raise RowsBroken(Broken(Code.VALUE_INVALID, detail))


def _reader(kind: ColumnType, binary: BinaryText | None) -> Callable[[Any], object]:
    """What makes a value of this type of one in JSON; raises ValueError for what does not fit."""
    if kind == "string":
        return _text
    if kind in _BITS:
        return _whole(_BITS[kind])
    if kind.startswith("decimal"):
        return _decimal
    text_type = _TEXT_TYPES[kind]

    def read(value: object) -> object:
        match value:
            case bool():
                return value if kind == "boolean" else _unfit("it is true or false")
            case int() | float() | Decimal():
                return _real(kind, text_type, value)
            case str():
                found = read_value(text_type, value.strip(), binary)
                if kind == "timestamp_ntz" and isinstance(found, datetime):
                    return found.replace(tzinfo=None)
                return found
            case _:
                return _unfit("it is an object or a list")

    return read


def _real(kind: ColumnType, text_type: TextType, value: float | Decimal) -> object:
    if kind not in ("float", "double"):
        _unfit("it is a number")
    if isinstance(value, int) and abs(value) > _EXACT:
        _unfit("beyond 2^53 a double does not hold every whole number")
    return float(value) if kind == "double" else read_value(text_type, str(value))


def _unfit(why: str) -> NoReturn:
    raise ValueError(why)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=float)


def _whole(bits: int) -> Callable[[object], int]:
    kind = {8: TextType.INT16, 16: TextType.INT16, 32: TextType.INT32, 64: TextType.INT64}[bits]

    def read(value: object) -> int:
        if isinstance(value, (bool, dict, list)):
            _unfit("it is no number")
        number = read_value(kind, str(value).strip())
        assert isinstance(number, int)  # the types of text that are whole numbers
        return (
            number if -(1 << bits - 1) <= number < 1 << bits - 1 else _unfit(f"beyond {bits} bits")
        )

    return read


def _decimal(value: object) -> Decimal:
    if isinstance(value, (bool, dict, list)):
        _unfit("it is no number")
    try:
        number = Decimal(str(value).strip())
    except ArithmeticError as error:
        raise ValueError("it is no number") from error
    return number if number.is_finite() else _unfit("it is no number")


def _objects(path: Path) -> Iterator[_Row]:
    """Each line's object; raises RowsBroken."""
    for number, line in _lines(path):
        text = line.strip()
        if not text:
            continue
        try:
            row = json.loads(text, parse_float=Decimal, object_pairs_hook=_members)
        except ValueError as error:
            if number == 1 and text == "[":
                _refuse("it is one JSON list: write one object a line (jq -c '.[]')")
            _refuse(f"line {number}: {error}")
        if isinstance(row, list) and number == 1:
            _refuse("it is one JSON list: write one object a line (jq -c '.[]')")
        if not isinstance(row, dict):
            _refuse(f"line {number} is no object: {shown(text)}")
        if "" in row:
            _refuse(f"line {number} has a member without a name")
        if len({fold_case(name) for name in row}) < len(row):
            _refuse(f"line {number} has two members whose names differ in case only")
        yield number, row


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name is there twice in one object")
    return members


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    number, rest = 1, ""
    with path.open("rb") as content:
        try:
            for piece in decoded(unpacked(content), "utf-8"):
                *lines, rest = (rest + piece).split("\n")
                for line in lines:
                    yield number, line
                    number += 1
        except Undecodable as error:
            _refuse(error.on(number))
        except Unpackable as error:
            _refuse(str(error))
    yield number, rest


def _refuse(detail: str) -> NoReturn:
    raise RowsBroken(Broken(Code.FILE_UNREADABLE, detail))
