"""Every event of progress there is, as one closed union, and who receives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from openmirror.progress.runner import (
    FileWatchFailed,
    LeaseLost,
    LeaseOperationFailed,
    LeaseTakenByOther,
    MessageDeadLettered,
    PeriodicTaskFailed,
    QueueOperationFailed,
    SweepFoundWork,
    WorkItemTaken,
)
from openmirror.progress.streams import (
    StreamBegun,
    StreamEnded,
    StreamFailed,
    StreamLanded,
    StreamTableBegunAnew,
    StreamTableStopped,
    StreamWaits,
)
from openmirror.progress.tables import (
    AttemptFailed,
    BatchCommitted,
    BatchStarted,
    ControlDocumentInvalid,
    FilesNeverRead,
    LeftoverCleanupFailed,
    MaintenanceFailed,
    MirrorUnreadable,
    RegistrationFailed,
    TableCleaned,
    TableContended,
    TableDropped,
    TableMaintained,
    TablePaused,
    TableRestored,
    TableUnreadable,
    TableWaiting,
)

ProgressEvent: TypeAlias = (
    WorkItemTaken
    | SweepFoundWork
    | BatchStarted
    | BatchCommitted
    | AttemptFailed
    | TablePaused
    | TableWaiting
    | FilesNeverRead
    | TableDropped
    | TableRestored
    | TableCleaned
    | TableMaintained
    | MaintenanceFailed
    | TableUnreadable
    | TableContended
    | ControlDocumentInvalid
    | RegistrationFailed
    | MirrorUnreadable
    | LeftoverCleanupFailed
    | MessageDeadLettered
    | QueueOperationFailed
    | LeaseTakenByOther
    | LeaseLost
    | LeaseOperationFailed
    | PeriodicTaskFailed
    | FileWatchFailed
    | StreamBegun
    | StreamLanded
    | StreamWaits
    | StreamFailed
    | StreamEnded
    | StreamTableStopped
    | StreamTableBegunAnew
)

EventSink = Callable[[ProgressEvent], None]
"""Receives every event as it happens, from any thread; must not raise."""


def discard(event: ProgressEvent) -> None:
    """The sink of a process that nobody follows."""
