"""Values that SQL Server's log leaves out where an update does not change them.

Its change tables have NULL for a large value in the row before an update that did not change it,
and the connector may hand on NULL for the row after it as well, where the value is another. So NULL
on both sides says that nothing was changed, and the row keeps what it has. Types of which SQL
Server never has the row before say nothing at all then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.decoding.connect import JsonKind, Schema
from openmirror.cdc.decoding.types import inexact
from openmirror.protocol.streams import StopReason

_SQL_SERVER = "io.debezium.connector.sqlserver.Source"
_TYPE, _LENGTH = "__debezium.source.column.type", "__debezium.source.column.length"
_XML = "io.debezium.data.Xml"
_OF_ANY_LENGTH = {"VARCHAR", "NVARCHAR", "VARBINARY"}
_MOST = (1 << 30) - 1
"""The length of `nvarchar(max)`; the others' is twice that."""
_NEVER_BEFORE = {"TEXT", "NTEXT", "IMAGE", "XML", "GEOMETRY", "GEOGRAPHY", "JSON"}


class Unchanged(Enum):
    """What NULL before and after an update says of a column."""

    KEPT = auto()
    """The value is the one that the row has."""
    UNSURE = auto()
    """It is that, or NULL."""


def left_out(row: Schema, source: Schema) -> Mapping[str, Unchanged] | StopReason:
    """The columns that a log leaves out now and then, or why nobody knows which they are."""
    found: dict[str, Unchanged] = {}
    if source.name != _SQL_SERVER:
        return found
    for field in row.fields:
        is_plain = field.schema.name in ("", _XML)
        if field.schema.kind not in (JsonKind.STRING, JsonKind.BYTES) or not is_plain:
            continue
        kind = field.schema.parameters.get(_TYPE, "").upper()
        if not kind:
            return inexact(
                field.name,
                f"{field.schema.kind}, with NULL where SQL Server left a large value out",
                "Set column.propagate.source.type=.* in the connector, which lets each column say "
                "its type",
            )
        length = field.schema.parameters.get(_LENGTH, "0")
        if kind in _NEVER_BEFORE:
            found[field.name] = Unchanged.UNSURE
        elif kind in _OF_ANY_LENGTH and length.isdecimal() and int(length) >= _MOST:
            found[field.name] = Unchanged.KEPT
    return found


def is_left_out(values: pa.Array, column: str) -> pa.Array:
    """In which updates (structs with op, before and after) a column is NULL on both sides."""
    sides = [pc.struct_field(pc.struct_field(values, side), column) for side in ("before", "after")]
    neither = pc.and_(pc.is_null(sides[0]), pc.is_null(sides[1]))
    return pc.and_(neither, pc.equal(pc.struct_field(values, "op"), "u"))


def with_kept(
    absent: Mapping[int, tuple[str, ...]],
    values: pa.Array,
    columns: Mapping[str, Unchanged],
) -> dict[int, tuple[str, ...]]:
    """The absent columns of each record, by its place, with those that a row keeps."""
    found = dict(absent)
    for name in _kept(columns):
        for place in pc.indices_nonzero(pc.fill_null(is_left_out(values, name), False)).to_pylist():
            found[place] = (*found.get(place, ()), name)
    return found


def _kept(columns: Mapping[str, Unchanged]) -> Sequence[str]:
    return [name for name, what in columns.items() if what is Unchanged.KEPT]
