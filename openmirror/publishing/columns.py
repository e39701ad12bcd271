"""Columns of rows that are to be published: which types they have, and which rules they break.

Decided from the footer that the rows would get, by the same rules that a mirror reads it by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.errors import PublishRefused
from openmirror.formats.arrow_types import arrow_type
from openmirror.formats.parquet.footer import columns
from openmirror.formats.parquet.types import ParquetType, column_type
from openmirror.protocol.names import ROW_MARKER_COLUMN, fold_case
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import (
    Column,
    ColumnType,
    TableSchema,
    duplicate_column,
    in_table,
    union_schema,
)
from openmirror.publishing.encoding import WRITTEN

_NOT_WRITTEN = (pa.ArrowException, OSError)
"""Of Parquet in memory, where an OSError is no disk's."""
_CONVERT = "Convert the column before it is published: complex values as JSON text, others as text."


@dataclass(frozen=True)
class RowShape:
    """What rows with one Arrow schema are in a table."""

    columns: TableSchema
    """Without the marker, and without those of the Null type, which count as absent."""
    converted: Mapping[str, ConvertedColumn]
    """By name: columns that a mirror could not read as their table's type, or not at once."""


@dataclass(frozen=True)
class ConvertedColumn:
    """A column whose values become others before they are written."""

    parquet: ParquetType
    """What it would be in a file."""
    of_table: ColumnType


def row_shape(schema: pa.Schema) -> RowShape:
    """The columns that a table gets of rows with this Arrow schema.

    Raises PublishRefused for names and types that tables cannot have.
    """
    if broken := duplicate_column(schema.names):
        raise PublishRefused(broken, "6.1")
    if "" in schema.names:
        broken = Broken(Code.FILE_UNREADABLE, "a column has no name", "Name every column.")
        raise PublishRefused(broken, "6.1")
    found, converted = [], {}
    for field, (name, kind) in zip(schema, columns(_footer(schema)), strict=True):
        if kind.is_null or fold_case(name) == fold_case(ROW_MARKER_COLUMN):
            continue
        typed = column_type(kind)
        if typed is None:
            raise _unsupported(name, str(kind))
        found.append(Column(name, typed))
        if not _is_written_as_it_is(field.type, typed):
            converted[name] = ConvertedColumn(kind, typed)
    return RowShape(TableSchema(tuple(found)), converted)


def _is_written_as_it_is(given: pa.DataType, of_table: ColumnType) -> bool:
    if pa.types.is_dictionary(given):
        return is_text(given.value_type)
    return is_text(given) or bool(given.equals(arrow_type(of_table)))


def is_text(kind: pa.DataType) -> bool:
    """Whether it is text or bytes, of the size that offsets have or larger: a file has no sizes."""
    is_large = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    return bool(is_large or pa.types.is_string(kind) or pa.types.is_binary(kind))


def _footer(schema: pa.Schema) -> Any:
    """The metadata of a file without rows."""
    plain = pa.schema([field.with_type(_decoded(field.type)) for field in schema])
    try:
        return pq.read_metadata(pa.BufferReader(_empty_file(plain)))
    except _NOT_WRITTEN as error:
        for field in plain:
            try:
                _empty_file(pa.schema([field]))
            except _NOT_WRITTEN:
                raise _unsupported(field.name, str(field.type)) from error
        raise


def _decoded(kind: pa.DataType) -> pa.DataType:
    """What the values of an encoded array are."""
    while pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    return kind


def _empty_file(schema: pa.Schema) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, schema, **WRITTEN):
        pass
    return sink.getvalue()


def _unsupported(name: str, kind: str) -> PublishRefused:
    detail = f"column {name!r} has the type {kind}; tables cannot hold it"
    return PublishRefused(Broken(Code.COLUMN_TYPE_UNSUPPORTED, detail, _CONVERT), "6.5")


def merged(table: TableSchema, file: TableSchema) -> TableSchema:
    """The table's columns after a file; raises PublishRefused for types that do not merge."""
    union = union_schema(table, in_table(file, table))
    if isinstance(union, Broken):
        remedy = "Convert the column to the table's type, or publish the table anew (recreate)."
        raise PublishRefused(Broken(union.code, union.detail, remedy), "6.3")
    return union.schema


def need_keys(keys: Sequence[str], columns: TableSchema, rows: int) -> None:
    """Raise PublishRefused unless every key column is there and has a type (PROTOCOL §5.1)."""
    missing = next((key for key in keys if columns.find(key) is None), None)
    if missing is not None and rows:
        detail = f"rows have no typed column {missing!r}, which is a key column"
        raise PublishRefused(
            Broken(Code.KEY_COLUMN_MISSING, detail, "Give every row its key columns."), "5.1"
        )
