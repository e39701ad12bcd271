"""How one table stands, as the event that workbook and alerts are made of. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

from openmirror.customevent import properties
from openmirror.protocol.names import TableFolder, TableName

EVENT = "OpenmirrorTableStatus"

FIELDS = (
    "Mirror",
    "LandingFolder",
    "SourceSchemaName",
    "SourceTableName",
    "Status",
    "Stage",
    "Health",
    "PendingFiles",
    "OldestPendingSeconds",
    "WaitingFor",
    "WaitingSince",
    "WaitingText",
    "ErrorCode",
    "ErrorMessage",
    "Remedy",
    "ErrorSince",
    "Warnings",
    "LastSequence",
    "LastCommitTime",
)
"""Every property that the event can have."""

_STATE = ("Status", "Stage", "Health", "WaitingFor", "ErrorCode")
_AGES = frozenset({"OldestPendingSeconds"})


class Health(IntEnum):
    """A table's state as one number that an alert can compare."""

    RUNNING = 0
    WARNING = 1
    ERROR = 2
    STOPPED = 3


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How one table stands now."""

    folder: TableFolder
    table: TableName
    status: str
    """Fabric's word."""
    stage: str
    """The word that the status page has."""
    health: Health
    pending_files: int = 0
    oldest_pending_seconds: float = 0.0
    """Age of the oldest file that is not applied; 0 without one."""
    waiting_for: str | None = None
    waiting_since: datetime | None = None
    waiting_text: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    error_since: datetime | None = None
    remedy: str | None = None
    """What to do about the problem, or else about the wait."""
    warnings: tuple[str, ...] = ()
    last_sequence: int | None = None
    last_commit_at: datetime | None = None


def fields(standing: Standing) -> dict[str, str]:
    """The event's properties. Sequences are text, as everywhere."""
    return properties(
        {
            "Mirror": standing.folder.mirror,
            "LandingFolder": str(standing.folder.path),
            "SourceSchemaName": standing.table.schema,
            "SourceTableName": standing.table.table,
            "Status": standing.status,
            "Stage": standing.stage,
            "Health": int(standing.health),
            "PendingFiles": standing.pending_files,
            "OldestPendingSeconds": round(standing.oldest_pending_seconds),
            "WaitingFor": standing.waiting_for,
            "WaitingSince": standing.waiting_since,
            "WaitingText": standing.waiting_text,
            "ErrorCode": standing.error_code,
            "ErrorMessage": standing.error_message,
            "Remedy": standing.remedy,
            "ErrorSince": standing.error_since,
            "Warnings": "\n".join(standing.warnings),
            "LastSequence": standing.last_sequence,
            "LastCommitTime": standing.last_commit_at,
        }
    )


def state(told: Mapping[str, str]) -> tuple[str | None, ...]:
    """What of the event a person would call another state."""
    return tuple(told.get(name) for name in _STATE)


def without_ages(told: Mapping[str, str]) -> dict[str, str]:
    """The event without what grows by itself, which is no change."""
    return {name: value for name, value in told.items() if name not in _AGES}
