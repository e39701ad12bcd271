"""Rows of PostgreSQL's catalogue about tables and types, as values. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

Oid = int
"""A row of PostgreSQL's catalogue; another one for an object that was made again."""


class TypeKind(StrEnum):
    """The catalogue's `typtype`."""

    BASE = "b"
    COMPOSITE = "c"
    DOMAIN = "d"
    ENUM = "e"
    MULTIRANGE = "m"
    PSEUDO = "p"
    RANGE = "r"


@dataclass(frozen=True, kw_only=True)
class TypeFacts:
    """One row of `pg_type`."""

    oid: Oid
    schema: str
    name: str
    kind: TypeKind
    element: Oid = 0
    """The type of an array's elements. 0 for a type that is no array, also for `int2vector`."""
    delimiter: str = ","
    """The character between the elements of an array *of* this type."""
    base: Oid = 0
    """The type that a domain restricts; 0 for other types."""
    base_modifier: int = -1
    """The modifier that a domain gives its base, such as that of `numeric(10,2)`."""
    parts: tuple[Oid, ...] = ()
    """The types that make up a composite (its columns), range (its bounds) or multirange."""


Types = Mapping[Oid, TypeFacts]
"""Types by OID, with all that they are made of: element types, bases of domains, `parts`."""


class ReplicaIdentity(StrEnum):
    """The catalogue's `relreplident`: which columns of an old row the log has."""

    DEFAULT = "d"
    NOTHING = "n"
    FULL = "f"
    INDEX = "i"


@dataclass(frozen=True, kw_only=True)
class ColumnDefinition:
    """One row of `pg_attribute` that is not dropped."""

    name: str
    number: int
    """`attnum`: what stays when a column is renamed."""
    type: Oid
    modifier: int
    """`atttypmod`; -1 for none."""
    nullable: bool = True
    is_generated: bool = False
    """Whether its value is computed from other columns."""
    is_virtual: bool = False
    """Whether a generated value is computed when it is read, and never sent (from version 18)."""


@dataclass(frozen=True, kw_only=True)
class TableDefinition:
    """A table as the catalogue has it at one moment."""

    oid: Oid
    schema: str
    name: str
    identity: ReplicaIdentity
    columns: tuple[ColumnDefinition, ...]
    """In the order of their numbers."""
    keys: tuple[str, ...]
    """The columns of the primary key, in the index's order; empty without one, and for a deferrable
    one, which does not report rows apart within a transaction."""
    key_index: Oid = 0
    """The primary key's index: another OID for a key that was dropped and made again."""
    identity_index_keys: tuple[str, ...] = ()
    """The columns of the index that REPLICA IDENTITY USING INDEX names; empty otherwise."""

    @property
    def title(self) -> str:
        """`schema.table`."""
        return f"{self.schema}.{self.name}"
