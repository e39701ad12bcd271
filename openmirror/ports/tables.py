"""Delta tables: reading their logs, and committing to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from openmirror.plan import Batch
from openmirror.plan.maintenance_steps import MaintenanceStep, TableFiles
from openmirror.protocol.checksums import Checksum
from openmirror.protocol.rules import Broken
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.sequence import Position, Sequence
from openmirror.table.control import Truncated
from openmirror.table.layout import StorePath
from openmirror.table.log import AppId, BatchRecord, BrokenLog, TableLog
from openmirror.table.past import Past
from openmirror.table.phases import Phases


class LogReader(Protocol):
    """Reads Delta logs."""

    def read(self, table: StorePath) -> TableLog | BrokenLog | None:
        """The newest state of the log at this path; None when there is no table."""
        ...


class HistoryReader(Protocol):
    """Reads what commits of ours wrote about themselves into a Delta log."""

    def history(self, table: StorePath, limit: int) -> list[BatchRecord]:
        """Our newest commits that are still in the log, newest first; none without a table."""
        ...


class DataFilesReader(Protocol):
    """Reads which data files a Delta log names: seldom, for it costs as much as they are many."""

    def data_files(self, table: StorePath) -> TableFiles | BrokenLog | None:
        """The files at the newest version of the log at this path; None without a table.

        Raises NotThere or ConditionFailed when the log is another one each time: observe again.
        """
        ...

    def swept(self, table: StorePath, through: datetime) -> None:
        """A VACUUM has listed the folder, and deleted all that was removed before `through`.

        Delta notes how far a VACUUM that goes by the log has come, and one that lists the folder
        has it forget that. This notes it again, so that the next one may go by the log. Raises
        Unavailable and AccessDenied.
        """
        ...


class PastReader(Protocol):
    """Reads a table's past: every version that its log has, and whether its files are there."""

    def past(self, table: StorePath) -> Past | None:
        """The past of the table at this path; None where there is no log.

        It costs as much as the log is long, and a listing of the table's folder. Raises NotThere
        or ConditionFailed when the log is another one each time: ask again.
        """
        ...


class NoDataFiles:
    """DataFilesReader of a process that maintains nothing."""

    def data_files(self, table: StorePath) -> TableFiles | BrokenLog | None:  # noqa: ARG002 - a port's
        """Nothing, as if there were no table."""
        return None

    def swept(self, table: StorePath, through: datetime) -> None:
        """Nothing to note."""


@dataclass(frozen=True)
class BadFile:
    """A file whose data breaks a rule, found by reading it."""

    name: str
    broken: Broken


@dataclass(frozen=True)
class Counts:
    """What a batch holds."""

    inserts: int = 0
    updates: int = 0
    deletes: int = 0
    first_truncated: Truncated | None = None
    """The first time in it that lost what is finer than a microsecond, as far as that is known."""

    @property
    def operations(self) -> int:
        """All rows of the batch's files."""
        return self.inserts + self.updates + self.deletes

    @property
    def only_inserts(self) -> bool:
        """Whether no row needs a key."""
        return self.operations == self.inserts


class Prepared(Protocol):
    """A batch that was read whole and is held by the engine; later changes cannot reach it."""

    @property
    def counts(self) -> Counts:
        """Rows by kind."""
        ...

    @property
    def checksums(self) -> Mapping[Sequence, Checksum]:
        """Those of change files whose bytes were all read on this side of the engine."""
        ...

    @property
    def phases(self) -> Phases:
        """How the time until it was prepared divides; what is not in it was reading."""
        ...

    @property
    def asks_table(self) -> bool:
        """Whether the rows that the table had when it was read were asked for it to be right."""
        ...

    def release(self) -> None:
        """Let go of what is held; harmless when done twice."""
        ...


class CommitResult(StrEnum):
    """How an attempt to commit ended."""

    DONE = "done"
    """The log now has this version, or a later one, under this appId. By whose commit, only the
    log shows: a repetition is skipped in silence."""
    CONFLICT = "conflict"
    """Another commit came between; nothing was written. Observe the table again."""
    MISSING = "missing"
    """There is no table at the path, and this commit may not create one. Observe it again."""


@dataclass(frozen=True)
class Transaction:
    """What makes a commit happen once: its appId and its version there."""

    app_id: AppId
    version: Position


class TableEngine(Protocol):
    """Reads change files and commits to Delta tables; each commit carries one transaction.

    A commit whose transaction the log already has at the same or a later version changes nothing,
    and its answer is DONE as well: who wants to know whose commit the log has must read it. Two
    commits of one appId never both land when they overlap.
    """

    def read(self, batch: Batch) -> Prepared | BadFile:
        """Read and hold every change of a batch, or name the first file that breaks a rule.

        Raises NotThere when a file has gone meanwhile.
        """
        ...

    def commit(
        self, batch: Batch, prepared: Prepared, transaction: Transaction, batch_record: str
    ) -> CommitResult:
        """Apply a batch in one commit. Only a replace may create the table.

        Raises ConditionFailed where a history begins with a table that is another one by now.
        """
        ...

    def commit_without_rows(
        self, table: StorePath, transaction: Transaction, create: TableSchema | None = None
    ) -> CommitResult:
        """Commit a transaction that changes no row: a fence, or an epoch that continues.

        With `create`, a missing table is created empty with that schema in the same commit.
        """
        ...

    def maintain(self, table: StorePath, step: MaintenanceStep) -> CommitResult:
        """Do one step of maintenance, in commits of its own that carry no transaction of ours.

        No row changes, and no file that a version of the table needs is deleted before its time.
        A step that finds nothing to do is DONE as well.
        """
        ...
