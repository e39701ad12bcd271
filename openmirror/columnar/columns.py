"""Columns put behind each other, and one of a table put anew."""

from __future__ import annotations

import pyarrow as pa  # type: ignore[import-untyped]


def behind(*parts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values of all parts, which have one type, in their order; nothing is copied."""
    return pa.chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type)


def with_column(rows: pa.Table, name: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    """The same rows with these values in a column that is there, at its place."""
    return rows.set_column(rows.schema.get_field_index(name), name, values)
