"""Change rows as one Parquet file that mirrors read without converting it (PROTOCOL §6.5)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.formats.arrow_types import arrow_type
from openmirror.protocol.names import ROW_MARKER_COLUMN, fold_case
from openmirror.protocol.rows import Marker
from openmirror.protocol.schema import TableSchema
from openmirror.publishing.footer import FOOTER_KEY
from openmirror.publishing.pieces import WaitingRows

MARKER_TYPE = pa.int32()
WRITTEN: dict[str, object] = {
    "compression": "snappy",
    # Arrow's own schema would give Arrow other types than mirrors read.
    "store_schema": False,
    # A change file is read once and whole, so least and greatest values are of no use to anybody;
    # they take a fifth of the time that writing takes.
    "write_statistics": False,
}
"""How files are written."""
LARGE_FILE: dict[str, object] = {**WRITTEN, "use_dictionary": False}
"""How files are written that may be larger than memory, and are read once. Looking for values that
come again takes two thirds of the time, and saves little where most values are different."""
_LARGE = {"string": pa.large_string(), "binary": pa.large_binary()}
"""Holds texts of both sizes; in a file they are the same."""


def one_table(
    pieces: Sequence[WaitingRows], columns: TableSchema, default: Marker | None
) -> pa.Table:
    """The rows of a file, with a marker column unless every row does what rows without one do.

    `columns` are those of the file, with types that hold all of its rows; others hold only NULL.
    `default` is what rows without a marker do; with None there always is a marker column.
    """
    groups = [
        (marker, pa.concat_tables([piece.rows for piece in alike]))
        for (marker, _), alike in groupby(pieces, key=lambda p: (p.marker, p.rows.schema))
    ]
    has_columns = any(rows.column_names for _, rows in groups)
    if default is None or not has_columns or any(marker is not default for marker, _ in groups):
        tables = [_marked(rows, marker) for marker, rows in groups]
    else:
        tables = [rows for _, rows in groups]
    schema = _schema(tables, columns)
    return pa.concat_tables([_in_schema(table, schema) for table in tables])


def encoded(table: pa.Table) -> memoryview:
    """A Parquet file with an empty value under our key, to be filled by `with_footer`."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, **WRITTEN) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({FOOTER_KEY: b"{}"})
    return memoryview(sink.getvalue())


def _marked(rows: pa.Table, marker: Marker | None) -> pa.Table:
    if marker is not None:
        markers = pa.repeat(pa.scalar(marker.value, MARKER_TYPE), rows.num_rows)
    elif ROW_MARKER_COLUMN in rows.column_names:
        return rows
    else:  # no rows, and no columns either
        markers = pa.nulls(rows.num_rows, MARKER_TYPE)
    return rows.append_column(ROW_MARKER_COLUMN, markers)


def _schema(tables: Sequence[pa.Table], columns: TableSchema) -> pa.Schema:
    """Columns in order of appearance, all of which may hold NULL; the marker is the last."""
    found: dict[str, tuple[str, set[pa.DataType]]] = {}
    for table in tables:
        for field in table.schema:
            _, types = found.setdefault(fold_case(field.name), (field.name, set()))
            types.add(field.type)
    fields = [pa.field(name, _one_type(name, types, columns)) for name, types in found.values()]
    # Where the protocol's own description wants it.
    return pa.schema(sorted(fields, key=lambda field: field.name == ROW_MARKER_COLUMN))


def _one_type(name: str, types: set[pa.DataType], columns: TableSchema) -> pa.DataType:
    typed = types - {pa.null()}
    if len(typed) <= 1:
        return next(iter(typed), pa.null())
    column = columns.find(name)
    assert column is not None  # a column with a type is one of the file's
    return _LARGE.get(column.type) or arrow_type(column.type)


def _in_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    if table.schema == schema:
        return table
    places = {fold_case(name): at for at, name in enumerate(table.column_names)}
    arrays = []
    for field in schema:
        at = places.get(fold_case(field.name))
        column = None if at is None else table.column(at)
        if column is None or pa.types.is_null(column.type):
            column = pa.nulls(table.num_rows, field.type)
        arrays.append(column if column.type == field.type else column.cast(field.type))
    return pa.Table.from_arrays(arrays, schema=schema)
