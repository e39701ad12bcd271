"""Facts of types that change the text of values in rows that nobody changes.

The log has no event for `ALTER TYPE … RENAME VALUE`, nor for an attribute that a composite type
gets or loses, and a SELECT shows other values in every row from then on. So these facts are asked
now and then, and a table whose types have other ones is loaded again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from openmirror.cdc.postgresql.connecting import DatabaseConnection
from openmirror.cdc.postgresql.definitions import Oid, TypeKind, Types

TextFacts = Mapping[Oid, Mapping[str, str]]
"""By type: the label of each value of an enum, by the value's OID; the attributes of a composite
type under one name."""
_ATTRIBUTES = "attributes"
_FACTS = f"""
    SELECT e.enumtypid::bigint AS type, e.oid::text AS part, e.enumlabel::text AS fact
    FROM pg_enum e WHERE e.enumtypid = ANY(%(types)s::bigint[]::oid[])
    UNION ALL
    SELECT t.oid::bigint, '{_ATTRIBUTES}', string_agg(
        format('%%s:%%s:%%s:%%s', a.attnum, a.atttypid, a.atttypmod, a.attisdropped), ' '
        ORDER BY a.attnum)
    FROM pg_type t JOIN pg_attribute a ON a.attrelid = t.typrelid AND a.attnum > 0
    WHERE t.typtype = 'c' AND t.oid = ANY(%(types)s::bigint[]::oid[]) GROUP BY t.oid
"""


def ask_text_facts(connection: DatabaseConnection, types: Iterable[Oid]) -> TextFacts:
    """Return the facts of these types; a type that has none is missing."""
    wanted = sorted(types)
    found: dict[Oid, dict[str, str]] = {}
    if wanted:
        for row in connection.execute(_FACTS, {"types": wanted}):
            found.setdefault(row["type"], {})[row["part"]] = row["fact"]
    return found


def changed_types(before: TextFacts, now: TextFacts) -> frozenset[Oid]:
    """Return the types by which rows have other texts than before.

    A new value of an enum changes no row. A type that is gone is in no column any more.
    """
    return frozenset(
        oid
        for oid, facts in before.items()
        if oid in now and any(now[oid].get(part, fact) != fact for part, fact in facts.items())
    )


def made_of(oids: Iterable[Oid], types: Types) -> frozenset[Oid]:
    """Return the enums and composite types among these types and all that they are made of."""
    found: set[Oid] = set()
    seen: set[Oid] = set()
    left = [oid for oid in oids if oid]
    while left:
        oid = left.pop()
        facts = types.get(oid)
        if oid in seen or facts is None:
            continue
        seen.add(oid)
        if facts.kind in (TypeKind.ENUM, TypeKind.COMPOSITE):
            found.add(oid)
        left += [part for part in (facts.element, facts.base, *facts.parts) if part]
    return frozenset(found)
