"""Columns of rows that are to be published: which types they have, and which rules they break.

Decided from the footer that the rows would get, by the same rules that a mirror reads it by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.errors import PublishRefused
from openmirror.formats.parquet.footer import columns
from openmirror.formats.parquet.types import column_type
from openmirror.protocol.names import ROW_MARKER_COLUMN, fold_case
from openmirror.protocol.rows import Marker, read_marker
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import (
    Column,
    TableSchema,
    duplicate_column,
    in_table,
    union_schema,
)
from openmirror.publishing.encoding import MARKER_TYPE, WRITTEN

_CONVERT = "Convert the column before it is published: complex values as JSON text, others as text."


def in_microseconds(rows: pa.Table) -> pa.Table:
    """The rows with nanoseconds as microseconds, which is what tables hold (PROTOCOL §6.5).

    Raises PublishRefused where a value has digits that would be lost.
    """
    for at, field in enumerate(rows.schema):
        kind = field.type
        if pa.types.is_timestamp(kind) and kind.unit == "ns":
            target = pa.timestamp("us", kind.tz)
        elif pa.types.is_time64(kind) and kind.unit == "ns":
            target = pa.time64("us")
        else:
            continue
        try:
            values = rows.column(at).cast(target)
        except pa.ArrowInvalid as error:
            broken = Broken(
                Code.VALUE_INVALID,
                f"column {field.name!r}: {error}: times have microseconds and nothing finer",
                "Truncate or round the column before it is published, or publish it as text.",
            )
            raise PublishRefused(broken, "6.5") from error
        rows = rows.set_column(at, pa.field(field.name, target), values)
    return rows


def table_columns(schema: pa.Schema) -> TableSchema:
    """The columns that a table gets of rows with this Arrow schema, without the marker.

    Columns of the Null type are absent. Raises PublishRefused for names and types that tables
    cannot have.
    """
    if broken := duplicate_column(schema.names):
        raise PublishRefused(broken, "6.1")
    if "" in schema.names:
        broken = Broken(Code.FILE_UNREADABLE, "a column has no name", "Name every column.")
        raise PublishRefused(broken, "6.1")
    found = []
    for name, kind in columns(_footer(schema)):
        if kind.is_null or fold_case(name) == fold_case(ROW_MARKER_COLUMN):
            continue
        typed = column_type(kind)
        if typed is None:
            raise _unsupported(name, str(kind))
        found.append(Column(name, typed))
    return TableSchema(tuple(found))


def _footer(schema: pa.Schema) -> Any:
    """The metadata of a file without rows."""
    try:
        return pq.read_metadata(pa.BufferReader(_empty_file(schema)))
    except pa.ArrowException as error:
        for field in schema:
            try:
                _empty_file(pa.schema([field]))
            except pa.ArrowException:
                raise _unsupported(field.name, str(field.type)) from error
        raise


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


def with_plain_markers(rows: pa.Table) -> tuple[pa.Table, frozenset[Marker]]:
    """The rows with their marker column under its own name and type, and which markers there are.

    Markers are read as mirrors read them. Raises PublishRefused unless every row has one.
    """
    names = [fold_case(name) for name in rows.column_names]
    if fold_case(ROW_MARKER_COLUMN) not in names:
        detail = f"rows have no column {ROW_MARKER_COLUMN}"
        remedy = "Add it, or say what all rows do: insert, upsert, update or delete."
        raise PublishRefused(Broken(Code.ROW_MARKER_INVALID, detail, remedy), "5.1")
    at = names.index(fold_case(ROW_MARKER_COLUMN))
    found = rows.column(at)
    if pa.types.is_dictionary(found.type):
        found = found.cast(found.type.value_type)
    if pa.types.is_nested(found.type):
        detail = f"{ROW_MARKER_COLUMN} has the type {found.type}"
        remedy = "It must be a number: 0 (insert), 1 (update), 2 (delete) or 4 (upsert)."
        raise PublishRefused(Broken(Code.ROW_MARKER_INVALID, detail, remedy), "5.1")
    read: dict[object, Marker] = {}
    for value in pc.unique(found).to_pylist():
        marker = None if value is None or isinstance(value, bool) else read_marker(value)
        if marker is None:
            wrong = next(
                i
                for i, v in enumerate(found.to_pylist(), start=1)
                if v is value or v == value or (v != v and value != value)  # NaN
            )
            detail = f"row {wrong}: {ROW_MARKER_COLUMN} is {value!r}"
            remedy = "It must be 0 (insert), 1 (update), 2 (delete) or 4 (upsert) in every row."
            raise PublishRefused(Broken(Code.ROW_MARKER_INVALID, detail, remedy), "5.1")
        read[value] = marker
    where = pc.index_in(found, pa.array(list(read), found.type))
    plain = pc.take(pa.array([m.value for m in read.values()], MARKER_TYPE), where)
    rest = rows.remove_column(at)
    return rest.append_column(ROW_MARKER_COLUMN, plain), frozenset(read.values())


def need_no_marker_column(names: Sequence[str]) -> None:
    """Raise PublishRefused where rows that all do one thing have markers of their own."""
    if any(fold_case(name) == fold_case(ROW_MARKER_COLUMN) for name in names):
        detail = f"rows have a column {ROW_MARKER_COLUMN}, which is reserved"
        remedy = "Publish them with `publish`, which takes each row's own marker, or remove it."
        raise PublishRefused(Broken(Code.ROW_MARKER_INVALID, detail, remedy), "6.1")
