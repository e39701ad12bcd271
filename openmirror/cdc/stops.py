"""Why a table of a stream is not landed any further, or a whole stream is not read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from openmirror.errors import OpenmirrorError


class StopCode(StrEnum):
    """What is wrong; each has its row in OPERATIONS."""

    RECORD_UNDECODABLE = "RecordUndecodable"
    """A record is no change envelope, or contradicts the schema that it declares."""
    SOURCE_VALUE_INVALID = "SourceValueInvalid"
    """A value has no place in its column's type."""
    SOURCE_TYPE_UNSUPPORTED = "SourceTypeUnsupported"
    """A column's type cannot be mirrored as the connector is configured."""
    VALUE_UNAVAILABLE = "ValueUnavailable"
    """The source's log does not have a value, and the connector sent its placeholder."""
    SOURCE_KEY_MISSING = "SourceKeyMissing"
    """The table has no key."""
    TRUNCATE_UNSUPPORTED = "TruncateUnsupported"
    """The source emptied the table."""
    RESNAPSHOT_NEEDED = "ResnapshotNeeded"
    """The source changed rows without an event for them."""
    EVENTS_LOST = "EventsLost"
    """Records are missing that the table needs."""
    CHANGE_REFUSED = "ChangeRefused"
    """The change breaks a rule of the landing zone."""

    @property
    def needs_snapshot(self) -> bool:
        """Whether the records that follow are of no use, so that nobody has to keep them."""
        return self in _NEED_SNAPSHOT


_NEED_SNAPSHOT = frozenset(
    {
        StopCode.SOURCE_KEY_MISSING,
        StopCode.TRUNCATE_UNSUPPORTED,
        StopCode.RESNAPSHOT_NEEDED,
        StopCode.EVENTS_LOST,
    }
)


@dataclass(frozen=True)
class StopReason:
    """Where a table stopped, and what to do."""

    code: StopCode
    detail: str
    remedy: str


class EventsLost(OpenmirrorError):
    """The stream does not hold any more what is to be read next; the message has the remedy."""


class StreamStopped(OpenmirrorError):
    """A record that nobody can attribute to a table: the whole stream stops before it."""

    def __init__(self, stop: StopReason, topic: str, offset: int) -> None:
        super().__init__(f"record {offset} of topic {topic}: {stop.detail}. {stop.remedy}")
        self.stop = stop
        self.offset = offset


class StreamReplaced(OpenmirrorError):
    """The stream is another one than before; the message has the remedy."""
