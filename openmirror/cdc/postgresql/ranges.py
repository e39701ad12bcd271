"""Ranges of a table's primary key: which rows are read next, and by which statement. Pure.

A range is all rows behind one key up to a number of rows, and never beyond the highest key of the
load's first snapshot. Ranges are never of `ctid`, which changes with every update.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import sql

from openmirror.cdc.postgresql.encodings import encoded
from openmirror.cdc.postgresql.load_state import KeyTexts

FIRST_LIMIT = 10_000
"""Rows of a load's first range, when nothing is known of the size of its rows."""
_MOST_ROWS = 2_000_000
_MOST_GROWTH = 4.0
_SHARE_OF_TIME = 4
"""A range aims at this part of the longest transaction, so that a slow moment cancels none."""
_AIM_BYTES = 16 << 20
_FEWER = 16


@dataclass(frozen=True)
class RangeAim:
    """How long one range should take, and how large it should be."""

    seconds: float
    bytes: int
    """Bytes of COPY's text."""

    @classmethod
    def within(cls, range_seconds: float) -> RangeAim:
        """Return the aim where no transaction may last longer than `range_seconds`."""
        return cls(min(2.0, range_seconds / _SHARE_OF_TIME), _AIM_BYTES)

    def next_limit(self, limit: int, rows: int, seconds: float, size: int) -> int:
        """Return how many rows the next range should have.

        Args:
            limit: How many rows the last range asked for.
            rows: How many rows came.
            seconds: How long its transaction lasted.
            size: How many bytes came.
        """
        if not rows:
            return limit
        growth = min(_MOST_GROWTH, self.seconds / max(seconds, 0.001), self.bytes / max(size, 1))
        return max(1, min(_MOST_ROWS, int(rows * growth)))


def narrowed(limit: int, rows: int) -> int:
    """Return how many rows to ask for after a range was cancelled.

    Half as many; a 16th where not one row came in time, because halves take too many tries.
    """
    return max(1, min(limit // 2, rows) if rows else limit // _FEWER)


@dataclass(frozen=True, kw_only=True)
class KeyColumn:
    """One column of a primary key, as statements compare it.

    Operators are named with their schema, because the search path has only `pg_catalog`. Without
    that, `citext` would be compared as `text`, in another order than its index has.
    """

    name: str
    type: str
    """The type that literals are cast to, with its schema. For a domain what the domain is over:
    a constraint that is NOT VALID would refuse keys that are there."""
    greater: str
    """`OPERATOR(schema.>)`"""
    equal: str
    at_least: str
    at_most: str


@dataclass(frozen=True, kw_only=True)
class SourceRows:
    """The rows of one table, and the columns of them that are read."""

    schema: str
    name: str
    columns: tuple[str, ...]
    keys: tuple[KeyColumn, ...]
    """In the order of the primary key's index."""
    encoding: str
    """The server's encoding, in which statements are written."""

    def locking(self) -> bytes:
        """Return the statement that keeps the definition as it is until the transaction ends."""
        return self._encoded(f"LOCK TABLE ONLY {self._table} IN ACCESS SHARE MODE")

    def highest_key(self) -> bytes:
        """Return the statement that copies the highest key."""
        names = [_name(key.name) for key in self.keys]
        order = ", ".join(f"{name} DESC" for name in names)
        return self._copy(names, self._encoded(f"ORDER BY {order} LIMIT 1"))

    def range(self, after: KeyTexts | None, high: KeyTexts, limit: int) -> bytes:
        """Return the statement that copies rows in key order.

        Args:
            after: The last key that has been read; None before the first range.
            high: The highest key to read.
            limit: The most rows to read.
        """
        bounds = [self._at_most(high)]
        if after is not None:
            bounds.insert(0, self._behind(after))
        order = self._encoded(", ".join(_name(key.name) for key in self.keys))
        tail = b"WHERE %b ORDER BY %b LIMIT %d" % (b" AND ".join(bounds), order, limit)
        return self._copy(map(_name, self.columns), tail)

    def these(self, keys: Sequence[KeyTexts]) -> bytes:
        """Return the statement that copies the rows that have one of these keys."""
        each = [b"(%b)" % b" AND ".join(self._equal(key)) for key in keys]
        return self._copy(map(_name, self.columns), b"WHERE " + b" OR ".join(each))

    @property
    def _table(self) -> str:
        return sql.Identifier(self.schema, self.name).as_string(None)

    def _copy(self, columns: Sequence[str] | map[str], tail: bytes) -> bytes:
        head = self._encoded(f"COPY (SELECT {', '.join(columns)} FROM ONLY {self._table} ")
        return head + tail + b") TO STDOUT (FORMAT csv)"

    def _behind(self, key: KeyTexts) -> bytes:
        if self._is_comparable_as_row("greater"):
            return self._compared(self.keys[0].greater, key)
        # Each column by its own operator. The first condition is the one that an index can use.
        first = self.keys[0]
        at_least = self._one(first, first.at_least, key[0])
        return b"%b AND %b" % (at_least, self._behind_by_column(key))

    def _behind_by_column(self, key: KeyTexts) -> bytes:
        ways = []
        for at, column in enumerate(self.keys):
            equal = self._equal(key[:at])
            ways.append(b" AND ".join([*equal, self._one(column, column.greater, key[at])]))
        return b"(%b)" % b" OR ".join(b"(%b)" % way for way in ways)

    def _at_most(self, key: KeyTexts) -> bytes:
        if self._is_comparable_as_row("at_most"):
            return self._compared(self.keys[0].at_most, key)
        first = self.keys[0]
        at_most = self._one(first, first.at_most, key[0])
        return b"%b AND NOT %b" % (at_most, self._behind_by_column(key))

    def _is_comparable_as_row(self, operator: str) -> bool:
        """Whether one operator's name serves all columns; a row has only one."""
        return len({getattr(key, operator) for key in self.keys}) == 1

    def _compared(self, operator: str, key: KeyTexts) -> bytes:
        names = ", ".join(_name(column.name) for column in self.keys)
        values = b", ".join(map(self._value, self.keys, key))
        return b"(%b) %b (%b)" % (self._encoded(names), self._encoded(operator), values)

    def _equal(self, key: KeyTexts) -> list[bytes]:
        pairs = zip(self.keys, key, strict=False)
        return [self._one(column, column.equal, text) for column, text in pairs]

    def _one(self, column: KeyColumn, operator: str, text: bytes) -> bytes:
        left = self._encoded(f"{_name(column.name)} {operator} ")
        return b"(%b%b)" % (left, self._value(column, text))

    def _value(self, column: KeyColumn, text: bytes) -> bytes:
        return literal(text) + self._encoded(f"::{column.type}")

    def _encoded(self, text: str) -> bytes:
        return encoded(text, self.encoding, "surrogateescape")


def literal(text: bytes) -> bytes:
    r"""Return a text of the server as a literal, whatever `standard_conforming_strings` says."""
    return b"E'%b'" % text.replace(b"\\", b"\\\\").replace(b"'", b"''")


def _name(name: str) -> str:
    return sql.Identifier(name).as_string(None)
