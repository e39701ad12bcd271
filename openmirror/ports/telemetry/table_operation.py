"""What happened to a table, with the field names of Fabric's log of mirrored tables.

Pure. Each operation has an identity made of what it was about, so that a process that emits it
once more, after a crash or beside another runner, emits the same one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from uuid import UUID, uuid5

from openmirror.errors import Problem
from openmirror.protocol.names import TableFolder, TableName
from openmirror.protocol.rules import Code
from openmirror.table.control import BatchKind
from openmirror.table.log import AppId
from openmirror.table.phases import Phase, Phases

EVENT = "MirroredDatabaseTableExecution"
"""The name of Fabric's log, which our events carry so that queries made for it go on working."""
FIELDS = (
    "OperationName",
    "OperationStartTime",
    "OperationEndTime",
    "SourceSchemaName",
    "SourceTableName",
    "ProcessedRows",
    "ProcessedBytes",
    "ReplicatorBatchLatency",
    "ErrorType",
    "ErrorMessage",
    "MirroringSourceType",
    "ErrorCode",
    "Mirror",
    "LandingFolder",
    "OperationId",
    "Epoch",
    "FirstSequence",
    "LastSequence",
    "Inserts",
    "Updates",
    "Deletes",
    "WaitSeconds",
    "ListSeconds",
    "InspectSeconds",
    "PlanSeconds",
    "ReadSeconds",
    "FoldSeconds",
    "CommitSeconds",
    "Correlation",
)
"""Every property that the event can have: Fabric's fields first, then ours."""
SOURCE_TYPE = "GenericMirror"
"""What Fabric's item definition calls a source of open mirroring."""

_IDENTITIES = UUID("5d0a6a0c-0f35-5f5c-9f0b-6d1c2f7f6f11")


class OperationName(StrEnum):
    """Fabric's own names; docs/OPERATIONS.md says what each means here."""

    ADD_TABLE = "AddTable"
    REPLICATING_SCHEMA = "ReplicatingSchema"
    START_SNAPSHOTTING = "StartSnapshotting"
    SNAPSHOTTING = "Snapshotting"
    START_REPLICATING = "StartReplicating"
    REPLICATING = "Replicating"
    START_RESEEDING = "StartReseeding"
    FAIL_TABLE = "FailTable"
    REMOVE_TABLE = "RemoveTable"
    STOP_TABLE = "StopTable"


class ErrorType(StrEnum):
    """Whose error it is."""

    USER = "UserError"
    SYSTEM = "SystemError"


_SYSTEM_ERRORS = frozenset(
    {Code.APPLY_FAILED, Code.TABLE_LOG_BROKEN, Code.CONTROL_DOCUMENT_INVALID}
)


@dataclass(frozen=True)
class OperationError:
    """Why a table failed."""

    type: ErrorType
    code: str
    message: str
    """With the file in question and the remedy."""


def error_of(problem: Problem) -> OperationError:
    """A problem as the log has it."""
    system = problem.code in _SYSTEM_ERRORS
    where = f"{problem.file}: " if problem.file and problem.file not in problem.detail else ""
    return OperationError(
        ErrorType.SYSTEM if system else ErrorType.USER,
        problem.code.value,
        f"{where}{problem.detail.rstrip('.')}. {problem.solution}",
    )


@dataclass(frozen=True, kw_only=True)
class TableOperation:
    """One thing that happened to one table."""

    name: OperationName
    folder: TableFolder
    table: TableName
    subject: tuple[object, ...]
    """What no other of its name and table has: epoch, file range, cause."""
    started_at: datetime
    ended_at: datetime
    epoch: AppId | None = None
    first: int | None = None
    last: int | None = None
    rows: Mapping[str, int] = field(default_factory=dict)
    """Change rows by kind."""
    bytes: int = 0
    latency_seconds: float | None = None
    """From the landing of the oldest file to the commit."""
    wait_seconds: float | None = None
    """From the landing of the oldest file until it was begun."""
    phases: Phases = field(default_factory=dict)
    """What each phase of a commit took."""
    error: OperationError | None = None
    correlation: str = ""
    """The newest event that was heard of for the table before, where one is known."""

    @property
    def identity(self) -> str:
        """The same whenever this operation is emitted, by whatever process."""
        return identity(self.name, self.folder, *self.subject)

    @property
    def processed_rows(self) -> int:
        """Change rows of all kinds."""
        return sum(self.rows.values())

    @property
    def seconds(self) -> float:
        """How long it took."""
        return max(0.0, (self.ended_at - self.started_at).total_seconds())

    def correlated(self, correlation: str) -> TableOperation:
        """The same operation, with the event that it came of."""
        return replace(self, correlation=correlation)


def identity(name: OperationName, folder: TableFolder, *subject: object) -> str:
    """What an operation of this name, table and subject is known by."""
    parts = (name.value, str(folder), *(str(part) for part in subject))
    return str(uuid5(_IDENTITIES, "\n".join(parts)))


def commit_of(kind: BatchKind) -> OperationName:
    """What a commit of such a batch is called."""
    replaces = kind is BatchKind.REPLACE
    return OperationName.SNAPSHOTTING if replaces else OperationName.REPLICATING


def fields(operation: TableOperation) -> dict[str, str | int | float]:
    """The operation as one flat record: Fabric's fields first, then ours.

    What has no value is left out. Sequences are text, since they may exceed what readers of
    numbers hold exactly.
    """
    error = operation.error
    record: dict[str, str | int | float | None] = {
        "OperationName": operation.name.value,
        "OperationStartTime": _iso(operation.started_at),
        "OperationEndTime": _iso(operation.ended_at),
        "SourceSchemaName": operation.table.schema,
        "SourceTableName": operation.table.table,
        "ProcessedRows": operation.processed_rows,
        "ProcessedBytes": operation.bytes,
        "ReplicatorBatchLatency": operation.latency_seconds,
        "ErrorType": error.type.value if error else None,
        "ErrorMessage": error.message if error else None,
        "MirroringSourceType": SOURCE_TYPE,
        "ErrorCode": error.code if error else None,
        "Mirror": operation.folder.mirror,
        "LandingFolder": str(operation.folder.path),
        "OperationId": operation.identity,
        "Epoch": operation.epoch,
        "FirstSequence": None if operation.first is None else str(operation.first),
        "LastSequence": None if operation.last is None else str(operation.last),
        "Inserts": operation.rows.get("inserts"),
        "Updates": operation.rows.get("updates"),
        "Deletes": operation.rows.get("deletes"),
        "WaitSeconds": operation.wait_seconds,
        "ListSeconds": operation.phases.get(Phase.LIST),
        "InspectSeconds": operation.phases.get(Phase.INSPECT),
        "PlanSeconds": operation.phases.get(Phase.PLAN),
        "ReadSeconds": operation.phases.get(Phase.READ),
        "FoldSeconds": operation.phases.get(Phase.FOLD),
        "CommitSeconds": operation.phases.get(Phase.COMMIT),
        "Correlation": operation.correlation or None,
    }
    return {name: value for name, value in record.items() if value is not None}


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"
