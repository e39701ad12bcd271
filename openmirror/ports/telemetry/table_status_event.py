"""The status of one table, as the event that workbook and alerts are made of. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

from openmirror.ports.telemetry.custom_event import properties
from openmirror.protocol.names import TableFolder, TableName
from openmirror.protocol.partner import Partner

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
    "PublisherName",
    "PublisherSource",
    "PublisherVersion",
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
class TableStatusEvent:
    """The status of one table now."""

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
    publisher: Partner | None = None
    """Who publishes into its mirror, as it says itself."""


def fields(recorded: TableStatusEvent) -> dict[str, str]:
    """The event's properties. Sequences are text, as everywhere."""
    who = recorded.publisher or Partner()
    return properties(
        {
            "Mirror": recorded.folder.mirror,
            "LandingFolder": str(recorded.folder.path),
            "SourceSchemaName": recorded.table.schema,
            "SourceTableName": recorded.table.table,
            "Status": recorded.status,
            "Stage": recorded.stage,
            "Health": int(recorded.health),
            "PendingFiles": recorded.pending_files,
            "OldestPendingSeconds": round(recorded.oldest_pending_seconds),
            "WaitingFor": recorded.waiting_for,
            "WaitingSince": recorded.waiting_since,
            "WaitingText": recorded.waiting_text,
            "ErrorCode": recorded.error_code,
            "ErrorMessage": recorded.error_message,
            "Remedy": recorded.remedy,
            "ErrorSince": recorded.error_since,
            "Warnings": "\n".join(recorded.warnings),
            "LastSequence": recorded.last_sequence,
            "LastCommitTime": recorded.last_commit_at,
            "PublisherName": who.name or None,
            "PublisherSource": who.source_type or None,
            "PublisherVersion": who.source_version or None,
        }
    )


def state(event: Mapping[str, str]) -> tuple[str | None, ...]:
    """The properties that make two events different states for a person."""
    return tuple(event.get(name) for name in _STATE)


def without_ages(event: Mapping[str, str]) -> dict[str, str]:
    """The event without what grows by itself, which is no change."""
    return {name: value for name, value in event.items() if name not in _AGES}
