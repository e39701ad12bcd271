"""Rows that COPY sent, as Arrow columns. Pure."""

from __future__ import annotations

from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv as csv  # type: ignore[import-untyped]

from openmirror.cdc.postgresql.pgoutput import MalformedMessage
from openmirror.cdc.postgresql.shapes import TableShape
from openmirror.cdc.postgresql.values import ValueRefused, to_arrow

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_PARSE: Final = {"newlines_in_values": True, "ignore_empty_lines": False}


def copied_rows(piece: bytes, shape: TableShape, encoding: str) -> pa.Table:
    """Return rows of `COPY … TO STDOUT (FORMAT csv)` with the shape's columns, without a marker.

    Args:
        piece: Whole rows, less than 2 GiB. COPY has named the shape's columns, in their order.
        shape: The table's shape, of one column at least.
        encoding: The server's encoding, which is the connection's client encoding as well.

    Raises:
        ValueRefused: The first row with a value that cannot be read; it names the column.
        MalformedMessage: The bytes are no such rows.
    """
    texts = _texts(piece, len(shape.columns))
    columns: list[pa.Array] = []
    refusals: list[ValueRefused] = []
    for column, values in zip(shape.columns, texts, strict=True):
        if column.is_key and values.null_count:
            raise MalformedMessage(f"COPY sent NULL in key column {shape.title}.{column.name}")
        try:
            columns.append(to_arrow(values, column.reading, encoding))
        except ValueRefused as refused:
            refusals.append(ValueRefused(refused.row, refused.why, column.name))
    if refusals:
        raise min(refusals, key=lambda refused: refused.row)
    return pa.table(columns, names=[column.name for column in shape.columns])


def _texts(piece: bytes, count: int) -> list[pa.Array]:
    """Return the server's texts, column by column."""
    names = [str(number) for number in range(count)]
    kind = pa.binary()
    if not piece:
        return [pa.array([], kind) for _ in names]
    if not piece.endswith(b"\n") or piece.count(b'"') % 2:
        raise MalformedMessage("COPY sent a row without its end")
    if piece.startswith(_BYTE_ORDER_MARK):
        # pyarrow would drop the mark, which is the beginning of the first value.
        piece = _BYTE_ORDER_MARK + piece
    try:
        rows = csv.read_csv(
            pa.BufferReader(piece),
            read_options=csv.ReadOptions(
                column_names=names, block_size=len(piece) + 1, use_threads=False
            ),
            parse_options=csv.ParseOptions(**_PARSE),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, kind),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        raise MalformedMessage(f"COPY sent rows of other than {count} columns") from None
    return [_one(column) for column in rows.columns]


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
