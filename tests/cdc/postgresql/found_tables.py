"""Tables and types of a database as its catalogue has them, and random values of the types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

import psycopg

from tests.cdc.postgresql.random_tables import TYPES, RandomType

Thing = TypeVar("Thing")
SCHEMA = "ddl"
OTHER_SCHEMA = "ddl__b"
_TABLES = ("t0", "t1", "t2", "t3", "t4", "t5", '"t 6"', '"T7"')
COLUMNS = ("a", "b", "c", "d", "e", "f", '"g h"', '"I"')
"""Names of columns as SQL writes them, beside `id`."""
_TABLES_OF = """
    SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), quote_ident(n.nspname),
        quote_ident(c.relname), c.relkind::text, c.relispartition,
        (SELECT quote_ident(conname) FROM pg_constraint
         WHERE conrelid = c.oid AND contype = 'p'),
        (SELECT quote_ident(pn.nspname) || '.' || quote_ident(p.relname) FROM pg_inherits i
         JOIN pg_class p ON p.oid = i.inhparent JOIN pg_namespace pn ON pn.oid = p.relnamespace
         WHERE i.inhrelid = c.oid LIMIT 1),
        (SELECT jsonb_agg(jsonb_build_array(quote_ident(attname), format_type(atttypid, atttypmod),
            coalesce(a.attnum = ANY (x.indkey), false), attnotnull, atthasdef, attgenerated,
            attidentity) ORDER BY attnum)
         FROM pg_attribute a WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_index x ON x.indrelid = c.oid AND x.indisprimary
    WHERE n.nspname = ANY (%s) AND c.relkind IN ('r', 'p') ORDER BY 1
"""


@dataclass(frozen=True)
class FoundColumn:
    """A column of the catalogue."""

    name: str
    """As SQL writes it."""
    type: str
    is_key: bool
    is_required: bool
    has_default: bool
    generated: str
    identity: str


@dataclass(frozen=True)
class FoundTable:
    """A table of the catalogue."""

    title: str
    """As SQL writes it, with its schema."""
    schema: str
    name: str
    kind: str
    is_partition: bool
    key: str | None
    """The primary key's constraint."""
    parent: str | None
    columns: tuple[FoundColumn, ...]

    @property
    def keys(self) -> list[str]:
        """The columns of the primary key."""
        return [column.name for column in self.columns if column.is_key]

    @property
    def others(self) -> list[FoundColumn]:
        """The columns that are not of the key."""
        return [column for column in self.columns if not column.is_key]


@dataclass
class FoundTables:
    """Asks the catalogue; chooses among what there is by a seed."""

    random: Random
    connection: psycopg.Connection
    types: dict[str, RandomType] = field(default_factory=dict)
    """Types by the names that the catalogue has for them."""

    def tables(self) -> list[FoundTable]:
        rows = self.ask(_TABLES_OF, [SCHEMA, OTHER_SCHEMA])
        return [
            FoundTable(*row[:-1], tuple(FoundColumn(*column) for column in row[-1] or ()))
            for row in rows
        ]

    def free(self) -> str | None:
        there = {table.name for table in self.tables()}
        free = [name for name in _TABLES if name not in there]
        return f"{SCHEMA}.{self.random.choice(free)}" if free else None

    def free_column(self, table: FoundTable) -> str | None:
        there = {column.name for column in table.columns}
        free = [name for name in COLUMNS if name not in there]
        return self.random.choice(free) if free else None

    def one_of(self, things: Sequence[Thing]) -> Thing | None:
        return self.random.choice(things) if things else None

    def ask(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self.connection.execute(query.encode(), values).fetchall()

    def value_of(self, type_: str) -> str:
        if type_ in ("mood", "state"):
            return _literal(self.random.choice(self.labels(type_)), type_)
        if type_ == "pair":
            [(many,)] = self.ask(
                "SELECT relnatts - (SELECT count(*) FROM pg_attribute WHERE attrelid = c.oid AND "
                "attisdropped) FROM pg_class c WHERE oid = %s::regclass",
                "ddl.pair",
            )
            parts = ["7", "x", "y", "z", "8"][: int(many)]
            return _literal(f"({','.join(parts)})" if many else "()", type_)
        one = self.types.get(type_)
        return "NULL" if one is None else _literal(one.value(self.random), type_)

    def labels(self, kind: str) -> list[str]:
        rows = self.ask(
            "SELECT enumlabel::text FROM pg_enum e JOIN pg_type t ON t.oid = enumtypid "
            "WHERE typname = %s ORDER BY enumsortorder",
            kind,
        )
        return [label for (label,) in rows] or ["sad"]

    def name_types(self) -> None:
        for one in TYPES:
            self.connection.execute(f"CREATE TEMP TABLE one (c {one.name})".encode())
            [(name,)] = self.ask(
                "SELECT format_type(atttypid, atttypmod) FROM pg_attribute "
                "WHERE attrelid = 'pg_temp.one'::regclass AND attnum = 1"
            )
            self.types[name] = one
            self.connection.execute("DROP TABLE pg_temp.one")


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _literal(text: str, type_: str) -> str:
    return f"CAST({quoted(text)} AS {type_})"
