"""What a batch has for each table."""

from __future__ import annotations

from dataclasses import replace

from openmirror.cdc.decoded import Decoded, DecodedRows
from openmirror.cdc.relay.runs import before_offset
from openmirror.cdc.relay.selecting import TableRecords
from openmirror.cdc.stops import StreamStopped
from openmirror.protocol.names import TablePath
from openmirror.protocol.streams import Offset, StopReason


def by_table(decoded: Decoded, end: Offset) -> dict[TablePath, TableRecords]:
    """Each table's records below `end`.

    Raises StreamStopped for a record that cannot be understood and names no table: nobody knows
    then which table would miss it.
    """
    pieces: dict[TablePath, list[DecodedRows]] = {}
    for rows in decoded.tables:
        pieces.setdefault(rows.table.path, []).append(rows)
    stops: dict[TablePath, tuple[Offset, StopReason]] = {}
    for bad in sorted(decoded.undecodable, key=lambda one: one.offset):
        if bad.table is None:
            raise StreamStopped(bad.stop, bad.topic, bad.offset)
        stops.setdefault(bad.table.path, (bad.offset, bad.stop))
    found = {}
    for path in {**pieces, **stops}:
        own = tuple(pieces.get(path, ()))
        keys = next((piece.keys for piece in own if piece.keys), ())
        if path in stops:
            at, stop = stops[path]
            readable = tuple(before_offset(piece, at) for piece in own)
            found[path] = TableRecords(pieces=readable, keys=keys, end=at, stop=stop)
        else:
            found[path] = TableRecords(pieces=own, keys=keys, end=end)
    return found


def together(before: TableRecords | None, now: TableRecords | None, end: Offset) -> TableRecords:
    """What waited of a table, and what came after it."""
    if before is None or now is None:
        found = before or now
        assert found is not None
        return found if now is not None else replace(found, end=end)
    keys = before.keys or now.keys
    return replace(now, pieces=(*before.pieces, *now.pieces), keys=keys)
