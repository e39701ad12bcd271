"""Why a whole stream is not read any further."""

from __future__ import annotations

from openmirror.errors import OpenmirrorError
from openmirror.protocol.streams import StopReason

TAKE_SNAPSHOT = "Take a new snapshot of the table: openmirror cdc resnapshot."
"""The remedy where rows are missing, or differ."""


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
