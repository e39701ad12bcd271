"""How a publisher writes delimited text: separators, quotes, nulls and columns (PROTOCOL §4.6)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from openmirror.protocol.names import fold_case


class TextType(StrEnum):
    """The types that a `SchemaDefinition` may give a column of delimited text."""

    DOUBLE = "Double"
    SINGLE = "Single"
    INT16 = "Int16"
    INT32 = "Int32"
    INT64 = "Int64"
    DATE_TIME = "DateTime"
    DATE = "IDate"
    TIME = "ITime"
    STRING = "String"
    BOOLEAN = "Boolean"
    BYTES = "ByteArray"


@dataclass(frozen=True)
class TextColumn:
    """One column of a `SchemaDefinition`."""

    name: str
    type: TextType
    nullable: bool = True


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """One table's delimited text; the defaults are those of `FileFormat` CSV."""

    extension: str = "csv"
    """Without its dot."""
    separator: str = ","
    quote: str = '"'
    """Empty: no value is quoted."""
    escape: str = "\\"
    """Empty: nothing is escaped. The quote itself: only doubling escapes."""
    null: str = ""
    encoding: str = "utf-8"
    row_separator: str = "\r\n"
    columns: tuple[TextColumn, ...] = ()

    def column(self, name: str) -> TextColumn:
        """What is declared of a column of the header; without a word it is text."""
        folded = fold_case(name)
        declared = (column for column in self.columns if fold_case(column.name) == folded)
        return next(declared, TextColumn(name, TextType.STRING))
