"""Tables of a stream that land under another name, and those that do not land at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.cdc.decoded import Decoded, SourceTable
from openmirror.cdc.stops import ASK_CONNECTOR
from openmirror.mirroring import TableChoice
from openmirror.protocol.names import TablePath
from openmirror.protocol.streams import (
    Offset,
    StopCode,
    StoppedTable,
    StopReason,
    StreamDocument,
)


@dataclass(frozen=True)
class SeenTable:
    """A table that a batch has records of."""

    source: str
    usual: TablePath
    """Its own name."""
    path: TablePath | None
    """Where it lands; None for one that is left out."""
    first: Offset
    """The first of its records."""


def with_choice(
    decode: Callable[[pa.Table], Decoded], choice: TableChoice
) -> Callable[[pa.Table], Decoded]:
    """Decodes as before; tables have the names that they land by, or are left out."""

    def named(table: SourceTable) -> SourceTable:
        return replace(table, lands_as=choice.name_of(table.own_name))

    def decode_so(records: pa.Table) -> Decoded:
        decoded = decode(records)
        wanted = [piece for piece in decoded.tables if choice.has(piece.table.own_name)]
        return replace(
            decoded,
            tables=tuple(replace(piece, table=named(piece.table)) for piece in wanted),
            left_out=tuple(one for one in decoded.tables if not choice.has(one.table.own_name)),
            undecodable=tuple(
                replace(bad, table=bad.table and named(bad.table))
                for bad in decoded.undecodable
                if bad.table is None or choice.has(bad.table.own_name)
            ),
        )

    return decode_so


def seen_tables(decoded: Decoded) -> Iterator[SeenTable]:
    """The tables of a batch, each once."""
    firsts: dict[SourceTable, Offset] = {}
    left_out = {piece.table for piece in decoded.left_out}
    for table, at in _firsts(decoded):
        firsts[table] = min(at, firsts.get(table, at))
    for table, at in firsts.items():
        path = None if table in left_out else table.path
        yield SeenTable(str(table), replace(table, lands_as=None).path, path, at)


def _firsts(decoded: Decoded) -> Iterator[tuple[SourceTable, Offset]]:
    for piece in (*decoded.tables, *decoded.left_out):
        if piece.rows.num_rows:
            yield piece.table, Offset(piece.rows.column("__offset")[0].as_py())
    for bad in decoded.undecodable:
        if bad.table is not None:
            yield bad.table, bad.offset


def placed(document: StreamDocument, seen: Iterable[SeenTable]) -> StreamDocument:
    """The document that knows where each of these tables lands.

    One that lands elsewhere than before has missed what came before, and waits for a new snapshot.
    """
    for one in seen:
        is_known, before = _before(document, one)
        if (is_known and before == one.path) or (not is_known and one.path == one.usual):
            continue
        document = replace(document, sources={**document.sources, one.source: one.path})
        if before is not None:
            document = document.resumed(before).without_resnapshot(before)
        if is_known and one.path is not None:
            was = "was left out" if before is None else f"landed as {before}"
            detail = f"{one.source} {was} before, by mirroring.json"
            stop = StopReason(StopCode.RESNAPSHOT_NEEDED, detail, ASK_CONNECTOR)
            stopped = {one.path: StoppedTable(one.first, stop)}
            document = document.resumed(one.path).advanced(document.complete_to, (), stopped)
    return document


def _before(document: StreamDocument, one: SeenTable) -> tuple[bool, TablePath | None]:
    """Whether it is known where a table landed before, and where."""
    if one.source in document.sources:
        return True, document.sources[one.source]
    has_landed = one.usual in document.tables or one.usual in document.stopped
    is_anothers = one.usual in document.sources.values()
    return has_landed and not is_anothers, one.usual
