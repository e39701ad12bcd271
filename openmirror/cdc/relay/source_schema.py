"""Changes of a source's tables that have no events of their own."""

from __future__ import annotations

from collections.abc import Sequence

from openmirror.cdc.decoded import SourceColumn
from openmirror.cdc.relay.lineage import LINEAGE
from openmirror.protocol.names import fold_case
from openmirror.protocol.schema import TableSchema, wider

_OWN = {column.name for column in LINEAGE}


def changed_silently(
    before: TableSchema, now: Sequence[SourceColumn], ever: TableSchema
) -> str | None:
    """Why the rows that landed before are no longer those of the source; None where they are.

    A column that is added, may be NULL and has no default is NULL in them at the source, too, and
    one that is dropped stays as it was. With a default the source filled it in without an event;
    a renamed column is one dropped and one added; and one that is added again under its old name
    would show its old values. A type that has become narrower has cut the values that were there.
    Columns of lineage come and go as the mirror asks for them.
    """
    now = [column for column in now if column not in LINEAGE]
    names_before = {fold_case(name) for name in before.names} - _OWN
    names_now = {fold_case(column.name) for column in now}
    for column in now:
        known = before.find(column.name)
        both = None if known is None else wider(known.type, column.type)
        if known is not None and both is not None and both != column.type:
            return f"column {column.name!r} was {known.type} and is {column.type} now"
    added = [column for column in now if fold_case(column.name) not in names_before]
    dropped = sorted(names_before - names_now)
    for column in added:
        if column.has_default or not column.nullable:
            return f"column {column.name!r} was added with a value for the rows that were there"
        if ever.find(column.name) is not None:
            return f"column {column.name!r} was dropped, and added again"
    if added and dropped:
        return f"column {dropped[0]!r} was renamed, or dropped while {added[0].name!r} was added"
    return None
