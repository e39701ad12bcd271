"""Rows of change files with the places of their changes in the log. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.postgresql.batches import Changes
from openmirror.cdc.postgresql.changes import change_rows
from openmirror.cdc.postgresql.places import LogPlace, Lsn
from openmirror.cdc.postgresql.progress import SentColumn, sent_columns
from openmirror.cdc.postgresql.shapes import TableShape
from openmirror.protocol.names import ROW_MARKER_COLUMN, fold_case
from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.protocol.streams import StopCode, StopReason

_MOST_BYTES_OF_A_NAME = 63
COMMIT_COLUMN, NUMBER_COLUMN = (
    name.ljust(_MOST_BYTES_OF_A_NAME + 1, "_") for name in ("__commit", "__number")
)
"""A row's place, as columns of a staged part. PostgreSQL has no column of so long a name."""
LINEAGE_COLUMNS = (
    Column("_op", ColumnType("string")),
    Column("_last_op_id", ColumnType("string")),
    Column("_source_ts", ColumnType("timestamp")),
)
"""Where a row comes from, for mirrors that ask for it (PROTOCOL §13.4)."""
_LINEAGE_TYPES = (pa.string(), pa.string(), pa.timestamp("us", "UTC"))
_DIGITS = 20


@dataclass(frozen=True, kw_only=True)
class PlacedRows:
    """Change rows of one table, in the order of the log."""

    table: pa.Table
    """The table's columns, then the marker, then the place (COMMIT_COLUMN, NUMBER_COLUMN)."""
    columns: TableSchema
    """The table's columns, those of lineage included."""
    sent: tuple[SentColumn, ...]
    """The same as the log sent them, without those of lineage."""

    @property
    def first(self) -> LogPlace:
        """The place of the first row."""
        return self._place(0)

    @property
    def last(self) -> LogPlace:
        """The place of the last row."""
        return self._place(self.table.num_rows - 1)

    def tables(self) -> Iterator[pa.Table]:
        """Yield the rows with their places."""
        yield self.table

    @property
    def has_partial_updates(self) -> bool:
        """Whether markers are text, because a partial update is among the rows."""
        return bool(pa.types.is_string(self.table.schema.field(ROW_MARKER_COLUMN).type))

    def slice(self, start: int, count: int | None = None) -> PlacedRows:
        """Return some of the rows; with `count` of None all from `start` on."""
        return replace(self, table=self.table.slice(start, count))

    def behind(self, place: LogPlace) -> PlacedRows | None:
        """Return the rows whose places are behind another; None where there are none."""
        if self.table.num_rows == 0 or self.last <= place:
            return None
        if self.first > place:
            return self
        commits = self.table.column(COMMIT_COLUMN)
        is_same = pc.and_(
            pc.equal(commits, place.commit),
            pc.greater(self.table.column(NUMBER_COLUMN), place.number),
        )
        kept = pc.or_(pc.greater(commits, place.commit), is_same)
        return replace(self, table=self.table.filter(kept))

    def _place(self, row: int) -> LogPlace:
        commit = self.table.column(COMMIT_COLUMN)[row].as_py()
        return LogPlace(Lsn(commit), self.table.column(NUMBER_COLUMN)[row].as_py())


@dataclass(frozen=True)
class ReadChanges:
    """A table's raw changes as rows."""

    rows: PlacedRows | None
    """Every row before the first change that cannot be read; None where there is none."""
    stop: tuple[LogPlace, StopReason] | None = None
    """The place of that change, and what is wrong with it."""


def read_changes(
    changes: Changes, encoding: str, *, while_loading: bool, lineage: bool, name_keys: bool
) -> ReadChanges:
    """Read the raw changes of one table.

    Args:
        changes: messages of one shape, which must be a TableShape.
        encoding: what the server's text is in, by PostgreSQL's name.
        while_loading: whether a changed key may leave values out, because the load finds them.
        lineage: whether the columns of lineage are added.
        name_keys: whether a message about a value may name the row's key.
    """
    shape = changes.shape
    assert isinstance(shape, TableShape)
    found = change_rows(
        changes.messages, shape, encoding, while_loading=while_loading, name_keys=name_keys
    )
    commits, numbers, times = _places(changes)
    stop = None
    if found.stop is not None:
        at, reason = found.stop
        stop = LogPlace(Lsn(int(commits[at])), int(numbers[at])), reason
    if not found.table.num_rows:
        return ReadChanges(None, stop)
    rows = found.source_row.to_numpy()
    own_commits, own_numbers = pa.array(commits[rows]), pa.array(numbers[rows])
    table = found.table
    if lineage:
        table = _with_lineage(table, found.ops, own_commits, own_numbers, times[rows])
    table = table.append_column(COMMIT_COLUMN, own_commits)
    table = table.append_column(NUMBER_COLUMN, own_numbers)
    columns = columns_of_shape(shape, lineage=lineage)
    return ReadChanges(PlacedRows(table=table, columns=columns, sent=sent_columns(shape)), stop)


def columns_of_shape(shape: TableShape, *, lineage: bool) -> TableSchema:
    """Return the Delta columns of a table, with those of lineage where they are asked for."""
    own = shape.table_schema.columns
    return TableSchema((*own, *LINEAGE_COLUMNS) if lineage else own)


def lineage_refused(shape: TableShape) -> StopReason | None:
    """Return why a table cannot have the columns of lineage: it has a column of such a name."""
    own = {fold_case(column.name) for column in LINEAGE_COLUMNS}
    for column in shape.columns:
        if fold_case(column.name) in own:
            title = f"{shape.title}.{column.name}"
            return StopReason(
                StopCode.CHANGE_REFUSED,
                f"column {title} is called as one of lineage is",
                f"Rename the column, leave it out with `--without-column {title}`, or take "
                "lineage out of mirroring.json.",
            )
    return None


def with_lineage_of_a_load(rows: pa.Table) -> pa.Table:
    """Add the columns of lineage to rows that were read beside the log; only `_op` has a value."""
    count = rows.num_rows
    values = (pa.repeat(pa.scalar("r"), count), *(pa.nulls(count, t) for t in _LINEAGE_TYPES[1:]))
    for column, value in zip(LINEAGE_COLUMNS, values, strict=True):
        rows = rows.append_column(column.name, value)
    return rows


def _places(changes: Changes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return each message's commit LSN, number and time of commit."""
    starts = [start for start, _, _ in changes.runs]
    lengths = np.diff([*starts, len(changes.messages)])
    commits = np.repeat(np.array([commit for _, commit, _ in changes.runs], np.int64), lengths)
    times = np.repeat(np.array([time for _, _, time in changes.runs], np.int64), lengths)
    return commits, np.array(changes.numbers, np.int64), times


def _with_lineage(
    table: pa.Table, ops: pa.Array, commits: pa.Array, numbers: pa.Array, times: np.ndarray
) -> pa.Table:
    """Add the columns of lineage before the marker; deletes and truncates leave them NULL."""
    is_row = pc.is_in(ops, pa.array(["c", "u"]))
    texts = [
        pc.utf8_lpad(number.cast(pa.string()), width=_DIGITS, padding="0")
        for number in (commits, numbers)
    ]
    places = pc.binary_join_element_wise(*texts, "-")
    moments = pa.array(times).cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    at = table.num_columns - 1
    for column, kind, value in zip(
        LINEAGE_COLUMNS, _LINEAGE_TYPES, (ops.cast(pa.string()), places, moments), strict=True
    ):
        kept = pc.if_else(is_row, value, pa.scalar(None, kind))
        table = table.add_column(at, column.name, kept)
        at += 1
    return table
