"""Columns and types: how the schemas of change files become one table schema (PROTOCOL §6)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NewType

from openmirror.protocol.names import fold_case
from openmirror.protocol.rules import Broken, Code

ColumnType = NewType("ColumnType", str)
"""A column's type by Delta's own name: `long`, `decimal(10,2)`, `timestamp` …"""


@dataclass(frozen=True)
class Column:
    """One column of a table or of a change file."""

    name: str
    type: ColumnType


@dataclass(frozen=True)
class TableSchema:
    """Columns in order; no two names are the same under `fold_case`."""

    columns: tuple[Column, ...] = ()

    def find(self, name: str) -> Column | None:
        """The column that this name means, whatever its casing."""
        return next((c for c in self.columns if fold_case(c.name) == fold_case(name)), None)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(column.name for column in self.columns)


@dataclass(frozen=True)
class SchemaUnion:
    """A table schema after more change files, and how it differs from before."""

    schema: TableSchema
    added: tuple[Column, ...] = ()
    widened: tuple[tuple[Column, ColumnType], ...] = ()
    """Columns of the table before, each with the wider type that it now needs."""


_INTEGERS = ("byte", "short", "integer", "long")
_DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 20}
_FLOATS = ("float", "double")
# Every value of these integers is exact in that float: 24 and 53 bits of mantissa.
_EXACT_IN = {"float": ("byte", "short"), "double": ("byte", "short", "integer")}
_UTC_TIMESTAMP = ColumnType("timestamp")
_ZONELESS_TIMESTAMP = ColumnType("timestamp_ntz")
_DATES = ("date", "timestamp")
_ZONELESS_DATES = ("date", "timestamp_ntz")
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)\Z")
_MOST_DIGITS = 38


def duplicate_column(names: Iterable[str]) -> Broken | None:
    """Two names in one file that are the same in a case-blind table (PROTOCOL §6.1)."""
    seen: dict[str, str] = {}
    for name in names:
        if fold_case(name) in seen:
            earlier = seen[fold_case(name)]
            return Broken(Code.COLUMNS_DUPLICATE, f"columns {earlier!r} and {name!r} are one name")
        seen[fold_case(name)] = name
    return None


def union_schema(table: TableSchema, file: TableSchema) -> SchemaUnion | Broken:
    """Union by name: new columns are added, types may only grow (PROTOCOL §6.2, §6.3)."""
    columns = {fold_case(column.name): column for column in table.columns}
    added: list[Column] = []
    widened: list[tuple[Column, ColumnType]] = []
    for incoming in file.columns:
        existing = columns.get(fold_case(incoming.name))
        if existing is None:
            columns[fold_case(incoming.name)] = incoming
            added.append(incoming)
            continue
        wide = wider(existing.type, incoming.type)
        if wide is None:
            return Broken(
                Code.SCHEMA_MERGE_FAILURE,
                f"Type mismatch for column '{existing.name}'. Incoming type: '{incoming.type}', "
                f"existing type: '{existing.type}'",
            )
        if wide != existing.type:
            columns[fold_case(incoming.name)] = Column(existing.name, wide)
            widened.append((existing, wide))
    return SchemaUnion(TableSchema(tuple(columns.values())), tuple(added), tuple(widened))


def in_table(
    file: TableSchema, table: TableSchema, zoneless: ColumnType = _UTC_TIMESTAMP
) -> TableSchema:
    """A file's columns with their zone-less timestamps as this table has them (PROTOCOL §6.5).

    A column that the table has keeps its type, with a zone or without; `zoneless` is for new ones
    and for dates that grow.
    """
    columns = []
    for column in file.columns:
        if column.type == _ZONELESS_TIMESTAMP:
            known = table.find(column.name)
            keeps = known is not None and known.type in (_UTC_TIMESTAMP, _ZONELESS_TIMESTAMP)
            column = replace(column, type=known.type if known and keeps else zoneless)
        columns.append(column)
    return TableSchema(tuple(columns))


def with_whole_floats(file: TableSchema, table: TableSchema) -> TableSchema:
    """A file's columns, where a float that the table has as an integer is taken for such a one."""
    columns = []
    for column in file.columns:
        known = table.find(column.name)
        if column.type in _FLOATS and known is not None and known.type in _INTEGERS:
            column = replace(column, type=known.type)
        columns.append(column)
    return TableSchema(tuple(columns))


def wider(one: ColumnType, other: ColumnType) -> ColumnType | None:
    """The narrowest type that holds every value of both without loss, or None."""
    if one == other:
        return one
    for family in (_INTEGERS, _FLOATS, _DATES, _ZONELESS_DATES):
        if one in family and other in family:
            return ColumnType(max(one, other, key=family.index))
    for integer, real in ((one, other), (other, one)):
        if real in _FLOATS and integer in _INTEGERS:
            exact = next(
                (f for f in _FLOATS[_FLOATS.index(real) :] if integer in _EXACT_IN[f]), None
            )
            return ColumnType(exact) if exact else None
    return _wider_decimal(one, other)


def _wider_decimal(one: ColumnType, other: ColumnType) -> ColumnType | None:
    if not (_DECIMAL.match(one) or _DECIMAL.match(other)):
        return None
    parts = [_as_decimal(one), _as_decimal(other)]
    if parts[0] is None or parts[1] is None:
        return None
    whole = max(parts[0][0], parts[1][0])
    scale = max(parts[0][1], parts[1][1])
    return (
        ColumnType(f"decimal({whole + scale},{scale})") if whole + scale <= _MOST_DIGITS else None
    )


def _as_decimal(kind: ColumnType) -> tuple[int, int] | None:
    """Digits before and after the point."""
    if kind in _DIGITS:
        return _DIGITS[kind], 0
    match = _DECIMAL.match(kind)
    return (int(match[1]) - int(match[2]), int(match[2])) if match else None
