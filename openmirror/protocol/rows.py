"""Row markers, and the plain in-order interpreter that defines every result (PROTOCOL §5)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import IntEnum
from typing import Any

from openmirror.protocol.lineage import LINEAGE, Lineage
from openmirror.protocol.names import fold_case

Value = object
Row = Mapping[str, Value]
"""A row by case-folded column name; a column that is not there is NULL."""
DELETED_AT = "_deleted_at"
"""The column of tables whose deletes are soft: when a row was deleted, NULL in live rows."""


class Marker(IntEnum):
    """What a row of a change file does to the table."""

    INSERT = 0
    """Adds a row, without looking for one that has the key already."""
    UPDATE = 1
    """Replaces every row that has the key, or adds one."""
    DELETE = 2
    """Removes every row that has the key, or nothing."""
    UPSERT = 4
    """The same as UPDATE."""
    TRUNCATE = 100
    """Removes every row of the table; its own row says nothing else (PROTOCOL §5.7)."""
    PARTIAL_UPDATE = 101
    """Replaces every row that has the key, but for its absent columns (PROTOCOL §5.7)."""

    @property
    def operation(self) -> str:
        """What lineage and histories call it."""
        return EXTENSION_NAMES.get(self, self.name.lower())


PUBLISHED = frozenset({Marker.INSERT, Marker.UPDATE, Marker.DELETE, Marker.UPSERT})
"""What every mirror takes."""
EXTENSION_NAMES = {Marker.TRUNCATE: "truncate", Marker.PARTIAL_UPDATE: "partialUpdate"}
"""What mirrors take that say so by these names (PROTOCOL §10)."""
WITHOUT_KEY = frozenset({Marker.INSERT, Marker.TRUNCATE})
"""What tables without key columns take."""
WHOLE_UPDATES = (Marker.UPDATE, Marker.UPSERT)
"""Those that add a row where none has the key."""
UPDATES = (*WHOLE_UPDATES, Marker.PARTIAL_UPDATE)
EXTENSIONS = frozenset(EXTENSION_NAMES)
_MOST_DIGITS = 3
_NUMBERS = {marker.value: marker for marker in PUBLISHED | {Marker.TRUNCATE}}
WHOLE_NUMBER = r"[\x00-\x20]*([+-]?[0-9]+)(?:\.0*)?[\x00-\x20]*"
"""Text of a marker, all of it, in words that Java's regular expressions have too."""
_WHOLE = re.compile(WHOLE_NUMBER)


def read_marker(value: object) -> Marker | None:
    """A marker as files have it: a number that is whole, or text of one; None for any other."""
    if isinstance(value, (float, Decimal)):
        return next((marker for number, marker in _NUMBERS.items() if value == number), None)
    match = _WHOLE.fullmatch(str(value))
    digits = match[1].lstrip("+-0") if match else ""
    if match is None or len(digits) > _MOST_DIGITS or (digits and match[1].startswith("-")):
        return None
    return _NUMBERS.get(int(digits or "0"))


class NoRowToUpdate(Exception):
    """A partial update whose key no row has: its absent columns would have no value.

    `row` is the place of the change in its file, counted from 0.
    """

    def __init__(self, row: int) -> None:
        super().__init__(f"row {row + 1} leaves columns as they are, and no row has its key")
        self.row = row


@dataclass(frozen=True)
class Change:
    """One row of a change file, in file order."""

    marker: Marker
    row: Row
    absent: frozenset[str] = frozenset()
    """Columns of a partial update, case-folded, that keep their values."""


@dataclass(frozen=True)
class ChangeFile:
    """One change file as the interpreter needs it: its columns and its changes, in order."""

    columns: tuple[str, ...]
    changes: Sequence[Change]
    name: str = ""
    """From the table folder on; lineage alone asks for it, and for its number."""
    number: int = 0
    """In the table's order: its own, or the one of the ledger."""


@dataclass(frozen=True)
class SoftDeletes:
    """Deleted rows stay, marked in `DELETED_AT` (PROTOCOL §5.8)."""

    time_column: str | None = None
    """The publisher's column that says when a row was deleted; None: the batch's decision does,
    and wherever a delete has no value in that column."""


@dataclass(kw_only=True)
class Table:
    """A table as the protocol defines it: columns in order of appearance, and a bag of rows."""

    key_columns: tuple[str, ...]
    columns: list[str]
    _rows: dict[tuple[Value, ...], list[Row]]
    version_column: str | None = None
    """The `ConditionalUpdateColumn`: older changes do not count for a row (PROTOCOL §5.6)."""
    soft: SoftDeletes | None = None
    """None where a delete removes its rows; always in a table without keys."""
    lineage: Lineage = Lineage.NONE

    @property
    def bag(self) -> list[Row]:
        """Every row as it is: a row that no change touches is the same object before and after."""
        return [row for rows in self._rows.values() for row in rows]

    @property
    def rows(self) -> list[dict[str, Value]]:
        """Every row, with NULL for each column that its file did not have."""
        return [
            {column: row.get(fold_case(column)) for column in self.columns}
            for rows in self._rows.values()
            for row in rows
        ]


def empty_table(
    key_columns: Iterable[str],
    version_column: str | None = None,
    soft: SoftDeletes | None = None,
    lineage: Lineage = Lineage.NONE,
) -> Table:
    """A table before its first change file."""
    keys = tuple(fold_case(name) for name in key_columns)
    version = fold_case(version_column) if version_column else None
    return Table(
        key_columns=keys,
        columns=[],
        _rows={},
        version_column=version,
        soft=soft if keys else None,
        lineage=lineage,
    )


def interpret(
    files: Iterable[ChangeFile],
    key_columns: Iterable[str],
    version_column: str | None = None,
    soft: SoftDeletes | None = None,
    decided_at: Value = None,
    lineage: Lineage = Lineage.NONE,
) -> Table:
    """The table that these files in this order give; the definition of "right" (PROTOCOL §5.3).

    Values of the version column must be of one type, which can be ordered.
    """
    table = empty_table(key_columns, version_column, soft, lineage)
    for file in files:
        apply_file(table, file, decided_at)
    return table


def apply_file(table: Table, file: ChangeFile, decided_at: Value = None) -> None:
    """Apply one file to the table in place, row by row.

    `decided_at` is when its batch was decided; soft deletes and lineage need it.

    Raises ValueError for a marker that needs a key on a table without key columns, and
    NoRowToUpdate; what came before in the file has been applied then.
    """
    known = {fold_case(column) for column in table.columns}
    table.columns += [column for column in file.columns if fold_case(column) not in known]
    if table.columns:
        table.columns += [name for name in _ours(table) if name not in table.columns]
    for at, change in enumerate(file.changes):
        if change.marker not in WITHOUT_KEY and not table.key_columns:
            raise ValueError(f"row marker {change.marker.value} needs key columns")
        key = tuple(_comparable(change.row.get(name)) for name in table.key_columns)
        rows = table._rows.setdefault(key, [])
        change = _with_lineage(table, file, at, change, decided_at)
        match change.marker:
            case Marker.INSERT:
                rows.append(change.row)
            case Marker.UPDATE | Marker.UPSERT:
                rows[:] = [
                    change.row if counts_for(change, row, table.version_column) else row
                    for row in _live(table, rows)
                ] or [change.row]
            case Marker.PARTIAL_UPDATE:
                if not _live(table, rows):
                    raise NoRowToUpdate(at)
                rows[:] = [_updated(row, change) for row in _live(table, rows)]
            case Marker.DELETE:
                rows[:] = _without(table, rows, change, decided_at)
            case Marker.TRUNCATE:
                for rows in table._rows.values():
                    rows[:] = _without(table, rows, change, decided_at)


def _ours(table: Table) -> tuple[str, ...]:
    """The columns that no file has, which the table gets with its first one."""
    marks = (DELETED_AT,) if table.soft else ()
    return (*marks, *(LINEAGE if table.lineage is Lineage.WRITTEN else ()))


def _with_lineage(
    table: Table, file: ChangeFile, at: int, change: Change, decided_at: Value
) -> Change:
    """The change with its own place, so that whatever it writes has that."""
    if table.lineage is Lineage.NONE:
        return change
    place: tuple[Value, ...] = (None,) * len(LINEAGE)
    if table.lineage is Lineage.WRITTEN:
        place = (file.name, file.number, at + 1, decided_at, change.marker.operation)
    return replace(change, row={**change.row, **dict(zip(LINEAGE, place, strict=True))})


def _live(table: Table, rows: list[Row]) -> list[Row]:
    """Those that no delete has marked."""
    return rows if table.soft is None else [row for row in rows if row.get(DELETED_AT) is None]


def _without(table: Table, rows: list[Row], change: Change, decided_at: Value) -> list[Row]:
    """The rows after a delete or a truncate."""
    version = None if change.marker is Marker.TRUNCATE else table.version_column
    if table.soft is None:
        return [row for row in rows if not counts_for(change, row, version)]
    marked = {DELETED_AT: deleted_at(change, table.soft, decided_at)}
    if table.lineage is not Lineage.NONE:
        marked |= {name: change.row[name] for name in LINEAGE}
    return [
        {**row, **marked}
        if row.get(DELETED_AT) is None and counts_for(change, row, version)
        else row
        for row in rows
    ]


def deleted_at(change: Change, soft: SoftDeletes, decided_at: Value) -> Value:
    """What a delete or a truncate marks rows with; raises ValueError where nothing says when."""
    says = soft.time_column is not None and change.marker is not Marker.TRUNCATE
    when = change.row.get(fold_case(soft.time_column or "")) if says else None
    when = decided_at if when is None else when
    if when is None:
        raise ValueError("a soft delete needs the time at which its batch was decided")
    return when


def _updated(row: Row, change: Change) -> Row:
    return {**change.row, **{name: row.get(name) for name in change.absent}}


def counts_for(change: Change, row: Row, version_column: str | None) -> bool:
    """Whether an update, upsert or delete counts for one row that has its key (PROTOCOL §5.6)."""
    if version_column is None:
        return True
    value = change.row.get(version_column)
    if value is None and change.marker is Marker.DELETE:
        return True  # deletes need only the key columns
    return _rank(value) >= _rank(row.get(version_column))


def _rank(value: Value) -> tuple[int, Any]:
    """NULL is lowest and NaN highest; -0.0 equals 0.0; text as bytes would be (PROTOCOL §5.4)."""
    if value is None:
        return 0, 0
    return (2, 0) if value != value else (1, value)


def _comparable(value: Value) -> Value:
    """Keys compare null-safe, NaN equals NaN and -0.0 equals 0.0, as in SQL (PROTOCOL §5.4)."""
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0
    return value
