"""What happens to one table, or to one mirror."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from openmirror.plan.decisions import WaitKind
from openmirror.progress.base import MirrorEvent, Severity, TableEvent
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import Position, Sequence
from openmirror.table.control import BatchKind, StepKind
from openmirror.table.layout import StorePath
from openmirror.table.phases import Phase, Phases


@dataclass(frozen=True)
class BatchStarted(TableEvent):
    """A planned batch is about to be read. Debug: how it ends is an event of its own."""

    name = "batch-started"
    severity = Severity.DEBUG

    first: Sequence
    last: Position
    files: int


@dataclass(frozen=True, kw_only=True)
class BatchCommitted(TableEvent):
    """The table's log has the commit of this batch. Info."""

    name = "batch-committed"
    severity = Severity.INFO

    kind: BatchKind
    first: Sequence
    last: Position
    files: int
    inserts: int
    updates: int
    deletes: int
    bytes: int
    """Size of the change files."""
    duration_seconds: float
    """From the first read of the batch to its commit."""
    lag_seconds: float | None
    """From the landing of the oldest file to the commit; None when no file has a time."""
    wait_seconds: float | None
    """From the landing of the oldest file until it was begun; what follows is each `Phase`."""
    list_seconds: float
    inspect_seconds: float
    plan_seconds: float
    read_seconds: float
    fold_seconds: float
    commit_seconds: float
    operation_id: str
    """The identity that telemetry has for the same commit."""

    @property
    def rows(self) -> int:
        """All change rows of the batch."""
        return self.inserts + self.updates + self.deletes

    @property
    def phases(self) -> Phases:
        """What each phase took."""
        return {
            Phase.LIST: self.list_seconds,
            Phase.INSPECT: self.inspect_seconds,
            Phase.PLAN: self.plan_seconds,
            Phase.READ: self.read_seconds,
            Phase.FOLD: self.fold_seconds,
            Phase.COMMIT: self.commit_seconds,
        }


@dataclass(frozen=True)
class AttemptFailed(TableEvent):
    """An attempt to reconcile the table failed, not by its data.

    Warning: it is tried again after a delay, and what stops the table at last is `TablePaused`.
    """

    name = "attempt-failed"
    severity = Severity.WARNING

    attempt: int
    """How many failed in a row on the same files, this one among them."""
    error: str


@dataclass(frozen=True)
class TablePaused(TableEvent):
    """A problem was written down that stops the table, or stops it in front of one file.

    Error: a publisher or an operator has to correct something before it goes on.
    """

    name = "table-paused"
    severity = Severity.ERROR

    code: Code
    detail: str
    file: str | None = None


@dataclass(frozen=True)
class TableWaiting(TableEvent):
    """The table does not go on now, and will once what it waits for has come.

    Emitted by each reconciliation. Info: most waits are part of a publisher's normal work, and
    status warns of those that last.
    """

    name = "table-waiting"
    severity = Severity.INFO

    kind: WaitKind
    detail: str
    until: datetime | None = None
    """When it ends at the latest; None when that rests with others."""


@dataclass(frozen=True)
class FilesNeverRead(TableEvent):
    """Something lies in the folder like changes that were sent, and is no change file.

    Emitted by each reconciliation. Warning: the table goes on, and whoever sent it may not know.
    """

    name = "files-never-read"
    severity = Severity.WARNING

    file: str
    """The first of those with this reason."""
    detail: str


@dataclass(frozen=True)
class TableDropped(TableEvent):
    """The folder is gone for good, so the table was closed and moved away.

    Info: deleting the folder is how a publisher asks for it, and a mirror that would lose many
    tables at once asks a person first.
    """

    name = "table-dropped"
    severity = Severity.INFO

    retained_at: StorePath
    """Where it lies until its retention ends."""


@dataclass(frozen=True)
class TableRestored(TableEvent):
    """A dropped table was moved back to its place. Info."""

    name = "table-restored"
    severity = Severity.INFO

    held: bool
    """Whether an operator asked for it, so that it stays as it is until resumed."""


@dataclass(frozen=True)
class TableCleaned(TableEvent):
    """Cleanup found something to do. Info."""

    name = "table-cleaned"
    severity = Severity.INFO

    archived: int
    """Applied files that were moved to the archive folder."""
    purged: int
    """Files that were deleted from there."""
    dropped_table_deleted: bool
    """Whether the retention of a dropped table had ended."""


@dataclass(frozen=True, kw_only=True)
class TableMaintained(TableEvent):
    """A step of maintenance is done. Info."""

    name = "table-maintained"
    severity = Severity.INFO

    step: StepKind
    files: int
    """Files that were to be put together, or deleted, by the plan."""
    bytes: int
    duration_seconds: float
    live_files: int | None
    """Of the table, as the survey found it that the step came of; None for a step without one."""
    live_bytes: int | None
    deleted_rows: int | None
    """Rows in live files that deletion vectors mark as deleted."""
    dead_files: int | None
    """Files that left the table and are not deleted yet."""
    dead_bytes: int | None


@dataclass(frozen=True)
class MaintenanceFailed(TableEvent):
    """A step of maintenance ended in an error.

    Warning: the table is applied all the same, and the step is tried again after a delay.
    """

    name = "maintenance-failed"
    severity = Severity.WARNING

    step: StepKind
    error: str


@dataclass(frozen=True)
class TableUnreadable(TableEvent):
    """The table could not be observed. Warning: the next sweep tries again, if nobody else does."""

    name = "table-unreadable"
    severity = Severity.WARNING

    reason: str


@dataclass(frozen=True)
class ControlDocumentInvalid(TableEvent):
    """A document that the table depends on is damaged, too new, or cannot be called after it.

    Error: nothing is written over it, so a person has to put it right.
    """

    name = "control-document-invalid"
    severity = Severity.ERROR

    code: Code
    reason: str


@dataclass(frozen=True)
class TableContended(TableEvent):
    """The table changed under so many attempts in a row that a drain leaves it.

    Warning: whoever reconciles it next begins anew.
    """

    name = "table-contended"
    severity = Severity.WARNING

    attempts: int


@dataclass(frozen=True)
class RegistrationFailed(TableEvent):
    """The catalog does not have the table after its commit.

    Warning: the table is applied all the same, and a later commit tries again.
    """

    name = "registration-failed"
    severity = Severity.WARNING

    reason: str


@dataclass(frozen=True)
class MirrorUnreadable(MirrorEvent):
    """The mirror's landing zone or document cannot be read, or the folder of one of its schemas.

    Error: nothing is concluded of the tables there; none goes on until it can be read again.
    """

    name = "mirror-unreadable"
    severity = Severity.ERROR

    reason: str


@dataclass(frozen=True)
class LeftoverCleanupFailed(MirrorEvent):
    """Remains of broken-off conversions could not be deleted.

    Warning: they cost space and nothing else, and the next cleanup tries again.
    """

    name = "leftover-cleanup-failed"
    severity = Severity.WARNING

    reason: str
