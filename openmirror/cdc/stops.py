"""Why a whole stream is not read any further."""

from __future__ import annotations

from openmirror.errors import OpenmirrorError
from openmirror.protocol.streams import StopReason

TAKE_SNAPSHOT = "Take a new snapshot of the table: openmirror cdc resnapshot."
"""The remedy for a table of a database's log whose rows are missing, or differ."""

ASK_CONNECTOR = (
    "Let its connector take a new snapshot of the table, by a signal of type BLOCKING "
    "(docs/SOURCES.md, Through Kafka or Event Hubs)."
)
"""The remedy for a table of a topic."""

GIVE_WHOLE_ROWS = (
    "ALTER TABLE … REPLICA IDENTITY FULL, so that the log has every value of a row; then take a "
    "new snapshot of the table."
)
"""The remedy where the log leaves values out that are needed."""


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
