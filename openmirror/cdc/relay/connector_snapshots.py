"""Snapshots that a connector takes of its own accord, in the midst of a stream.

It does so when it is started without its place in the source's log: another connector, one whose
offsets were lost, or one that was stopped before its first snapshot was whole. The rows of a
snapshot say what is there, and nothing of what has gone meanwhile, so the table has to be emptied
before them. Its rows are known by the place in the source's log that all of them share: the marks
for first and last are not there when a snapshot is cut short.

Pure, as `selecting` is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.decoded import DecodedRows
from openmirror.cdc.relay.runs import before_offset, from_offset
from openmirror.protocol.streams import Offset

SnapshotPlace = tuple[int, ...]
"""Where in its source's log a snapshot was taken."""
_READ_BESIDE = "incremental"
_NO_SNAPSHOT = ("false", _READ_BESIDE)
_EMPTIES = "t"


@dataclass(frozen=True)
class SnapshotPart:
    """Records of one table that follow each other."""

    piece: DecodedRows
    begins: SnapshotPlace | None
    """The snapshot that begins with the first of them; None where none does."""


def by_snapshot(piece: DecodedRows, newest: SnapshotPlace | None) -> Iterator[SnapshotPart]:
    """The same records, cut where another snapshot than the newest one begins."""
    begins: SnapshotPlace | None = None
    for at, place in _beginnings(piece, newest):
        before = before_offset(piece, at)
        if before.rows.num_rows:
            yield SnapshotPart(before, begins)
        piece, begins = from_offset(piece, at), place
    yield SnapshotPart(piece, begins)


def first_beginning(pieces: Sequence[DecodedRows], newest: SnapshotPlace | None) -> Offset | None:
    """Where another snapshot than the newest one begins, of a table that has a key by then."""
    found = (at for piece in pieces if piece.keys for at, _ in _beginnings(piece, newest))
    return min(found, default=None)


def emptied_first(piece: DecodedRows) -> DecodedRows:
    """The records behind one that empties the table."""
    first = piece.rows.slice(0, 1)
    columns = {
        "__offset": first.column("__offset").combine_chunks(),
        "__op": pa.array([_EMPTIES], pa.string()),
        "__snapshot": first.column("__snapshot").combine_chunks(),
    }
    arrays = [columns.get(field.name, pa.nulls(1, field.type)) for field in piece.rows.schema]
    row = pa.Table.from_arrays(arrays, schema=piece.rows.schema)
    return replace(piece, rows=pa.concat_tables([row, piece.rows]))


def apart(piece: DecodedRows) -> tuple[DecodedRows, DecodedRows]:
    """The changes, and rows that the connector read beside them, each at a place of its own."""
    beside = pc.fill_null(pc.equal(piece.rows.column("__snapshot"), _READ_BESIDE), False)
    if not pc.any(beside).as_py():
        return piece, replace(piece, rows=piece.rows.slice(0, 0))
    changes = piece.rows.filter(pc.invert(beside))
    return replace(piece, rows=changes), replace(piece, rows=piece.rows.filter(beside))


def _beginnings(
    piece: DecodedRows, newest: SnapshotPlace | None
) -> list[tuple[Offset, SnapshotPlace]]:
    kinds = pc.fill_null(piece.rows.column("__snapshot"), _NO_SNAPSHOT[0])
    rows = piece.rows.filter(pc.invert(pc.is_in(kinds, pa.array(_NO_SNAPSHOT))))
    found = []
    for at, place in zip(
        rows.column("__offset").to_pylist(), rows.column("__position").to_pylist(), strict=True
    ):
        if place is not None and tuple(place) != newest:
            newest = tuple(place)
            found.append((Offset(at), newest))
    return found
