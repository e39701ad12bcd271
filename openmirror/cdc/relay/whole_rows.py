"""Updates of parts of rows, in a file that begins with no rows at all.

The connector leaves a row out of a snapshot that a change has overtaken, also where that change has
only a part of it (a large value that stayed as it was is not in the log), and one that was deleted
before it was read. Such an update has nothing to be applied to.

Pure, as `anew` is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.protocol.names import ROW_MARKER_COLUMN
from openmirror.protocol.partial_updates import PARTIAL_UPDATE
from openmirror.protocol.rows import Marker
from openmirror.publishing.pieces import WaitingRows

_DELETE = str(Marker.DELETE.value)
_Key = tuple[object, ...]
_Place = tuple[int, int]
"""A row's piece, and its number there."""


@dataclass(frozen=True)
class WholeRows:
    """The same changes, without those of a part that a later one makes good."""

    pieces: tuple[WaitingRows, ...]
    missing: _Key | None = None
    """The key of a row of which only a part is there in the end; None where there is none."""


def whole_rows(pieces: Sequence[WaitingRows], keys: Sequence[str]) -> WholeRows:
    """What lands of the first file of a table."""
    partial = [_is_partial(piece) for piece in pieces]
    if not any(pc.any(flags).as_py() for flags in partial):
        return WholeRows(tuple(pieces))
    waiting: dict[_Key, list[_Place]] = {}
    whole: set[_Key] = set()
    overtaken: list[_Place] = []
    for at, piece in enumerate(pieces):
        columns = [piece.rows.column(name).to_pylist() for name in keys]
        deletes = pc.equal(piece.rows.column(ROW_MARKER_COLUMN), _DELETE).to_pylist()
        flags = partial[at].to_pylist()
        for number, key in enumerate(zip(*columns, strict=True)):
            if flags[number]:
                if key not in whole:
                    waiting.setdefault(key, []).append((at, number))
                continue
            overtaken += waiting.pop(key, ())
            whole.discard(key) if deletes[number] else whole.add(key)
    if waiting:
        return WholeRows(tuple(pieces), next(iter(waiting)))
    return WholeRows(tuple(_without(pieces, overtaken)))


def _is_partial(piece: WaitingRows) -> pa.ChunkedArray:
    markers = piece.rows.column(ROW_MARKER_COLUMN)
    if not pa.types.is_string(markers.type):
        return pa.chunked_array([pa.repeat(pa.scalar(value=False), len(markers))])
    return pc.starts_with(markers, PARTIAL_UPDATE)


def _without(pieces: Sequence[WaitingRows], places: Sequence[_Place]) -> list[WaitingRows]:
    left = []
    for at, piece in enumerate(pieces):
        gone = {number for of, number in places if of == at}
        kept = pa.array([number not in gone for number in range(piece.count)])
        left.append(replace(piece, rows=piece.rows.filter(kept)) if gone else piece)
    return left
