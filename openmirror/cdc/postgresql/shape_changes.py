"""Changes of a table's definition that change rows without an event for any of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from openmirror.cdc.postgresql.progress import SentColumn
from openmirror.protocol.names import fold_case
from openmirror.protocol.schema import TableSchema

_SMALLINT, _INTEGER, _BIGINT, _TEXT, _VARCHAR, _NUMERIC = 21, 23, 20, 25, 1043, 1700
_GROWING = {(_SMALLINT, _INTEGER), (_SMALLINT, _BIGINT), (_INTEGER, _BIGINT), (_VARCHAR, _TEXT)}
"""Types that become others without changing any value."""


def changed_rows(
    before: Sequence[SentColumn],
    now: Sequence[SentColumn],
    filled: Iterable[str],
    ever: TableSchema,
) -> str | None:
    """Return why rows that landed before may differ from the source's now; None if they cannot.

    Args:
        before: the columns of the rows that landed last.
        now: the columns of the rows that come.
        filled: columns that may have another value than NULL in rows that were there before them.
        ever: every column that the table's files ever had.
    """
    was = {fold_case(column.name): column for column in before}
    names = {fold_case(column.name) for column in now}
    added = [column for column in now if fold_case(column.name) not in was]
    dropped = [column for column in before if fold_case(column.name) not in names]
    for column in now:
        old = was.get(fold_case(column.name))
        if old is not None and not _keeps_values(old, column):
            return f"column {column.name!r} has another type than before"
        if old is not None and old.name != column.name:
            return f"column {old.name!r} was renamed to {column.name!r}"
    if added and dropped:
        return f"column {dropped[0].name!r} was renamed, or dropped while {added[0].name!r} came"
    filled = set(filled)
    for column in added:
        if column.name in filled:
            return f"column {column.name!r} was added with a value for the rows that were there"
        if ever.find(column.name) is not None:
            return f"column {column.name!r} was dropped, and added again"
    return None


def _keeps_values(old: SentColumn, new: SentColumn) -> bool:
    """Return whether every value of the old type is the same in the new one."""
    if (old.type, old.modifier, old.delta) == (new.type, new.modifier, new.delta):
        return True
    if (old.type, new.type) in _GROWING:
        return True
    if old.type != new.type:
        return False
    if old.type == _VARCHAR:
        return new.modifier == -1 or -1 < old.modifier <= new.modifier
    return old.type == _NUMERIC and old.delta != "string" and _holds(old, new)


def _holds(old: SentColumn, new: SentColumn) -> bool:
    """Return whether a numeric modifier has the same scale and as many digits, or more."""
    if -1 in (old.modifier, new.modifier) or new.delta == "string":
        return False
    (digits, scale), (more, same) = (
        (m - 4 >> 16, m - 4 & 0xFFFF) for m in (old.modifier, new.modifier)
    )
    return scale == same and more >= digits
