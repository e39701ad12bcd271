"""Which column type of a table each Parquet type becomes (PROTOCOL §6.5).

Decided from the physical and logical types only, which is all that Spark reads: the Arrow schema
that some writers leave in the footer calls an INT64 a duration, or a string a category.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from openmirror.protocol.schema import ColumnType

_MOST_DIGITS = 38
_DIGITS_OF_LONG, _BYTES_OF_LONG = 18, 8
_BYTES_OF_DECIMAL = 16
_FIXED = "FIXED_LEN_BYTE_ARRAY"


@dataclass(frozen=True, kw_only=True)
class ParquetType:
    """The type of one top-level column, or of a leaf of a nested one, as its footer declares it."""

    physical: str
    logical: str = "None"
    """Parquet's name of the logical type; one that an old converted type implies counts too."""
    details: Mapping[str, object] = field(default_factory=dict)
    length: int = 0
    """Bytes of each value, of those that all have the same."""
    nested: bool = False
    repeated: bool = False
    leaves: tuple[ParquetType, ...] = ()
    """Of a nested or repeated column: what its values are made of, in order."""
    shown: str = ""
    """The logical type in words."""

    @classmethod
    def of(cls, column: Any) -> ParquetType:
        """The type of a `pyarrow.parquet.ColumnSchema`, which is one leaf of the schema."""
        logical = column.logical_type
        details = json.loads(logical.to_json())
        return cls(
            physical=column.physical_type,
            logical=details.pop("Type"),
            details=details,
            length=column.length if column.physical_type == _FIXED else 0,
            # A flat column's path is its name, dots and all.
            nested=column.path != column.name,
            repeated=column.max_repetition_level > 0,
            shown=str(logical),
        )

    def __str__(self) -> str:
        if not self.simple:
            unfit = next((leaf for leaf in self.leaves if not _has_json(leaf)), None)
            return f"nested, with {unfit} inside" if unfit else "nested or repeated"
        return self.physical if self.logical == "None" else f"{self.physical} {self.shown}".strip()

    @property
    def simple(self) -> bool:
        """Whether a column of this type has one value a row."""
        return not self.nested and not self.repeated

    @property
    def is_null(self) -> bool:
        """Whether the column can only hold NULL, so it counts as absent (PROTOCOL §6)."""
        return self.simple and self.logical == "Null"

    @property
    def is_number(self) -> bool:
        """Whether it is a number of any kind that tables can hold."""
        kind = column_type(self)
        return self.simple and kind is not None and kind.startswith(_NUMBERS)

    @property
    def is_day_or_time(self) -> bool:
        """Whether its values are days, or points in time."""
        return self.physical == "INT96" or self.logical in ("Date", "Timestamp")

    @property
    def may_be_long_decimal(self) -> bool:
        """Whether values may have more bytes than a decimal of 38 digits takes. Spark reads them,
        and Arrow does not."""
        has_any_length = self.physical == "BYTE_ARRAY" or self.length > _BYTES_OF_DECIMAL
        return self.logical == "Decimal" and has_any_length

    @property
    def is_text(self) -> bool:
        """Whether it is a plain string."""
        return self.simple and (self.physical, self.logical) == ("BYTE_ARRAY", "String")


def column_type(kind: ParquetType) -> ColumnType | None:
    """The table's type for this Parquet type; None for what tables cannot have."""
    if not kind.simple:
        fits = kind.leaves and all(_has_json(leaf) for leaf in kind.leaves)
        return ColumnType("string") if fits else None
    found = _SUPPORTED.get((kind.physical, kind.logical))
    name = found(kind) if callable(found) else found
    return None if name is None else ColumnType(name)


def needs_conversion(kind: ParquetType) -> bool:
    """Whether Spark cannot read a column of this type as the table's type for it."""
    in_nanoseconds = kind.logical == "Timestamp" and kind.details.get("timeUnit") == "nanoseconds"
    refused = in_nanoseconds or kind.logical in _SPARK_REFUSES
    return not kind.simple or refused or _is_misread(kind)


def _is_misread(kind: ParquetType) -> bool:
    """Whether Spark takes these decimals for others, in silence.

    It makes a number of 64 bits of them by a shift of 64 bits less their own, and Java shifts by no
    more than 63: of 12 bytes it takes the last four.
    """
    if (kind.physical, kind.logical) != (_FIXED, "Decimal"):
        return False
    precision = kind.details.get("precision")
    is_long = isinstance(precision, int) and precision <= _DIGITS_OF_LONG
    return is_long and kind.length > _BYTES_OF_LONG and kind.length != 2 * _BYTES_OF_LONG


def _has_json(leaf: ParquetType) -> bool:
    """Whether a value inside a nested column can be written as JSON."""
    is_known = (leaf.physical, leaf.logical) in _SUPPORTED or leaf.logical == "Null"
    return is_known and not leaf.nested


_SPARK_REFUSES = frozenset({"Time", "Float16", "UUID", "Geometry", "Geography"})

_NUMBERS = ("byte", "short", "integer", "long", "float", "double", "decimal")

# Unsigned numbers go to the next wider signed type, as Spark reads them.
_WIDTHS: dict[tuple[object, object], str] = {
    (8, True): "byte",
    (16, True): "short",
    (32, True): "integer",
    (64, True): "long",
    (8, False): "short",
    (16, False): "integer",
    (32, False): "long",
    (64, False): "decimal(20,0)",
}


def _integer(kind: ParquetType) -> str | None:
    return _WIDTHS.get((kind.details.get("bitWidth"), kind.details.get("isSigned")))


def _decimal(kind: ParquetType) -> str | None:
    precision, scale = kind.details.get("precision"), kind.details.get("scale")
    if not isinstance(precision, int) or not isinstance(scale, int):
        return None
    fits = 0 < precision <= _MOST_DIGITS and 0 <= scale <= precision
    return f"decimal({precision},{scale})" if fits else None


def _timestamp(kind: ParquetType) -> str:
    return "timestamp" if kind.details.get("isAdjustedToUTC") else "timestamp_ntz"


_SUPPORTED: dict[tuple[str, str], str | Callable[[ParquetType], str | None]] = {
    ("BOOLEAN", "None"): "boolean",
    ("INT32", "None"): "integer",
    ("INT64", "None"): "long",
    ("INT32", "Int"): _integer,
    ("INT64", "Int"): _integer,
    ("FLOAT", "None"): "float",
    ("DOUBLE", "None"): "double",
    ("INT32", "Decimal"): _decimal,
    ("INT64", "Decimal"): _decimal,
    (_FIXED, "Decimal"): _decimal,
    ("BYTE_ARRAY", "Decimal"): _decimal,
    ("BYTE_ARRAY", "String"): "string",
    ("BYTE_ARRAY", "Enum"): "string",
    ("BYTE_ARRAY", "JSON"): "string",
    ("BYTE_ARRAY", "None"): "binary",
    ("BYTE_ARRAY", "BSON"): "binary",
    (_FIXED, "None"): "binary",
    ("INT32", "Date"): "date",
    ("INT64", "Timestamp"): _timestamp,
    ("INT96", "None"): "timestamp",
    ("INT32", "Time"): "string",
    ("INT64", "Time"): "string",
    (_FIXED, "UUID"): "string",
    (_FIXED, "Float16"): "float",
    ("BYTE_ARRAY", "Geometry"): "binary",
    ("BYTE_ARRAY", "Geography"): "binary",
}
