"""Which type each column of an input gets: what is declared, else what the table has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from openmirror.plan.read_rules import BinaryText
from openmirror.protocol.names import fold_case
from openmirror.protocol.schema import ColumnType, TableSchema

_SIMPLE = (
    "boolean",
    "byte",
    "short",
    "integer",
    "long",
    "float",
    "double",
    "string",
    "date",
    "timestamp",
    "timestamp_ntz",
)
_OTHER_NAMES = {"int": "integer", "bigint": "long", "smallint": "short", "text": "string"}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)\Z")
_MOST_DIGITS = 38
BYTES = {"hex": BinaryText.HEX, "base64": BinaryText.BASE64}
"""Bytes in text are declared by how they are written."""


@dataclass(frozen=True)
class ColumnTypes:
    """The types of columns whose files do not say them."""

    declared: Mapping[str, ColumnType] = field(default_factory=dict)
    """By the column's case-folded name."""
    known: TableSchema = TableSchema()
    """The table's own columns, from what was published before."""
    binary: BinaryText | None = None
    """How bytes are written in text."""

    def of(self, name: str) -> ColumnType | None:
        """The type of this column; None where nobody knows one."""
        declared = self.declared.get(fold_case(name))
        if declared is not None:
            return declared
        column = self.known.find(name)
        return column.type if column is not None else None


def declared_types(given: Mapping[str, str], known: TableSchema = TableSchema()) -> ColumnTypes:
    """The types that a user declares, by column; ValueError says what a type looks like."""
    declared: dict[str, ColumnType] = {}
    ways = set()
    for name, text in given.items():
        if fold_case(name) in declared:
            raise ValueError(f"the type of column {name!r} is declared twice")
        kind, way = parse_type(text)
        declared[fold_case(name)] = kind
        if way is not None:
            ways.add(way)
    if len(ways) > 1:
        raise ValueError("bytes are written in one way in all columns: hex or base64")
    return ColumnTypes(declared, known, next(iter(ways), None))


def parse_type(text: str) -> tuple[ColumnType, BinaryText | None]:
    """A type as a user writes it, and of bytes how text has them; ValueError for any other."""
    folded = text.strip().lower()
    if folded in BYTES:
        return ColumnType("binary"), BYTES[folded]
    folded = _OTHER_NAMES.get(folded, folded)
    if folded in _SIMPLE:
        return ColumnType(folded), None
    if (match := _DECIMAL.match(folded)) and 0 < int(match[1]) <= _MOST_DIGITS:
        digits, scale = int(match[1]), int(match[2])
        if scale <= digits:
            return ColumnType(f"decimal({digits},{scale})"), None
    raise ValueError(
        f"{text!r} is no type: write {', '.join(_SIMPLE)}, decimal(18,2), or hex or base64 for "
        "bytes"
    )
