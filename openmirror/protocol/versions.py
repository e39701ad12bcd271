"""The plain interpreter of histories: every version that a row has had (PROTOCOL §5.9).

It has no rules of its own about rows. A history is what the table of `openmirror.protocol.rows`
passes through: a version begins with the change that brings a row, and ends with the one that
takes it away or puts another in its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from openmirror.protocol.names import fold_case
from openmirror.protocol.rows import (
    ChangeFile,
    NoRowToUpdate,
    Row,
    Table,
    Value,
    apply_file,
    empty_table,
)
from openmirror.protocol.schema import Column, ColumnType

VALID_FROM = "_valid_from"
VALID_TO = "_valid_to"
IS_CURRENT = "_is_current"
OPENED = ("_operation", "_incarnation", "_sequence", "_row")
"""What opened a version, and where."""
CLOSED = ("_closed_operation", "_closed_incarnation", "_closed_sequence", "_closed_row")
"""What closed it, and where; NULL while it is open."""
_PLACE_TYPES = ("string", "string", "long", "long")
HISTORY_COLUMNS = (
    Column(VALID_FROM, ColumnType("timestamp")),
    Column(VALID_TO, ColumnType("timestamp")),
    Column(IS_CURRENT, ColumnType("boolean")),
    *(
        Column(name, ColumnType(kind))
        for names in (OPENED, CLOSED)
        for name, kind in zip(names, _PLACE_TYPES, strict=True)
    ),
)
"""What a history has beside its publisher's columns, behind those of its first file."""

BEGIN = "begin"
"""In place of an operation: the row was there when the history began, here or anew; what had been
open before is closed by it as well."""
RE_CREATE = "re-create"
"""In place of an operation: the landing folder was made again, and its table with it."""


class ChangePlace(NamedTuple):
    """What opened or closed a version, and where."""

    operation: str
    incarnation: str
    sequence: int
    row: int | None
    """The row's place in its file, counted from 1; None where no row of a file did it."""


@dataclass(frozen=True)
class Version:
    """One version of one row."""

    row: Row
    valid_from: Value
    opened: ChangePlace
    valid_to: Value = None
    closed: ChangePlace | None = None

    def cells(self) -> dict[str, Value]:
        """Its values in the history's own columns."""
        closed: tuple[Value, ...] = self.closed or (None,) * len(CLOSED)
        return {
            VALID_FROM: self.valid_from,
            VALID_TO: self.valid_to,
            IS_CURRENT: self.closed is None,
            **dict(zip(OPENED, self.opened, strict=True)),
            **dict(zip(CLOSED, closed, strict=True)),
        }


@dataclass
class History:
    """A history as the protocol defines it: its current table, and every version so far."""

    current: Table
    incarnation: str
    columns: list[str] = field(default_factory=list)
    """The publisher's, in order of appearance, over all incarnations."""
    closed: list[Version] = field(default_factory=list)
    open: list[Version] = field(default_factory=list)

    @property
    def rows(self) -> list[dict[str, Value]]:
        """Every version, with NULL for each column that its file did not have."""
        return [
            {column: version.row.get(fold_case(column)) for column in self.columns}
            | version.cells()
            for version in (*self.closed, *self.open)
        ]


def empty_history(
    key_columns: Iterable[str], version_column: str | None = None, incarnation: str = ""
) -> History:
    """A history before its first change file."""
    return History(empty_table(key_columns, version_column), incarnation)


def apply_to_history(
    history: History, file: ChangeFile, sequence: int, decided_at: Value = None
) -> None:
    """Apply one file in place, row by row; `decided_at` is when its batch was decided.

    Raises what `apply_file` raises.
    """
    _add_columns(history, file)
    for at, change in enumerate(file.changes):
        # A row of its own for each change: it must not be taken for an equal one.
        once = replace(change, row=dict(change.row))
        try:
            apply_file(history.current, replace(file, changes=(once,)))
        except NoRowToUpdate:
            raise NoRowToUpdate(at) from None
        place = ChangePlace(change.marker.operation, history.incarnation, sequence, at + 1)
        _take_over(history, place, decided_at)


def re_create(history: History, incarnation: str, table: Table, decided_at: Value = None) -> None:
    """The landing folder was made again: what is open ends before its first file.

    `table` is the empty one that its files are applied to.
    """
    history.incarnation, history.current = incarnation, table
    _take_over(history, ChangePlace(RE_CREATE, incarnation, 0, None), decided_at)


def begin_with(
    history: History, incarnation: str, current: Table, position: int, decided_at: Value = None
) -> None:
    """A history begins from a current table that has applied files up to a position.

    What an earlier beginning left open ends there.
    """
    history.incarnation, history.current = incarnation, current
    known = {fold_case(column) for column in history.columns}
    history.columns += [name for name in current.columns if fold_case(name) not in known]
    place = ChangePlace(BEGIN, incarnation, position, None)
    _close(history, history.open, place, decided_at)
    _open(history, current.bag, place, decided_at)


def _add_columns(history: History, file: ChangeFile) -> None:
    known = {fold_case(column) for column in history.columns}
    history.columns += [column for column in file.columns if fold_case(column) not in known]


def _take_over(history: History, place: ChangePlace, at: Value) -> None:
    """The versions after a change, by the rows that came and went with it."""
    rows = {id(row): row for row in history.current.bag}
    before = {id(version.row) for version in history.open}
    _close(history, [v for v in history.open if id(v.row) not in rows], place, at)
    _open(history, [row for row in history.current.bag if id(row) not in before], place, at)


def _close(history: History, versions: list[Version], place: ChangePlace, at: Value) -> None:
    ended = {id(version) for version in versions}
    history.closed += [replace(version, valid_to=at, closed=place) for version in versions]
    history.open = [version for version in history.open if id(version) not in ended]


def _open(history: History, rows: Iterable[Row], place: ChangePlace, at: Value) -> None:
    history.open += [Version(row, at, place) for row in rows]
