"""Fingerprints of tables: what the catalogue says of one, and whether a change of it is harmless.

The log has no event for most of what DDL does to rows: a column that is added with a default, a
type that is changed, two tables that exchange their names. So what the catalogue says of a table is
compared with what it was when rows of the table landed last. What cannot be proven harmless means
that the table's rows are read again. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import NewType

from openmirror.cdc.postgresql.definitions import Oid
from openmirror.cdc.postgresql.pgoutput import Relation
from openmirror.protocol.names import fold_case

Fingerprint = NewType("Fingerprint", str)
"""What the catalogue says of one table, as JSON text. Equal texts are of equal definitions."""

_TEXT, _VARCHAR, _NUMERIC = 25, 1043, 1700
_KEPT = 4096
"""Fingerprints that are kept parsed."""


@dataclass(frozen=True, kw_only=True)
class ColumnPrint:
    """One column in a fingerprint. Its fields stand in the order of the fingerprint's array."""

    number: int
    """`attnum`: stays when the column is renamed."""
    name: str
    type: Oid
    modifier: int
    has_missing: bool
    """Whether rows from before the column show a value that only the catalogue has."""
    generated: str
    collation: Oid
    written: int
    """The transaction that wrote the column's row of the catalogue (`xmin`). It is another one
    after each change of the column, also after one that was taken back."""


@dataclass(frozen=True, kw_only=True)
class TablePrint:
    """A parsed fingerprint."""

    schema: str
    name: str
    file_node: int
    """Another number once all rows are rewritten, and after TRUNCATE."""
    keys: tuple[int, ...]
    """The numbers of the primary key's columns, in the index's order."""
    columns: Mapping[int, ColumnPrint]
    """By number, in the order of the numbers."""
    texts: Mapping[str, str]
    """Facts of types that give values their text: labels of enums, by the label's OID, and
    attributes of composites, by `type.number`. A composite without attributes is `type.`."""
    sent: tuple[object, ...]
    """How the publication sends the table, with the transactions that wrote it; empty for a table
    that it does not send."""

    @property
    def title(self) -> str:
        """`schema.table`."""
        return f"{self.schema}.{self.name}"

    @property
    def numbers(self) -> Mapping[str, int]:
        """The number of each column by its name."""
        return {column.name: number for number, column in self.columns.items()}


@lru_cache(_KEPT)
def parsed(fingerprint: Fingerprint) -> TablePrint:
    """Parse a fingerprint. Raises KeyError, TypeError or ValueError for any other text."""
    document = json.loads(fingerprint)
    names = [field.name for field in fields(ColumnPrint)]
    columns = [ColumnPrint(**dict(zip(names, c, strict=True))) for c in document["columns"]]
    return TablePrint(
        schema=document["schema"],
        name=document["name"],
        file_node=document["node"],
        keys=tuple(document["keys"]),
        columns={column.number: column for column in columns},
        texts=document["texts"],
        sent=tuple(document["sent"]),
    )


def stale_rows(before: TablePrint, now: TablePrint, ever: Collection[str]) -> str | None:
    """Return why rows that landed under one fingerprint may differ under another.

    None where the change is proven harmless.

    Args:
        before: when rows landed last.
        now: as the catalogue is now.
        ever: the folded names of all columns that the table's files ever had.
    """
    return next(_reasons(before, now, ever), None)


def strange_rows(relation: Relation, known: Sequence[TablePrint]) -> str | None:
    """Return why rows of a Relation message are of a definition that no fingerprint has.

    The definition was changed and changed back, or changed twice, between two readings of the
    catalogue. None where the message is of a known one, or of a harmless step between them.

    Args:
        relation: describes the rows as their own transaction saw the table.
        known: accepted fingerprints of the table, the newest last.
    """
    now = known[-1]
    if (relation.schema, relation.name) != (now.schema, now.name):
        return f"it was called {relation.schema}.{relation.name} for a while"
    numbers = {name: number for one in known for name, number in one.numbers.items()}
    last = 0
    for column in relation.columns:
        found = numbers.get(column.name)
        if found is None:
            return f"column {column.name!r} was there for a while"
        if found <= last:
            return f"column {column.name!r} had another name for a while"
        types = [one.columns[found] for one in known if found in one.columns]
        if all((column.type, column.modifier) != (one.type, one.modifier) for one in types):
            return f"column {column.name!r} had another type for a while"
        last = found
    return None


def _reasons(before: TablePrint, now: TablePrint, ever: Collection[str]) -> Iterator[str]:
    if before.title != now.title:
        yield f"it was called {before.title} before"
    if before.sent != now.sent:
        yield "its publication was changed, so that changes of it may be missing in the log"
    if before.keys != now.keys:
        yield f"its key was {_key(before)} and is {_key(now)} now"
    if before.file_node != now.file_node and _is_rewrite(before, now):
        yield "its rows were rewritten by ALTER TABLE"
    for number, column in now.columns.items():
        old = before.columns.get(number)
        why = _of_new(column, ever) if old is None else _of_column(old, column)
        if why is not None:
            yield why
    if _has_other_texts(before.texts, now.texts):
        yield "a type of its columns has other labels or attributes than before"


def _has_other_texts(before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Return whether values of a type may have another text than before.

    A label more is harmless. An attribute more is in the text of every value.
    """
    if any(now.get(part, fact) != fact for part, fact in before.items()):
        return True
    composites = {type_ for type_, dot, _ in (part.partition(".") for part in before) if dot}
    return any(part.partition(".")[0] in composites for part in now.keys() - before.keys())


def _key(table: TablePrint) -> list[str]:
    return [table.columns[number].name for number in table.keys if number in table.columns]


def _is_rewrite(before: TablePrint, now: TablePrint) -> bool:
    """Return whether rows may have been rewritten with other values.

    A new file node alone is harmless: TRUNCATE is in the log; VACUUM FULL and CLUSTER change no
    value. ALTER TABLE also writes rows of the catalogue. VACUUM FULL does that only where it puts
    a column's missing value into the rows.
    """
    for number in before.columns.keys() | now.columns.keys():
        old, new = before.columns.get(number), now.columns.get(number)
        if old is None or new is None:
            return True
        is_filled_in = old.has_missing and not new.has_missing and _facts(old) == _facts(new)
        if old.written != new.written and not is_filled_in:
            return True
    return False


def _facts(column: ColumnPrint) -> tuple[object, ...]:
    return column.name, column.type, column.modifier, column.generated, column.collation


def _of_new(column: ColumnPrint, ever: Collection[str]) -> str | None:
    """Return why older rows have another value than NULL in a column that came."""
    if column.generated == "v":
        return None  # computed when it is read, and never mirrored
    if column.has_missing or column.generated:
        return f"column {column.name!r} was added with a value for the rows that were there"
    if fold_case(column.name) in ever:
        return f"column {column.name!r} was dropped, and added again"
    return None


def _of_column(old: ColumnPrint, new: ColumnPrint) -> str | None:
    if old.name != new.name:
        return f"column {old.name!r} was renamed to {new.name!r}"
    if old.generated != new.generated:
        return f"column {new.name!r} is generated in another way than before"
    if old.collation != new.collation:
        return f"column {new.name!r} has another collation than before"
    if not _keeps_values(old, new):
        return f"column {new.name!r} has another type than before"
    return None


def _keeps_values(old: ColumnPrint, new: ColumnPrint) -> bool:
    """Return whether a type that changed without a rewrite gives every value the same text."""
    if (old.type, old.modifier) == (new.type, new.modifier):
        return True
    if old.type in (_VARCHAR, _TEXT) and new.type in (_VARCHAR, _TEXT):
        return new.modifier == -1 or -1 < old.modifier <= new.modifier
    if old.type != new.type or old.type != _NUMERIC or -1 in (old.modifier, new.modifier):
        return False
    (digits, scale), (more, same) = (
        (one.modifier - 4 >> 16, one.modifier - 4 & 0xFFFF) for one in (old, new)
    )
    return scale == same and more >= digits
