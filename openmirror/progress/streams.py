"""What happens to streams of databases that a process lands in its mirrors."""

from __future__ import annotations

from dataclasses import dataclass

from openmirror.progress.base import MirrorEvent, Severity, TableEvent
from openmirror.protocol.streams import StopCode


@dataclass(frozen=True)
class StreamBegun(MirrorEvent):
    """A stream that the mirror declares is landed from now on. Info."""

    name = "stream-begun"
    severity = Severity.INFO

    stream: str
    record: int
    """The first one that is read."""


@dataclass(frozen=True)
class StreamLanded(MirrorEvent):
    """A batch of a stream has landed. Debug."""

    name = "stream-landed"
    severity = Severity.DEBUG

    stream: str
    records: int
    """Records of the stream that were read."""
    rows: int
    """Change rows that landed."""


@dataclass(frozen=True)
class StreamWaits(MirrorEvent):
    """A service that a stream needs is away. Warning: it is asked again until it is back."""

    name = "stream-waits"
    severity = Severity.WARNING

    stream: str
    reason: str


@dataclass(frozen=True)
class StreamFailed(MirrorEvent):
    """A stream is landed no further.

    Error: a person has to do what the reason says; it is tried again all the same, now and then.
    """

    name = "stream-failed"
    severity = Severity.ERROR

    stream: str
    reason: str
    retry_seconds: float
    """Seconds until it is tried again."""


@dataclass(frozen=True)
class StreamEnded(MirrorEvent):
    """A stream that the mirror does not declare any more is not landed any more. Info."""

    name = "stream-ended"
    severity = Severity.INFO

    stream: str


@dataclass(frozen=True)
class StreamTableStopped(TableEvent):
    """A stream lands nothing more in this table, and goes on with all others. Error."""

    name = "stream-table-stopped"
    severity = Severity.ERROR

    stream: str
    code: StopCode
    reason: str
    remedy: str


@dataclass(frozen=True)
class StreamTableBegunAnew(TableEvent):
    """The new snapshot of a table has landed. Info."""

    name = "stream-table-begun-anew"
    severity = Severity.INFO

    stream: str
