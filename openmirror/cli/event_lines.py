"""Each event of progress in the words of a line on the terminal."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from openmirror.cli.console import clock_time, short, where_time_went
from openmirror.plan.decisions import WaitKind
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
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.counts import counted
from openmirror.protocol.sequence import position_after
from openmirror.table.control import BatchKind, StepKind

_PASSING = (WaitKind.INCOMPLETE,)
"""Most files are incomplete for a moment while they are written."""


def line_of(event: ProgressEvent, now: datetime) -> str | None:
    """What happened, without what it happened to; None for what is not worth a line."""
    match event:
        case WorkItemTaken() | SweepFoundWork() | BatchStarted() | LeaseTakenByOther():
            return None
        case StreamLanded():
            return None
        case TableWaiting(kind=kind) if kind in _PASSING:
            return None
        case BatchCommitted():
            return committed(event)
        case AttemptFailed():
            return f"attempt {event.attempt} failed: {event.error}"
        case TablePaused():
            where = f"{event.file}: " if event.file else ""
            return f"paused by {event.code.value}: {where}{event.detail}"
        case TableWaiting():
            return waits(event, now)
        case FilesNeverRead():
            return f"{event.file}: {event.detail}"
        case TableDropped():
            return f"dropped, because its folder is gone; kept in {event.retained_at}"
        case TableRestored():
            return "brought back" + (", held" if event.held else "")
        case TableCleaned():
            deleted = ", its dropped table deleted" if event.dropped_table_deleted else ""
            return f"cleaned: {event.archived} archived, {event.purged} purged{deleted}"
        case TableMaintained():
            return maintained(event)
        case MaintenanceFailed():
            return f"{event.step.value} failed, and is tried again: {event.error}"
        case TableUnreadable() | MirrorUnreadable() | ControlDocumentInvalid():
            return event.reason
        case TableContended():
            return f"it changed under {counted(event.attempts, 'try', 'tries')} in a row"
        case RegistrationFailed():
            return f"it is not registered in the catalog: {event.reason}"
        case LeftoverCleanupFailed():
            return f"remains of conversions are not deleted: {event.reason}"
        case LeaseLost():
            return "its lease was lost: another runner may be at work on it as well"
        case LeaseOperationFailed():
            return f"its lease: {event.operation.value} failed: {event.reason}"
        case MessageDeadLettered():
            return f"a message was moved to the poison queue: {event.reason}"
        case QueueOperationFailed():
            return f"the work queue: {event.operation.value} failed: {event.reason}"
        case PeriodicTaskFailed():
            return f"{event.task.value} failed: {event.reason}"
        case FileWatchFailed():
            return event.reason
        case StreamBegun():
            return f"stream {event.stream}: landed from record {event.record} on"
        case StreamWaits():
            return f"stream {event.stream}: not landed, and tried again: {event.reason}"
        case StreamFailed():
            return f"stream {event.stream} is landed no further: {event.reason}"
        case StreamEnded():
            return f"stream {event.stream}: not declared any more, and not landed any more"
        case StreamTableStopped():
            return (
                f"stopped in stream {event.stream} by {event.code}: {event.reason}. {event.remedy}"
            )
        case StreamTableBegunAnew():
            return f"stream {event.stream}: its new snapshot has landed"
    assert_never(event)


def committed(event: BatchCommitted) -> str:
    """One commit: which files, which rows, how long it took, with what, how far behind it was."""
    signs = (("+", event.inserts), ("~", event.updates), ("-", event.deletes))
    changes = " ".join(f"{sign}{count:,}" for sign, count in signs if count)
    replaced = "  whole table" if event.kind is BatchKind.REPLACE else ""
    lag = event.lag_seconds
    behind = f", {short(lag)} after landing" if lag is not None else ""
    took = short(event.duration_seconds)
    times = where_time_went(event.wait_seconds, event.phases)
    return f"{file_range(event)}{replaced}  {changes or 'no rows'}  {took}{behind}{times}"


def maintained(event: TableMaintained) -> str:
    """One step of maintenance: what it took, and how long."""
    if event.step is StepKind.REMOVE_MARKED:
        return f"{event.step.value}  {short(event.duration_seconds)}"
    what = counted(event.files, "file", "files")
    return f"{event.step.value}  {what}, {event.bytes:,} bytes  {short(event.duration_seconds)}"


def file_range(batch: BatchStarted | BatchCommitted) -> str:
    """`file 7` or `files 1-50`; numbers that were skipped are in between."""
    one = batch.last == position_after(batch.first)
    return f"file {batch.last}" if one else f"files {batch.first}-{batch.last}"


def waits(event: TableWaiting, now: datetime) -> str:
    """What is waited for, and until when if it ends by itself."""
    ends = f", until {clock_time(event.until, now)} at most" if event.until else ""
    return f"waits{ends}: {event.detail}"
