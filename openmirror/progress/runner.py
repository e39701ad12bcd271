"""What happens to the work of a process: messages, leases and what time starts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from openmirror.progress.base import Event, Severity, TableEvent
from openmirror.protocol.names import TableFolder


@dataclass(frozen=True)
class WorkItemTaken(TableEvent):
    """A message of the work queue was taken for its table. Debug."""

    name = "work-item-taken"
    severity = Severity.DEBUG

    reason: str
    """What the message was sent for: a file's name, a sweep, a request."""
    deliveries: int
    """How often the message has been taken, this time among them."""
    correlation: str = ""
    """The identity of the storage event behind it, if there was one."""


@dataclass(frozen=True)
class SweepFoundWork(TableEvent):
    """A runner's own sweep found that the table has something to do. Debug."""

    name = "sweep-found-work"
    severity = Severity.DEBUG


@dataclass(frozen=True)
class MessageDeadLettered(Event):
    """A message was moved to the poison queue.

    Error: it was taken in vain too often or is none of ours, and is kept until a person decides.
    """

    name = "message-dead-lettered"
    severity = Severity.ERROR

    folder: TableFolder | None
    """None when the text names no table."""
    reason: str
    body: str
    """How the message begins."""


class QueueOperation(StrEnum):
    """What is asked of the work queue."""

    RECEIVE = "receive"
    RENEW = "renew"
    DELETE = "delete"
    RETURN = "return"
    SEND = "send"
    DEAD_LETTER = "dead-letter"


@dataclass(frozen=True)
class QueueOperationFailed(Event):
    """The work queue did not do what it was asked.

    Warning: a message that could not be changed is delivered again, and receiving is tried again.
    """

    name = "queue-operation-failed"
    severity = Severity.WARNING

    operation: QueueOperation
    reason: str
    folder: TableFolder | None = None
    """The table that the message is for, where one is known."""


class LeaseOperation(StrEnum):
    """What is asked of the store of leases."""

    ACQUIRE = "acquire"
    RENEW = "renew"
    RELEASE = "release"


@dataclass(frozen=True)
class LeaseOperationFailed(TableEvent):
    """The store of leases did not answer.

    Warning: the table goes on without a lease, which may cost another runner's work in vain.
    """

    name = "lease-operation-failed"
    severity = Severity.WARNING

    operation: LeaseOperation
    reason: str


@dataclass(frozen=True)
class LeaseTakenByOther(TableEvent):
    """Another runner is at work on the table, so its message was sent again for later.

    Debug: that is how runners share tables.
    """

    name = "lease-taken-by-other"
    severity = Severity.DEBUG


@dataclass(frozen=True)
class LeaseLost(TableEvent):
    """A lease was not renewed in time, so another runner may be at work on the table as well.

    Warning: no row is applied twice by it, but work may be done twice.
    """

    name = "lease-lost"
    severity = Severity.WARNING


class PeriodicTask(StrEnum):
    """What time starts in a process that stays."""

    SWEEP = "sweep"
    CLEANUP = "cleanup"
    STATUS = "status"
    RENEWAL = "renewal"
    """Of the leases and messages that a runner has."""
    STREAMS = "streams"
    """Of databases, that mirrors declare: beginning and ending them."""


@dataclass(frozen=True)
class PeriodicTaskFailed(Event):
    """A pass that time starts ended with an error. Warning: the next one is due all the same."""

    name = "periodic-task-failed"
    severity = Severity.WARNING

    task: PeriodicTask
    reason: str


@dataclass(frozen=True)
class FileWatchFailed(Event):
    """The system does not report changes of files in a local root.

    Warning: it is tried again, and until then sweeps find what is new.
    """

    name = "file-watch-failed"
    severity = Severity.WARNING

    reason: str
