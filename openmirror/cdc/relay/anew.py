"""Beginning a table anew: one file that empties it, and has all its rows as they came since.

Pure, as `selecting` is. All of it is one file, so that no reader ever sees half of a snapshot.

The connector reads the rows beside the changes, and leaves out those that a change has overtaken.
It cannot know all of them: a transaction is in the log a moment before others see what it did, so a
row may be read as it was before a change that has been sent. Nor does it keep the two halves of a
changed key together. So all rows go before all changes. That is right whenever a row was read: a
change says what it made of its row, whatever was there before, and what no change touches is the
same at any time.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.cdc.decoded import CONTROL, DecodedRows
from openmirror.cdc.relay.connector_snapshots import apart
from openmirror.cdc.relay.selecting import Before, FileRows, Selection, TableRecords, select
from openmirror.cdc.relay.whole_rows import whole_rows
from openmirror.cdc.stops import TAKE_SNAPSHOT
from openmirror.formats.arrow_types import arrow_type
from openmirror.protocol.names import ROW_MARKER_COLUMN
from openmirror.protocol.rows import Marker
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.streams import StopCode, StopReason
from openmirror.publishing.encoding import MARKER_TYPE
from openmirror.publishing.pieces import WaitingRows


class SnapshotNotWhole(Exception):
    """The records of a snapshot cannot be made a table; another snapshot may."""


def select_anew(before: Before, records: TableRecords, number: str) -> Selection:
    """The one file of a snapshot; where it has landed, what follows of these records.

    `records` are all of the table's from where the snapshot began to where it ended: its rows, and
    the changes that came between them. Raises SnapshotNotWhole where another has to be taken.
    """
    if before.resnapshot == number:
        # What is left behind it, such as half a change of a key.
        return select(before, without_rows_beside(records))
    if before.through > records.first:
        raise SnapshotNotWhole("changes of it have landed already")
    # What was seen before the snapshot began is in its rows. Columns may be any, as of a new table.
    in_order = _rows_beside_first(records)
    selection = select(replace(before, through=in_order.first, columns=None), in_order)
    if selection.stop is not None:
        return Selection((), selection.stop)
    if len(selection.files) > 1:
        why = "a column's type changed while its new snapshot was taken"
        stop = StopReason(StopCode.RESNAPSHOT_NEEDED, why, TAKE_SNAPSHOT)
        return Selection((), (records.first, stop))
    empty_file = FileRows((), before.ever, replace(before, through=records.end))
    file = next(iter(selection.files), empty_file)
    rows = whole_rows(file.pieces, records.keys)
    if rows.missing is not None:
        named = list(rows.missing)
        raise SnapshotNotWhole(f"an update of row {named} leaves values out that nobody has read")
    pieces = (_truncate(file.columns, rows.pieces), *rows.pieces)
    after = replace(file.after, resnapshot=number)
    return Selection((replace(file, pieces=pieces, after=after),), held=selection.held)


def without_rows_beside(records: TableRecords) -> TableRecords:
    """The changes alone."""
    pieces = tuple(apart(piece)[0] for piece in records.pieces)
    return replace(records, pieces=pieces)


def _rows_beside_first(records: TableRecords) -> TableRecords:
    """The same, with offsets as if rows that were read beside the changes had come before them."""
    pairs = [apart(piece) for piece in records.pieces]
    column = CONTROL.get_field_index("__offset")
    at = records.first - sum(beside.rows.num_rows for _, beside in pairs)
    pieces: list[DecodedRows] = []
    for changes, beside in pairs:
        then = at + beside.rows.num_rows
        offsets = pa.array(range(at, then), pa.int64())
        rows = beside.rows.set_column(column, CONTROL.field(column), offsets)
        pieces += [replace(beside, rows=rows), changes]
        at = then
    return replace(records, pieces=tuple(pieces), through_logs=True)


def _truncate(columns: TableSchema, pieces: tuple[WaitingRows, ...]) -> WaitingRows:
    """The row that empties the table, with the columns of the others and markers of their type."""
    fields = [(column.name, pa.nulls(1, arrow_type(column.type))) for column in columns.columns]
    is_text = any(
        pa.types.is_string(piece.rows.schema.field(ROW_MARKER_COLUMN).type) for piece in pieces
    )
    marker = pa.array([Marker.TRUNCATE.value], MARKER_TYPE)
    fields.append((ROW_MARKER_COLUMN, marker.cast(pa.string()) if is_text else marker))
    rows = pa.Table.from_arrays([array for _, array in fields], [name for name, _ in fields])
    return WaitingRows(rows=rows, marker=None, columns=columns)
