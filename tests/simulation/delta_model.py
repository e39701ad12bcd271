"""Delta, modelled as weakly as the design may rely on: transactions, conflicts, one log a path.

A commit is skipped when the log has its appId at the offered version or later when the commit
starts. It conflicts only when another commit touched the same appId or replaced the table between
its start and its end. Everything else lands, in any order.

A log belongs to its `_delta_log` folder in the store, so whoever moves or deletes the table's
folder moves or deletes the log with it, at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import NamedTuple

from openmirror.errors import ConditionFailed
from openmirror.plan import Batch
from openmirror.plan.history import VERSIONS
from openmirror.plan.maintenance_steps import MaintenanceStep, TableFiles, Vacuum
from openmirror.plan.soft_deletes import MARKS
from openmirror.ports import BadFile, CommitResult, Counts, Transaction
from openmirror.protocol.checksums import Checksum
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.sequence import FENCED, START, Position, Sequence
from openmirror.stores.memory.files import MemoryStore
from openmirror.table import layout, user_metadata
from openmirror.table.control import BatchKind
from openmirror.table.layout import StorePath, join
from openmirror.table.log import AppId, BatchRecord, Epoch, TableLog
from openmirror.table.phases import Phases
from tests.simulation.data_files import DataFiles

Stall = Callable[[str, object], None]
"""Called with every effect just before it; the scheduler may let others go first."""


UNFINISHED = b"..."
"""What a simulated change file holds for as long as it is being written."""
DAMAGED = b"!!!"
"""What it holds until its publisher replaces it by a good one."""


class InjectedError(Exception):
    """A failure of the engine that the simulation made up."""


class Row(NamedTuple):
    """One change as it lies in the table: whose file it was, and which content of it."""

    incarnation: str
    sequence: int
    """Which file it was: its number, or where its name says none, the publisher's own count."""
    content: int
    place: int
    """The file's place in the table's order."""


def row_of(data: bytes, place: int) -> Row:
    """The one change in a simulated change file."""
    incarnation, sequence, content = data.split()
    return Row(incarnation.decode(), int(sequence), int(content), place)


@dataclass(slots=True)
class Log:
    """One log: what it holds, and what was done to it."""

    identity: int
    table_id: str
    schema: TableSchema
    version: int = -1
    transactions: dict[AppId, Position] = field(default_factory=dict)
    before: dict[AppId, Position] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    touched: list[tuple[AppId, bool]] = field(default_factory=list)
    batch_record: BatchRecord | None = None
    dropped_with: frozenset[AppId] = frozenset()
    """What was in the log when the table was last dropped: none of it may add anything."""
    seen: TableLog | None = None
    data: DataFiles = field(default_factory=DataFiles)
    properties: dict[str, str] = field(default_factory=dict)
    """Those of ours."""
    marks: bool = False
    """Whether a row may be marked as deleted."""
    at: dict[int, list[Row]] = field(default_factory=dict)
    """Its rows at each version that changed them."""

    @property
    def live(self) -> list[AppId]:
        """Every epoch that is not fenced; more than one is an error."""
        return [app for app, version in self.transactions.items() if version != FENCED]


class ModelPrepared:
    """A batch as it was read."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows

    @property
    def counts(self) -> Counts:
        return Counts(inserts=len(self.rows))

    @property
    def checksums(self) -> dict[Sequence, Checksum]:
        return {}

    @property
    def phases(self) -> Phases:
        return {}

    @property
    def asks_table(self) -> bool:
        return False

    def release(self) -> None:
        """Nothing is held."""


class ModelDelta:
    """The TableEngine port over a model of Delta's logs; `ModelLogs` reads them.

    `wrong` is called when a commit broke what must hold for every table at every moment.
    """

    def __init__(
        self,
        store: MemoryStore,
        stall: Stall,
        wrong: Callable[[str], None],
        landed: Callable[[Epoch, list[Row]], None],
        rng: Random,
    ) -> None:
        self.store = store
        self.stall = stall
        self._wrong = wrong
        self._landed = landed
        self._rng = rng
        self._logs: dict[str, Log] = {}
        self._count = 0
        self._files = 0
        self.reads = 0
        self._decided: dict[tuple[AppId, Position], datetime | None] = {}
        """Of each batch whose rows have a time, when it was decided."""
        self.now: Callable[[], datetime] = lambda: datetime(2026, 1, 1, tzinfo=UTC)
        self.size: Callable[[], int] = lambda: 1000
        """Of the file that a batch writes, in bytes."""
        self.takes_out: Callable[[], bool] = lambda: False
        """Whether a batch writes an older file anew as well, as a MERGE does."""
        self.failing = 0.0
        """How often an engine call fails, before or after its effect."""

    def log_at(self, table: StorePath) -> Log | None:
        """The log at this path, as it is."""
        folder = self.store.incarnation(join(table, "_delta_log"))
        return self._logs.get(folder) if folder is not None else None

    def moved_to_dropped(self, table: StorePath) -> None:
        """Remember what the log held when it was moved to the dropped tables.

        A runner that stalls just before the move may take along the epoch of a folder that has
        come back since. Nothing is lost by it: the next reconcile moves the table back, and that
        epoch goes on. Every other epoch must have been fenced.
        """
        log = self.log_at(table)
        if log is not None:
            log.dropped_with = frozenset(
                app
                for app in log.transactions
                if (epoch := Epoch.parse(app))
                and epoch.incarnation != self.store.incarnation(layout.table_folder(epoch.folder))
            )

    def read_log(self, table: StorePath) -> TableLog | None:
        self.stall("log", table)
        log = self.log_at(table)
        if log is None:
            return None
        seen = log.seen
        if seen is None or seen.path != table:
            before = {} if log.live else dict(log.before)
            seen = log.seen = TableLog(
                path=table,
                table_id=log.table_id,
                version=log.version,
                transactions=dict(log.transactions),
                schema=log.schema,
                before_fence=before,
                batch_record=log.batch_record,
                properties=dict(log.properties),
            )
        return seen

    def read(self, batch: Batch) -> ModelPrepared | BadFile:
        rows = []
        self.reads += 1
        for file in batch.files:
            self.stall("file", file.path)
            data = self.store.read(file.path).data
            if data in (UNFINISHED, DAMAGED):
                broken = Broken(Code.FILE_UNREADABLE, "it cannot be read")
                return BadFile(file.name, broken)
            rows.append(row_of(data, file.sequence))
        self._may_fail()
        return ModelPrepared(rows)

    def commit(
        self, batch: Batch, prepared: ModelPrepared, transaction: Transaction, batch_record: str
    ) -> CommitResult:
        replaces = batch.kind is BatchKind.REPLACE
        may_create = replaces and batch.may_create
        rows = prepared.rows
        self._before(batch, transaction)
        if begins := batch.begins:
            self.stall("current", begins.table)
            current = self.log_at(begins.table)
            if current is None or current.table_id != begins.table_id:
                raise ConditionFailed(begins.table)
            rows = current.at[max(v for v in current.at if v <= begins.version)]
        result = self._transact(
            batch.table,
            transaction,
            create=batch.union.schema if may_create else None,
            schema=batch.union.schema,
            replaces=replaces,
            rows=rows,
            batch_record=user_metadata.decode(batch_record),
            batch=batch,
        )
        self._may_fail()
        return result

    def _before(self, batch: Batch, transaction: Transaction) -> None:
        """A batch has one time in each attempt; the table's properties come before its rows."""
        if batch.soft is not None:
            of = transaction.app_id, transaction.version
            if self._decided.setdefault(of, batch.decided_at) != batch.decided_at:
                self._wrong(f"{of} has another time in another attempt: {batch.decided_at}")
        own = _own_properties(batch)
        if batch.kind is BatchKind.EXTEND and own:
            self.stall("alter", batch.table)
            log = self.log_at(batch.table)
            if log is not None:
                log.properties |= own
                log.touched.append((AppId(""), False))
                log.version += 1
                log.seen = None

    def _marked(self, log: Log, batch: Batch, *, replaces: bool) -> None:
        """What a batch makes of a table's rows that may be marked, as the engine would."""
        if replaces:
            log.properties, log.marks = _own_properties(batch), False
        if batch.hardens:
            log.properties.pop(MARKS.property, None)
            log.marks = False
        if log.marks and batch.soft is None:
            self._wrong("a batch takes marked rows for live ones")
        if batch.soft is not None and log.properties.get(MARKS.property) != MARKS.value:
            self._wrong("rows are marked in a table whose log does not say so")
        log.marks = log.marks or batch.soft is not None

    def commit_without_rows(
        self, table: StorePath, transaction: Transaction, create: TableSchema | None = None
    ) -> CommitResult:
        result = self._transact(table, transaction, create=create)
        self._may_fail()
        return result

    def maintain(self, table: StorePath, step: MaintenanceStep) -> CommitResult:
        """Commits that carry no transaction: they change no row, and no position."""
        self.stall("begin", step)
        self._may_fail()
        start = self.log_at(table)
        if start is None:
            self.stall("end", step)
            return CommitResult.MISSING
        at, file = start.version, None
        if isinstance(step, Vacuum):
            taken = start.data.to_delete(step, self.now())
        else:
            taken = start.data.taken_by(step)
            file = self._written(start, sum(start.data.sizes[one] for one in taken))
        self.stall("end", step)
        if self.log_at(table) is not start:
            return CommitResult.MISSING
        if file is None:
            start.data.delete(taken, self.now(), self._wrong)
        else:
            replaced = any(whole for _, whole in start.touched[at + 1 :])
            if replaced or not taken <= start.data.live:
                return CommitResult.CONFLICT
            start.data.remove(taken, self.now())
            start.data.add(file, self._wrong)
        start.touched.append((AppId(""), False))
        start.version += 1
        start.seen = None
        self._may_fail()
        return CommitResult.DONE

    def _written(self, log: Log | None, size: int) -> int:
        """A data file that no version names yet."""
        self._files += 1
        if log is not None:
            log.data.there[self._files] = self.now()
            log.data.sizes[self._files] = size
        return self._files

    def _transact(
        self,
        table: StorePath,
        transaction: Transaction,
        *,
        create: TableSchema | None,
        schema: TableSchema | None = None,
        replaces: bool = False,
        rows: list[Row] | None = None,
        batch_record: BatchRecord | None = None,
        batch: Batch | None = None,
    ) -> CommitResult:
        app, version = transaction.app_id, transaction.version
        self.stall("begin", app)
        self._may_fail()
        start = self.log_at(table)
        at = start.version if start else -1
        if start is not None and start.transactions.get(app, START - 1) >= version:
            return CommitResult.DONE
        size = self.size()
        file = self._written(start, size) if rows else None
        takes_out = rows and start is not None and start.data.live and self.takes_out()
        taken = {min(start.data.live)} if start is not None and takes_out else set()
        self.stall("end", app)
        log = self.log_at(table)
        if start is None:
            if create is None:
                return CommitResult.MISSING
            if log is not None:
                return CommitResult.CONFLICT
            log = self._made(table, create)
            if file is not None:
                log.data.there[file] = self.now()
                log.data.sizes[file] = size
        elif log is not start:
            return CommitResult.MISSING
        elif (
            any(a == app or replaced for a, replaced in log.touched[at + 1 :])
            or not taken <= log.data.live
        ):
            return CommitResult.CONFLICT
        if version == FENCED:
            log.before[app] = log.transactions.get(app, START)
        if replaces:
            self._count += 1
            log.table_id = f"table-{self._count}"
            log.rows = []
            taken = set(log.data.live)
        log.data.remove(taken, self.now())
        if file is not None:
            log.data.add(file, self._wrong)
        if rows and app in log.dropped_with:
            self._wrong(f"{app} changed a table after it was dropped")
        if rows:
            log.rows = log.rows + rows
        if schema is not None:
            log.schema = schema
        if batch is not None:
            self._marked(log, batch, replaces=replaces)
        log.transactions[app] = version
        log.touched.append((app, replaces))
        log.version += 1
        log.at[log.version] = log.rows
        log.batch_record = batch_record or log.batch_record
        log.seen = None
        self._check(log)
        epoch = Epoch.parse(app)
        if rows and epoch is not None:
            self._landed(epoch, log.rows)
        return CommitResult.DONE

    def _made(self, table: StorePath, schema: TableSchema) -> Log:
        folder = join(table, "_delta_log")
        self.store.make_folder(folder)
        self._count += 1
        log = Log(self._count, f"table-{self._count}", schema)
        identity = self.store.incarnation(folder)
        assert identity is not None
        self._logs[identity] = log
        return log

    def _may_fail(self) -> None:
        if self.failing and self._rng.random() < self.failing:
            raise InjectedError("the engine failed")

    def _check(self, log: Log) -> None:
        live = log.live
        if len(live) > 1:
            self._wrong(f"two live epochs: {', '.join(live)}")
        if len(live) != 1:
            return
        epoch = Epoch.parse(live[0])
        assert epoch is not None
        numbers = [row.place for row in log.rows]
        files = {row.sequence for row in log.rows}
        if any(row.incarnation != epoch.incarnation for row in log.rows):
            self._wrong(f"a row of another incarnation under {live[0]}: {log.rows}")
        elif len(files) < len(numbers):
            self._wrong(f"a row twice: {log.rows}")
        elif numbers != sorted(numbers):
            self._wrong(f"rows out of order: {numbers}")
        elif numbers != list(range(1, log.transactions[live[0]] + 1)):
            self._wrong(f"{live[0]} is at {log.transactions[live[0]]}, but the rows are {numbers}")


def _own_properties(batch: Batch) -> dict[str, str]:
    ours = (MARKS.property, VERSIONS.property)
    return {name: value for name, value in batch.features.properties if name in ours}


class ModelLogs:
    """The LogReader port over the same logs."""

    def __init__(self, delta: ModelDelta) -> None:
        self._delta = delta

    def read(self, table: StorePath) -> TableLog | None:
        return self._delta.read_log(table)


class ModelFiles:
    """The DataFilesReader port over them."""

    def __init__(self, delta: ModelDelta) -> None:
        self._delta = delta

    def data_files(self, table: StorePath) -> TableFiles | None:
        self._delta.stall("data files", table)
        log = self._delta.log_at(table)
        return log.data.surveyed(log.version) if log else None

    def swept(self, table: StorePath, through: datetime) -> None:
        """Its VACUUMs go by no note."""
