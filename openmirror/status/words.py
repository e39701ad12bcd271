"""Status in words: Fabric's where it has them, and codes of our own where nobody broke a rule."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from openmirror.table.control import Hold


class FabricStatus(StrEnum):
    """A table's status in Fabric's own words."""

    INITIALIZED = "Initialized"
    SNAPSHOTTING = "Snapshotting"
    REPLICATING = "Replicating"
    RESEEDING = "Reseeding"
    STOPPED = "Stopped"
    FAILED = "Failed"


class StageWord(StrEnum):
    """A table's state in one word: Fabric's where it says it all, else a plainer one."""

    INITIALIZED = "Initialized"
    SNAPSHOTTING = "Snapshotting"
    REPLICATING = "Replicating"
    RESEEDING = "Reseeding"
    WAITING = "Waiting"
    HELD = "Held"
    PAUSED = "Paused"
    UNREADABLE = "Unreadable"
    DROPPED = "Dropped"


class Word(StrEnum):
    """Codes of status alone: nobody broke a rule, so `Code` has none for them."""

    HELD = "Held"
    DROPPED = "Dropped"
    RETRYING = "Retrying"
    REQUESTED = "Requested"
    SKIPPED = "Skipped"
    HISTORY_STOPPED = "HistoryStopped"
    HISTORY_BEGUN_ANEW = "HistoryBegunAnew"
    MAINTENANCE_BEHIND = "MaintenanceBehind"
    LANDING_ZONE_UNREADABLE = "LandingZoneUnreadable"
    TABLE_UNREADABLE = "TableUnreadable"
    NO_HEARTBEAT = "NoHeartbeat"


@dataclass(frozen=True)
class Trouble:
    """What stops a table, and what to do about it."""

    code: str
    detail: str
    solution: str
    file: str | None = None
    since: datetime | None = None


@dataclass(frozen=True)
class Warn:
    """What an operator should know, while the table does what its status says."""

    code: str
    detail: str
    solution: str
    file: str | None = None


def iso(moment: datetime) -> str:
    """A time as ISO 8601 in UTC, with Z."""
    return moment.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"


def by_whom(by: str, why: str) -> str:
    """Who asked for something, and why if that was given."""
    return f"{by}: {why}" if why else by


def held_since(hold: Hold) -> str:
    """An operator's hold in words: since when, whose, and why."""
    return f"held since {at_second(hold.since)} by {by_whom(hold.by, hold.why)}"


def at_second(moment: datetime) -> str:
    """The same for people, to the second."""
    return iso(moment.replace(microsecond=0))


def message_of(trouble: Trouble) -> str:
    """The problem as one text, for readers that know Fabric's two fields only."""
    where = f"{trouble.file}: " if trouble.file and trouble.file not in trouble.detail else ""
    return f"{where}{trouble.detail.rstrip('.')}. {trouble.solution}"
