"""The status of one stream of a database, as the event that alerts are made of. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from openmirror.ports.telemetry.custom_event import properties
from openmirror.ports.telemetry.table_status_event import Health

EVENT = "OpenmirrorStreamStatus"

FIELDS = (
    "Mirror",
    "Stream",
    "State",
    "Since",
    "Health",
    "Warnings",
    "RecordsBehind",
    "SecondsBehind",
    "BytesBehind",
    "SourceKeeps",
    "LandedTo",
    "Tables",
    "StoppedTables",
    "ReportedAt",
)
"""Every property that the event can have."""

_STATE = ("State", "Health", "StoppedTables")
_AGES = frozenset({"ReportedAt"})


@dataclass(frozen=True, kw_only=True)
class StreamStatusEvent:
    """How one stream is now."""

    mirror: str
    stream: str
    state: str
    """What its relay says that it is doing; `Unknown` where none has reported anything."""
    health: Health
    since: datetime | None = None
    """Since when its relay has been doing that."""
    warnings: tuple[str, ...] = ()
    records_behind: int | None = None
    seconds_behind: float | None = None
    bytes_behind: int | None = None
    source_keeps: int | None = None
    """Bytes of its log that the database keeps for it."""
    landed_to: int | None = None
    """Every record below it has landed, but for those of tables that stopped."""
    tables: int = 0
    stopped_tables: int = 0
    reported_at: datetime | None = None
    """When its relay reported."""


def fields(recorded: StreamStatusEvent) -> dict[str, str]:
    """The event's properties."""
    seconds = recorded.seconds_behind
    return properties(
        {
            "Mirror": recorded.mirror,
            "Stream": recorded.stream,
            "State": recorded.state,
            "Since": recorded.since,
            "Health": int(recorded.health),
            "Warnings": "\n".join(recorded.warnings),
            "RecordsBehind": recorded.records_behind,
            "SecondsBehind": None if seconds is None else round(seconds),
            "BytesBehind": recorded.bytes_behind,
            "SourceKeeps": recorded.source_keeps,
            "LandedTo": recorded.landed_to,
            "Tables": recorded.tables,
            "StoppedTables": recorded.stopped_tables,
            "ReportedAt": recorded.reported_at,
        }
    )


def state(event: Mapping[str, str]) -> tuple[str | None, ...]:
    """The properties that make two events different states for a person."""
    return tuple(event.get(name) for name in _STATE)


def without_ages(event: Mapping[str, str]) -> dict[str, str]:
    """The event without what goes on by itself, which is no change."""
    return {name: value for name, value in event.items() if name not in _AGES}
