"""Change rows as one Parquet file that mirrors read without converting it (PROTOCOL §6.5)."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.protocol.names import ROW_MARKER_COLUMN, fold_case
from openmirror.protocol.rows import Marker
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


def one_table(pieces: Sequence[WaitingRows], default: Marker | None) -> pa.Table:
    """The rows of a file, with a marker column unless every row does what rows without one do.

    `default` is what those do; with None there always is a marker column.
    """
    marked = not all(piece.marker is default for piece in pieces) or default is None
    tables = [_marked(piece) if marked else piece.rows for piece in pieces]
    spelled: dict[str, str] = {}
    for table in tables:
        for name in table.column_names:
            spelled.setdefault(fold_case(name), name)
    tables = [t.rename_columns([spelled[fold_case(n)] for n in t.column_names]) for t in tables]
    joined = pa.concat_tables(tables, promote_options="default")
    if marked:  # last, where the protocol's own description wants it
        names = [name for name in joined.column_names if name != ROW_MARKER_COLUMN]
        joined = joined.select([*names, ROW_MARKER_COLUMN])
    return joined.cast(pa.schema([field.with_nullable(True) for field in joined.schema]))


def encoded(table: pa.Table) -> memoryview:
    """A Parquet file with an empty value under our key, to be filled by `with_footer`."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, **WRITTEN) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({FOOTER_KEY: b"{}"})
    return memoryview(sink.getvalue())


def _marked(piece: WaitingRows) -> pa.Table:
    if piece.marker is None:
        return piece.rows
    markers = pa.repeat(pa.scalar(piece.marker.value, MARKER_TYPE), piece.count)
    return piece.rows.append_column(ROW_MARKER_COLUMN, markers)
