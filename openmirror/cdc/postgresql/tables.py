"""Takes a batch's changes, table by table: they land, are staged for a load, or are left out.

A table is in one of three modes:

- *landing*: its changes land as change files;
- *loading*: the first mark of its load has come, so its changes are staged beside the rows that
  are read;
- *waiting*: it has stopped, or its load has not begun, so its changes are left out: the load will
  have the rows that they made.

Changes are taken once the catalogue has been read behind them (`gate`). Where it has changed in a
way that is not proven harmless, the table is loaded again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Protocol

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.postgresql.batches import Changes, Mark
from openmirror.cdc.postgresql.definitions import Oid
from openmirror.cdc.postgresql.fingerprints import (
    Fingerprint,
    parsed,
    stale_rows,
    strange_rows,
)
from openmirror.cdc.postgresql.placed_rows import (
    COMMIT_COLUMN,
    NUMBER_COLUMN,
    PlacedRows,
    read_changes,
)
from openmirror.cdc.postgresql.places import BEFORE_ALL, LogPlace
from openmirror.cdc.postgresql.progress import SentColumn, sent_columns
from openmirror.cdc.postgresql.shapes import TableShape
from openmirror.cdc.postgresql.staging import StagedPieces
from openmirror.cdc.postgresql.table_files import PlacedPiece, StagedChanges, StreamFolders
from openmirror.cdc.stops import GIVE_WHOLE_ROWS, TAKE_SNAPSHOT
from openmirror.errors import FolderReplaced, OtherPublisher, PublishRefused
from openmirror.protocol.names import ROW_MARKER_COLUMN, TablePath, fold_case
from openmirror.protocol.partial_updates import PARTIAL_UPDATE, absent_columns
from openmirror.protocol.rows import Marker
from openmirror.protocol.schema import ColumnType
from openmirror.protocol.streams import StopCode, StopReason


class Mode(Enum):
    """Where a table's changes go."""

    LANDING = auto()
    LOADING = auto()
    WAITING = auto()


class Loads(Protocol):
    """The loads that are underway. Every method raises what the store raises."""

    def stage(self, number: str, rows: PlacedRows) -> None:
        """Keep changes of a table that is loading; return once they are in the zone."""
        ...

    def fits(self, number: str, shape: TableShape) -> bool:
        """Return whether changes of this shape can be staged beside the rows that are read."""
        ...

    def fingerprint(self, number: str) -> Fingerprint | None:
        """Return a table's fingerprint when its load was begun; None for an unknown load."""
        ...


_BY_ITSELF = "Its rows are read again by itself; until they have landed the table stays as it is."
_MOST_KNOWN = 8
"""Fingerprints of a table that are kept."""


@dataclass(kw_only=True)
class TableState:
    """A table of the stream, as far as its changes are taken."""

    path: TablePath
    oid: Oid
    mode: Mode
    known: tuple[Fingerprint, ...] = ()
    """The table's fingerprints that were accepted, the newest last. Rows of earlier ones may still
    come. Empty until the newest footer, or the load, was asked for it."""
    load: str | None = None
    """The number of its load, while one is wanted or underway."""
    waited_with: Fingerprint | None = None
    """The fingerprint of a waiting table in the last reading of all tables."""
    sent: tuple[SentColumn, ...] | None = None
    """The columns of the rows that were read last; None while that was not asked for."""
    landed: LogPlace = BEFORE_ALL
    """Everything up to here had landed when the table was asked for the first time."""
    staged: list[StagedChanges] = field(default_factory=list)
    """Rows of a transaction larger than memory that has not ended."""

    @property
    def title(self) -> str:
        """The table as the database calls it: `schema.table`."""
        return f"{self.path.schema}.{self.path.table}"

    @property
    def accepted(self) -> Fingerprint | None:
        """The fingerprint under which rows land; None where it was not asked for yet."""
        return self.known[-1] if self.known else None

    def accept(self, fingerprint: Fingerprint) -> None:
        """Let rows land under this fingerprint."""
        if fingerprint != self.accepted:
            self.known = (*self.known[1 - _MOST_KNOWN :], fingerprint)

    def wait(self) -> None:
        """Take no further change until a load begins."""
        self.mode, self.load, self.sent, self.known = Mode.WAITING, None, None, ()


@dataclass
class TableOutcome:
    """The outcome of one table's part of a batch."""

    rows: int = 0
    """Change rows that landed."""
    stop: tuple[LogPlace, StopReason] | None = None
    """Where the table stopped, and why."""
    anew: tuple[LogPlace, str] | None = None
    """Where the table must be loaded again, and why; that happens by itself."""
    begun: tuple[str, LogPlace] | None = None
    """The load whose first mark came, by its number, and where."""
    pending: list[PlacedRows] = field(default_factory=list)
    """Rows that are read and have not landed yet."""

    @property
    def has_ended(self) -> bool:
        """Whether the table goes no further."""
        return self.stop is not None or self.anew is not None


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How changes are read."""

    encoding: str
    """The encoding of the server's text, by PostgreSQL's name."""
    takes: frozenset[Marker]
    """The markers that the zone's mirror takes beyond the published markers (PROTOCOL §5.7)."""
    lineage: bool = False
    name_keys: bool = True


class TableChanges:
    """Takes each table's part of a batch. Different tables may be taken by different threads."""

    def __init__(
        self, files: StreamFolders, loads: Loads, large: StagedPieces, options: ReadOptions
    ) -> None:
        """Args:
        files: where changes land.
        loads: where changes of tables that are loading are staged.
        large: where parts of transactions larger than memory are staged.
        options: how changes are read.
        """
        self._files = files
        self._loads = loads
        self._large = large
        self._options = options

    def take(
        self,
        table: TableState,
        items: Sequence[Changes | Mark],
        now: Fingerprint | None,
        end: LogPlace,
        *,
        is_whole: bool = True,
    ) -> TableOutcome:
        """Land or stage a table's changes, and move its mode on. Raises what the store raises.

        Args:
            table: the table; its mode is another one afterwards, where that changes.
            items: its changes, and first marks of its loads.
            now: the table in the catalogue, as it was read behind the changes; None for a table
                that is gone.
            end: the place up to which the log has come.
            is_whole: whether a transaction ends behind them; otherwise they are staged.
        """
        outcome = TableOutcome()
        if table.mode is not Mode.WAITING:
            changes = (item for item in items if isinstance(item, Changes))
            first = next((one.first for one in changes), end)
            self._compare(table, now, first, outcome)
        for item in items if not outcome.has_ended else ():
            if isinstance(item, Mark):
                self._begin_load(table, item, outcome)
            elif table.mode is Mode.LOADING:
                self._stage(table, item, outcome)
            elif table.mode is Mode.LANDING:
                self._read(table, item, outcome)
            if outcome.has_ended:
                break
        if table.mode is Mode.LANDING and (is_whole or outcome.has_ended):
            self._land(table, outcome)
        elif table.mode is Mode.LANDING:
            self._stage_large(table, outcome)
        if outcome.has_ended:
            table.wait()
            table.waited_with = now
        return outcome

    def land_staged(self, table: TableState, pieces: Iterable[PlacedRows]) -> TableOutcome:
        """Land changes that were staged behind those that the load's file has.

        They were read for the load, which would have found the values that they leave out.
        """
        outcome = TableOutcome()
        for rows in pieces:
            try:
                whole = _before_unavailable(table.path, rows, outcome)
                outcome.pending.append(self._taken(table, whole, outcome))
            except _REFUSALS as error:
                _refuse(table.path, rows.first, error, outcome)
            if outcome.has_ended:
                break
        self._land(table, outcome)
        if outcome.has_ended:
            table.wait()
        return outcome

    def _compare(
        self, table: TableState, now: Fingerprint | None, at: LogPlace, outcome: TableOutcome
    ) -> None:
        """Accept the table as it is now, or let it be loaded again."""
        try:
            self._ask_progress(table)
            why = "it was dropped, or is no table any more" if now is None else None
            if now is not None and now != table.accepted:
                assert table.accepted is not None
                why = stale_rows(parsed(table.accepted), parsed(now), self._ever(table))
        except _REFUSALS as error:
            _refuse(table.path, at, error, outcome)
            return
        if why is not None:
            outcome.anew = at, why
        elif now is not None:
            table.accept(now)

    def _ever(self, table: TableState) -> frozenset[str]:
        """Return the folded names of all columns that the table's files ever had."""
        if table.mode is Mode.LOADING:
            return frozenset()  # all rows are read
        found = self._files.progress(table.path)
        columns = () if found is None else found[1].columns
        return frozenset(fold_case(column.name) for column in columns)

    def _begin_load(self, table: TableState, mark: Mark, outcome: TableOutcome) -> None:
        if table.load is None or table.mode is Mode.LOADING:
            return
        if table.mode is Mode.LANDING:
            self._land(table, outcome)
        begun_with = self._loads.fingerprint(table.load)
        if begun_with is None:
            return  # given up meanwhile
        table.mode, table.known = Mode.LOADING, (begun_with,)
        outcome.begun = (table.load, mark.place)

    def _stage(self, table: TableState, changes: Changes, outcome: TableOutcome) -> None:
        """Keep changes of a table whose rows are being read."""
        assert table.load is not None
        shape = changes.shape
        if isinstance(shape, StopReason):
            _refuse_shape(table, changes, shape, outcome)
            return
        assert shape is not None
        why = strange_rows(changes.relation, list(map(parsed, table.known)))
        if why is not None:
            outcome.anew = changes.first, why
        elif not self._loads.fits(table.load, shape):
            outcome.anew = changes.first, "its definition changed while its rows were read"
        else:
            rows = self._rows(changes, outcome, while_loading=True)
            if rows is not None:
                self._loads.stage(table.load, rows)

    def _read(self, table: TableState, changes: Changes, outcome: TableOutcome) -> None:
        """Read changes that are to land; those that landed before a restart are left out."""
        shape = changes.shape
        try:
            if changes.last <= table.landed:
                return
            if isinstance(shape, StopReason):
                _refuse_shape(table, changes, shape, outcome)
                return
            assert shape is not None
            why = strange_rows(changes.relation, list(map(parsed, table.known)))
            why = why or self._changed(table, shape)
            if why is not None:
                outcome.anew = changes.first, why
                return
            rows = self._rows(changes, outcome, while_loading=False)
            if rows is not None:
                outcome.pending.append(self._taken(table, rows, outcome))
                table.sent = rows.sent
        except _REFUSALS as error:
            _refuse(table.path, changes.first, error, outcome)

    def _rows(
        self, changes: Changes, outcome: TableOutcome, *, while_loading: bool
    ) -> PlacedRows | None:
        options = self._options
        found = read_changes(
            changes,
            options.encoding,
            while_loading=while_loading,
            lineage=options.lineage,
            name_keys=options.name_keys,
        )
        outcome.stop = found.stop
        return found.rows

    def _ask_progress(self, table: TableState) -> None:
        """Find out once how far a table has landed. Raises FolderReplaced where nothing has."""
        if table.mode is Mode.LOADING or table.sent is not None:
            return
        found = self._files.progress(table.path)
        if found is None:
            raise FolderReplaced("its folder was deleted, and with it what landed before")
        table.sent, table.landed = found[0].columns, found[0].place
        if not table.known:
            table.accept(found[0].fingerprint)

    def _changed(self, table: TableState, shape: TableShape) -> str | None:
        """Return why the table has to be loaded again before changes of this shape land."""
        folder = self._files.opened(table.path)
        if not folder.has_keys(shape.keys):
            was = list(folder.metadata.key_columns)
            return f"its key was {was} and is {list(shape.keys)} now"
        now = sent_columns(shape)
        if table.sent is None or table.sent == now:
            return None
        types = {fold_case(column.name): column.delta for column in table.sent}
        for column in now:
            before = types.get(fold_case(column.name), column.delta)
            if before != column.delta and not _are_decimals(before, column.delta):
                return f"column {column.name!r} has another type than before"
        return None

    def _taken(self, table: TableState, rows: PlacedRows, outcome: TableOutcome) -> PlacedRows:
        """Return the rows before the first that the zone's mirror does not take."""
        takes = self._options.takes
        if self._files.opened(table.path).metadata.version_column is not None:
            takes -= {Marker.PARTIAL_UPDATE}
        markers = rows.table.column(ROW_MARKER_COLUMN)
        found: list[int] = []
        if Marker.TRUNCATE not in takes:
            at = pc.index(markers, pa.scalar(Marker.TRUNCATE.value).cast(markers.type)).as_py()
            if at >= 0:
                found.append(at)
                outcome.anew = rows.slice(at).first, "it was emptied (TRUNCATE)"
        if rows.has_partial_updates and Marker.PARTIAL_UPDATE not in takes:
            at = pc.index(pc.starts_with(markers, PARTIAL_UPDATE), pa.scalar(value=True)).as_py()
            if at >= 0 and at < min(found, default=at + 1):
                found.append(at)
                names = absent_columns(markers[at].as_py()) or ("",)
                outcome.anew = None
                outcome.stop = rows.slice(at).first, _unavailable(table.path, names[0])
        return rows.slice(0, min(found)) if found else rows

    def _stage_large(self, table: TableState, outcome: TableOutcome) -> None:
        for rows in outcome.pending:
            if rows.table.num_rows:
                name = self._large.write("transaction", rows.table)
                table.staged.append(
                    StagedChanges(
                        pieces=self._large,
                        name=name,
                        columns=rows.columns,
                        sent=rows.sent,
                        first=rows.first,
                        last=rows.last,
                        has_partial_updates=rows.has_partial_updates,
                    )
                )
        outcome.pending = []

    def _land(self, table: TableState, outcome: TableOutcome) -> None:
        staged, table.staged = table.staged, []
        self._land_pieces(table, outcome, [*staged, *outcome.pending])
        outcome.pending = []
        self._large.remove([piece.name for piece in staged])

    def _land_pieces(
        self, table: TableState, outcome: TableOutcome, pieces: Sequence[PlacedPiece]
    ) -> None:
        pieces = [p for p in pieces if not isinstance(p, PlacedRows) or p.table.num_rows]
        if not pieces:
            return
        try:
            assert table.accepted is not None
            outcome.rows += self._files.land(table.path, pieces, table.accepted)
        except _REFUSALS as error:
            _refuse(table.path, pieces[0].first, error, outcome)


_REFUSALS = (FolderReplaced, OtherPublisher, PublishRefused)


def _refuse_shape(
    table: TableState, changes: Changes, shape: StopReason, outcome: TableOutcome
) -> None:
    """Let a table stop whose rows cannot be read, or be loaded again if the rows are older.

    Rows of an earlier definition may have a type that the catalogue does not have any more. A load
    has the rows of today's definition, and stops the table where those cannot be read either.
    """
    assert table.accepted is not None
    if strange_rows(changes.relation, [parsed(table.accepted)]) is None:
        outcome.stop = changes.first, shape
    else:
        outcome.anew = changes.first, f"rows of an earlier definition came: {shape.detail}"


def _refuse(path: TablePath, at: LogPlace, error: Exception, outcome: TableOutcome) -> None:
    """Let a table stop, or be loaded again where its columns do not fit those of its folder."""
    if isinstance(error, PublishRefused):
        outcome.stop, outcome.anew = None, (at, str(error))
        return
    is_gone = isinstance(error, FolderReplaced)
    code = StopCode.RESNAPSHOT_NEEDED if is_gone else StopCode.CHANGE_REFUSED
    outcome.stop = at, StopReason(code, f"{path}: {error}", TAKE_SNAPSHOT)
    outcome.anew = None


def _are_decimals(*types: ColumnType) -> bool:
    """Return whether these are decimals, of which `stale_rows` lets only the digits grow."""
    return all(one.startswith("decimal") for one in types)


def stopped_anew(path: TablePath, why: str) -> StopReason:
    """Return what the document says of a table that is loaded again by itself."""
    return StopReason(StopCode.RESNAPSHOT_NEEDED, f"{path}: {why}", _BY_ITSELF)


def is_by_itself(stop: StopReason) -> bool:
    """Return whether a table that has stopped so is loaded again without anybody asking."""
    return stop.remedy == _BY_ITSELF


def _before_unavailable(path: TablePath, rows: PlacedRows, outcome: TableOutcome) -> PlacedRows:
    """Return the rows before the first that changes its key and leaves values out.

    No row has the new key yet, from which a mirror could take the values.
    """
    if not rows.has_partial_updates or rows.table.num_rows == 0:
        return rows
    markers = rows.table.column(ROW_MARKER_COLUMN)
    is_partial = pc.starts_with(markers, PARTIAL_UPDATE).to_numpy()
    is_same = np.array(
        [False, *_is_repeated(rows, COMMIT_COLUMN) & _is_repeated(rows, NUMBER_COLUMN)]
    )
    found = np.flatnonzero(is_partial & is_same)
    if not len(found):
        return rows
    at = int(found[0])
    names = absent_columns(markers[at].as_py()) or ("",)
    outcome.stop = rows.slice(at).first, _unavailable(path, names[0])
    return rows.slice(0, at - 1)


def _is_repeated(rows: PlacedRows, column: str) -> np.ndarray:
    """Return, for each row but the first, whether the row before it has the same value."""
    values = rows.table.column(column).to_numpy()
    return np.asarray(values[1:] == values[:-1])


def _unavailable(path: TablePath, column: str) -> StopReason:
    detail = f"{path}: the value of column {column!r} is not in the database's log"
    return StopReason(StopCode.VALUE_UNAVAILABLE, detail, GIVE_WHOLE_ROWS)
