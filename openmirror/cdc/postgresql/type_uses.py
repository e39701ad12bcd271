"""Which enums and composite types the tables of a stream have in their columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from openmirror.cdc.postgresql.catalogue import definitions_of, types_of
from openmirror.cdc.postgresql.connecting import DatabaseConnection
from openmirror.cdc.postgresql.definitions import Oid, Types
from openmirror.cdc.postgresql.text_facts import made_of
from openmirror.protocol.names import TablePath
from openmirror.protocol.streams import LogSource


@dataclass
class TypeUses:
    """The enums and composite types of each table."""

    by_table: dict[TablePath, frozenset[Oid]] = field(default_factory=dict)

    @property
    def all_types(self) -> frozenset[Oid]:
        """Every such type that any table has."""
        return frozenset().union(*self.by_table.values())

    def tables_of(self, types: frozenset[Oid]) -> list[TablePath]:
        """Return the tables that have one of these types."""
        return [path for path, own in self.by_table.items() if own & types]

    def add(self, path: TablePath, columns: Iterable[Oid], types: Types) -> bool:
        """Take the types of a table's columns; return whether one is new to all tables."""
        found = made_of(columns, types)
        is_new = not found <= self.all_types
        self.by_table[path] = self.by_table.get(path, frozenset()) | found
        return is_new


def type_uses(connection: DatabaseConnection, log: LogSource) -> TypeUses:
    """Return the types that the tables of a stream have now."""
    uses = TypeUses()
    definitions = definitions_of(connection, tuple(log.tables))
    columns: Mapping[Oid, set[Oid]] = {
        oid: {column.type for column in one.columns} for oid, one in definitions.items()
    }
    types = types_of(connection, set().union(*columns.values()))
    for oid, found in columns.items():
        uses.add(log.tables[oid], found, types)
    return uses
