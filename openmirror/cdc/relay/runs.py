"""Decoded rows of one table, put back into the stream's order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.decoded import DecodedRows
from openmirror.protocol.streams import Offset


def in_stream_order(pieces: Sequence[DecodedRows]) -> Iterator[DecodedRows]:
    """The same rows, each piece wholly before the next.

    A table whose schema has changed, and whose older records came again, has pieces that lie
    between each other.
    """
    filled = [piece for piece in pieces if piece.rows.num_rows]
    if not filled:
        return
    offsets = [piece.rows.column("__offset").combine_chunks() for piece in filled]
    whose = pa.concat_arrays(
        [pa.repeat(pa.scalar(at, pa.int32()), len(own)) for at, own in enumerate(offsets)]
    )
    ordered = pc.take(whose, pc.sort_indices(pa.concat_arrays(offsets)))
    done = [0] * len(filled)
    for run in pc.run_end_encode(ordered).values.to_pylist() if len(ordered) else []:
        yield from _next_run(filled, offsets, done, run)


def _next_run(
    pieces: Sequence[DecodedRows], offsets: Sequence[pa.Array], done: list[int], run: int
) -> Iterator[DecodedRows]:
    """The rows of one piece up to where another one goes on."""
    start = done[run]
    others = [
        own[done[at]].as_py() for at, own in enumerate(offsets) if at != run and done[at] < len(own)
    ]
    own = offsets[run]
    until = len(own)
    if others:
        until = int(pc.sum(pc.less(own, min(others))).as_py())
    done[run] = until
    yield replace(pieces[run], rows=pieces[run].rows.slice(start, until - start))


def from_offset(piece: DecodedRows, start: Offset) -> DecodedRows:
    """Only the rows that are not before an offset."""
    own = piece.rows.column("__offset")
    return replace(piece, rows=piece.rows.filter(pc.greater_equal(own, start)))


def before_offset(piece: DecodedRows, end: Offset) -> DecodedRows:
    """Only the rows before an offset."""
    own = piece.rows.column("__offset")
    return replace(piece, rows=piece.rows.filter(pc.less(own, end)))
