"""Which of a table's records become change files next, and where the table stops or has to wait.

Pure: from what the newest footer says and the records of a batch to the files that follow.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.decoded import CONTROL, DecodedRows
from openmirror.cdc.relay.connector_snapshots import (
    SnapshotPlace,
    apart,
    by_snapshot,
    emptied_first,
    first_beginning,
)
from openmirror.cdc.relay.runs import before_offset, from_offset, in_stream_order
from openmirror.cdc.relay.source_order import (
    MOST_REMEMBERED,
    ReplayDoubt,
    SeenChanges,
    SourceChange,
    SourcePlace,
    new_changes,
)
from openmirror.cdc.relay.source_schema import changed_silently
from openmirror.cdc.stops import ASK_CONNECTOR, GIVE_WHOLE_ROWS
from openmirror.errors import PublishRefused
from openmirror.protocol.names import ROW_MARKER_COLUMN
from openmirror.protocol.partial_updates import PARTIAL_UPDATE
from openmirror.protocol.rows import Marker
from openmirror.protocol.rules import Broken
from openmirror.protocol.schema import Column, TableSchema
from openmirror.protocol.streams import START, Offset, StopCode, StopReason
from openmirror.publishing.columns import merged
from openmirror.publishing.encoding import MARKER_TYPE
from openmirror.publishing.pieces import WaitingRows, columns_of

_GIVE_A_KEY = (
    "Give it a primary key, or leave it out of the tables that are captured. A connector can also "
    "be given columns that are one (message.key.columns)."
)
_FROM_NOTHING = (
    "Begin the stream anew with --anew, which deletes the table's folder first and makes it from "
    "that snapshot."
)
_STREAMED = "false"
_MARKERS = {
    "c": Marker.UPSERT,
    "r": Marker.UPSERT,
    "u": Marker.UPSERT,
    "d": Marker.DELETE,
    "t": Marker.TRUNCATE,
}


@dataclass(frozen=True, kw_only=True)
class TableRecords:
    """All records of one table in a stretch of its stream."""

    pieces: tuple[DecodedRows, ...]
    keys: tuple[str, ...]
    """The key columns that the table was made with."""
    end: Offset
    """There are no others before this offset."""
    stop: StopReason | None = None
    """Why the table cannot go on at `end`, where it cannot."""
    takes: frozenset[Marker] = frozenset()
    """What its mirror takes beyond the published markers."""
    is_cut: bool = False
    """Whether the stream had records before its first one that could be read."""
    stopped_at: Offset | None = None
    """Where the table stopped for want of a new snapshot; it goes on where one begins."""

    @property
    def first(self) -> Offset:
        """The first of these records; the end where there is none."""
        firsts = [p.rows.column("__offset")[0].as_py() for p in self.pieces if p.rows.num_rows]
        return Offset(min([*firsts, self.end]))


@dataclass(frozen=True, kw_only=True)
class Before:
    """What landed in the table before."""

    through: Offset = START
    seen: SeenChanges = field(default_factory=SeenChanges)
    columns: TableSchema | None = None
    """By the newest schema; None for a table of which nothing landed."""
    ever: TableSchema = TableSchema()
    """Every column that the table has, also those that the source has dropped."""
    snapshot: SnapshotPlace | None = None
    """The newest snapshot of the connector's own that rows have landed of."""
    origin: str | None = None
    """The table's origin (`SourceTable`); None where nothing has landed."""

    @property
    def is_nothing(self) -> bool:
        """Whether the table begins now."""
        return self.through == START and not self.ever.columns


@dataclass(frozen=True)
class FileRows:
    """The rows of one change file, and what is true once it has landed."""

    pieces: tuple[WaitingRows, ...]
    columns: TableSchema
    after: Before
    """`ever` stays as it was: it is the footer's own."""


@dataclass(frozen=True)
class Selection:
    """What follows for one table."""

    files: tuple[FileRows, ...]
    stop: tuple[Offset, StopReason] | None = None
    """Where the table goes no further, and why."""
    held: Offset | None = None
    """A change of a key whose second half has not come: it is landed with that, or not at all."""


@dataclass(frozen=True)
class _Chosen:
    """Records that land, and what is true once they have."""

    piece: DecodedRows
    after: Before


def select(before: Before, records: TableRecords) -> Selection:
    """The files that follow, oldest first; the same for the same records, however often asked."""
    if records.stopped_at is not None and before.through <= records.stopped_at:
        goes_on = first_beginning(records.pieces, before.snapshot)
        if goes_on is None:
            return Selection(())
        before = replace(before, through=goes_on)
    now = before
    chosen: list[_Chosen] = []
    for piece in in_stream_order([from_offset(p, before.through) for p in records.pieces]):
        if now.origin not in (None, piece.table.origin):
            return _stopped(before, records, *_of_other_origin(piece, now.origin))
        now = replace(now, origin=piece.table.origin)
        for part in by_snapshot(piece, now.snapshot):
            new = part.piece
            if part.begins is not None:
                # Places before a snapshot are no longer to be compared with: a source that was
                # restored begins again below them.
                now = replace(now, snapshot=part.begins, seen=SeenChanges(), columns=None)
                if now.ever.columns and Marker.TRUNCATE not in records.takes:
                    return _stopped(before, records, *_snapshot_untaken(new))
                new = emptied_first(new) if now.ever.columns else new
            elif now.is_nothing and (missing := _without_base(new, records)):
                return _stopped(before, records, *missing)
            found = new_changes(now.seen, _changes(new))
            if found.doubt is not None:
                return _stopped(before, records, *_in_doubt(new, len(found.is_new), found.doubt))
            if not any(found.is_new):
                continue
            if not all(found.is_new):
                new = replace(new, rows=new.rows.filter(pa.array(found.is_new, pa.bool_())))
            if refused := _refused(new, records, now.columns, now.ever):
                return _stopped(before, records, *refused)
            columns = _columns(new)
            last = Offset(new.rows.column("__offset")[-1].as_py())
            ever = merged(now.ever, columns)
            now = replace(
                now, through=Offset(last + 1), seen=found.seen, columns=columns, ever=ever
            )
            chosen.append(_Chosen(new, replace(now, ever=before.ever)))
    open_pair, is_lost = _open_pair([one.piece for one in chosen])
    if open_pair is not None and is_lost:
        detail = (
            f"{chosen[0].piece.table}: a row's key changed, and its row with the new key is lost"
        )
        return _stopped(
            before, records, open_pair, StopReason(StopCode.EVENTS_LOST, detail, ASK_CONNECTOR)
        )
    if open_pair is not None and records.stop is not None:
        return _stopped(before, records, open_pair, records.stop)
    if open_pair is not None:
        return replace(select(before, _cut(records, open_pair)), held=open_pair)
    # Behind a stop, a later snapshot may have landed: reading such records again changes nothing.
    stop = None
    if records.stop is not None and before.through <= records.end:
        stop = records.end, records.stop
    return Selection(_files(chosen, records.end), stop)


def _stopped(before: Before, records: TableRecords, at: Offset, stop: StopReason) -> Selection:
    """What comes before a record at which the table stops, chosen as if there were nothing else."""
    return select(before, replace(_cut(records, at), stop=stop))


def _cut(records: TableRecords, end: Offset) -> TableRecords:
    pieces = tuple(before_offset(piece, end) for piece in records.pieces)
    return replace(records, pieces=pieces, end=end, stop=None)


def _changes(piece: DecodedRows) -> list[SourceChange]:
    columns = [
        piece.rows.column(name).to_pylist()
        for name in (
            *("__op", "__key", "__transaction", "__position", "__within", "__snapshot"),
            "__ts_us",
        )
    ]
    found = []
    for op, key, tx, position, within, snapshot, ts in zip(*columns, strict=True):
        place = None
        if snapshot == _STREAMED and position:
            place = SourcePlace(tx, tuple(position), tuple(within or ()))
        found.append(SourceChange(op, key, place, ts))
    return found


_DOUBTS = {
    ReplayDoubt.OTHER_LOG: (
        StopCode.EVENTS_LOST,
        "the source's log has begun anew, as after a failover or a restore, and nobody knows what "
        "it had before",
    ),
    ReplayDoubt.NO_ORDER: (
        StopCode.RESNAPSHOT_NEEDED,
        f"a transaction of more than {MOST_REMEMBERED} changes was sent again in part, or not in "
        "the order of its changes, and nobody knows which of them have landed",
    ),
}


def _in_doubt(piece: DecodedRows, row: int, doubt: ReplayDoubt) -> tuple[Offset, StopReason]:
    code, why = _DOUBTS[doubt]
    at = Offset(piece.rows.column("__offset")[row].as_py())
    return at, StopReason(code, f"{piece.table}: {why}", ASK_CONNECTOR)


def _of_other_origin(piece: DecodedRows, origin: str | None) -> tuple[Offset, StopReason]:
    detail = f"{piece.table}: the table that lands in its folder is one of {origin!r}"
    remedy = (
        "Let each database have a topic, and a mirror, of its own, and give no two tables one "
        "name; then take a new snapshot."
    )
    at = Offset(piece.rows.column("__offset")[0].as_py())
    return at, StopReason(StopCode.CHANGE_REFUSED, detail, remedy)


def _refused(
    piece: DecodedRows,
    records: TableRecords,
    columns: TableSchema | None,
    ever: TableSchema,
) -> tuple[Offset, StopReason] | None:
    """The first record that cannot be landed, and why."""
    truncates = pc.equal(piece.rows.column("__op"), "t")
    # It has no key, and where it stands alone nobody knows the table's.
    if not pc.all(truncates).as_py() and (
        stop := _schema_refused(piece, records.keys, columns, ever)
    ):
        return Offset(piece.rows.column("__offset")[0].as_py()), stop
    found = []
    if Marker.TRUNCATE not in records.takes:
        found += [(at, _emptied(piece)) for at in _first_offset(piece, truncates)]
    absent = pc.is_valid(piece.rows.column("__absent"))
    if Marker.PARTIAL_UPDATE in records.takes:
        # A row that is made, also one of a changed key, has no values to keep.
        absent = pc.and_(absent, pc.not_equal(piece.rows.column("__op"), "u"))
    found += [(at, _unavailable(piece, at)) for at in _first_offset(piece, absent)]
    return min(found, key=lambda one: one[0], default=None)


def _without_base(piece: DecodedRows, records: TableRecords) -> tuple[Offset, StopReason] | None:
    """Where a table begins with changes, of rows that were there before and are not in the stream.

    A table that is empty when its snapshot is taken has no rows of one: then its first change makes
    a row, which says nothing where the stream's own beginning is gone.
    """
    first = piece.rows.column("__op")[0].as_py()
    if first in ("r", "t") or (first == "c" and not records.is_cut):
        return None
    detail = f"{piece.table}: the stream has changes of it, and no snapshot before them"
    at = Offset(piece.rows.column("__offset")[0].as_py())
    return at, StopReason(StopCode.EVENTS_LOST, detail, ASK_CONNECTOR)


def _first_offset(piece: DecodedRows, rows: pa.ChunkedArray) -> list[Offset]:
    """The offset of the first of these rows, where there is one."""
    return [Offset(at) for at in piece.rows.column("__offset").filter(rows).slice(0, 1).to_pylist()]


def _emptied(piece: DecodedRows) -> StopReason:
    detail = f"{piece.table} was emptied (TRUNCATE), which its mirror does not take"
    return StopReason(StopCode.TRUNCATE_UNSUPPORTED, detail, ASK_CONNECTOR)


def _snapshot_untaken(piece: DecodedRows) -> tuple[Offset, StopReason]:
    detail = (
        f"{piece.table}: its connector has taken a new snapshot, which does not say what was "
        "deleted before, and the mirror takes no truncates"
    )
    at = Offset(piece.rows.column("__offset")[0].as_py())
    return at, StopReason(StopCode.RESNAPSHOT_NEEDED, detail, _FROM_NOTHING)


def _unavailable(piece: DecodedRows, at: Offset) -> StopReason:
    row = piece.rows.filter(pc.equal(piece.rows.column("__offset"), at))
    names = json.loads(row.column("__absent")[0].as_py())
    detail = f"{piece.table}: the value of column {names[0]!r} is not in the source's log"
    return StopReason(StopCode.VALUE_UNAVAILABLE, detail, GIVE_WHOLE_ROWS)


def _schema_refused(
    piece: DecodedRows,
    keys: tuple[str, ...],
    columns: TableSchema | None,
    ever: TableSchema,
) -> StopReason | None:
    if not piece.keys:
        detail = f"{piece.table} has no key, so that its changes name no rows"
        return StopReason(StopCode.SOURCE_KEY_MISSING, detail, _GIVE_A_KEY)
    if set(piece.keys) != set(keys):
        detail = f"{piece.table}: its key was {list(keys)} and is {list(piece.keys)} now"
        return StopReason(StopCode.RESNAPSHOT_NEEDED, detail, ASK_CONNECTOR)
    if columns is not None and (why := changed_silently(columns, piece.columns, ever)):
        return StopReason(StopCode.RESNAPSHOT_NEEDED, f"{piece.table}: {why}", ASK_CONNECTOR)
    try:
        merged(ever, _columns(piece))
    except PublishRefused as refused:
        return StopReason(StopCode.CHANGE_REFUSED, f"{piece.table}: {refused}", ASK_CONNECTOR)
    return None


def _open_pair(pieces: Sequence[DecodedRows]) -> tuple[Offset | None, bool]:
    """A changed key whose row with the new key is not its neighbour; and whether it is lost.

    Both halves are neighbours among the table's records. The connector can lose the second one when
    it is stopped between them; where nothing follows, it may yet come.
    """
    open_at: Offset | None = None
    for piece in pieces:
        # Between the halves a connector may send rows that it reads beside the changes.
        rows = apart(piece)[0].rows
        pairs = rows.column("__pair")
        if open_at is None and pairs.null_count == len(pairs):
            continue
        offsets = rows.column("__offset").to_pylist()
        for at, pair in zip(offsets, pairs.to_pylist(), strict=True):
            if open_at is not None and pair != "oldkey":
                return open_at, True
            open_at = Offset(at) if pair == "newkey" else None
    return open_at, False


def _files(chosen: Sequence[_Chosen], end: Offset) -> tuple[FileRows, ...]:
    """Pieces of one type a column share a file; the last file speaks for all up to the end."""
    files: list[FileRows] = []
    pieces = [one.piece for one in chosen]
    as_text = any(len(pc.drop_null(piece.rows.column("__absent"))) for piece in pieces)
    for one in chosen:
        rows, after = _waiting(one.piece, as_text=as_text), one.after
        together = (*files[-1].pieces, rows) if files else (rows,)
        columns = columns_of(together)
        if isinstance(columns, Broken):
            files.append(FileRows((rows,), rows.columns, after))
        else:
            files[-1:] = [FileRows(together, columns, after)]
    if files:
        files[-1] = replace(files[-1], after=replace(files[-1].after, through=end))
    return tuple(files)


def _waiting(piece: DecodedRows, *, as_text: bool) -> WaitingRows:
    """Its rows with markers, and without what only the relay needs.

    `as_text`: whether markers are text, as those of partial updates have to be.
    """
    ops = piece.rows.column("__op").combine_chunks().dictionary_encode()
    values = [_MARKERS[op].value for op in ops.dictionary.to_pylist()]
    markers = pc.take(pa.array(values, MARKER_TYPE), ops.indices)
    if as_text:
        absent = piece.rows.column("__absent").combine_chunks()
        partial = pc.binary_join_element_wise(PARTIAL_UPDATE, absent, "")
        markers = pc.coalesce(partial, markers.cast(pa.string()))
    rows = piece.rows.drop_columns(CONTROL.names).append_column(ROW_MARKER_COLUMN, markers)
    return WaitingRows(rows=rows, marker=None, columns=_columns(piece))


def _columns(piece: DecodedRows) -> TableSchema:
    return TableSchema(tuple(Column(column.name, column.type) for column in piece.columns))
