"""What a reconciliation emits to telemetry, always before the control document records it.

Once recorded, nothing would emit it any more. So after a crash in between the next process emits
it, under the same identity, by which a repetition is recognised. Commands that only read status
emit nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from openmirror.errors import Problem
from openmirror.plan import Batch, ObservedState
from openmirror.ports.telemetry.stream_status_event import StreamStatusEvent
from openmirror.ports.telemetry.table_operation import (
    OperationName,
    TableOperation,
    commit_of,
    error_of,
)
from openmirror.ports.telemetry.table_status_event import Health, TableStatusEvent
from openmirror.protocol.names import Incarnation
from openmirror.protocol.relay_reports import RelayState
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import START
from openmirror.reconcile.root_ports import RootPorts
from openmirror.status import (
    FabricStatus,
    OnHold,
    StreamNote,
    TableStatus,
    Trouble,
    Warn,
    stream_warnings,
    wait_remedy,
)
from openmirror.table.control import Applied, BatchKind, ControlDocument, RequestKind
from openmirror.table.log import AppId, BatchRecord, Epoch, TableLog


def emit_learned(ports: RootPorts, observed: ObservedState, learned: ControlDocument) -> None:
    """Emit what `learned`, about to be saved, has and the observed control document has not."""
    before = observed.control
    if learned.applied != before.applied:
        if (batch_record := _unreported(observed)) and batch_record.app_id:
            for operation in _committed(observed, batch_record, batch_record.app_id):
                ports.telemetry.happened(operation)
        if learned.applied and (
            before.applied is None or before.applied.app_id != learned.applied.app_id
        ):
            ports.telemetry.happened(_replicating_began(observed, learned.applied))
    if learned.problem and not learned.problem.same_as(before.problem):
        ports.telemetry.happened(_failed(observed, learned.problem))


def _unreported(observed: ObservedState) -> BatchRecord | None:
    """The newest commit of this folder, if the control document does not have it yet.

    There is never more than one: whoever decides the next batch has saved this one before.
    """
    batch_record = observed.log.batch_record if isinstance(observed.log, TableLog) else None
    epoch = Epoch.parse(batch_record.app_id) if batch_record else None
    if batch_record is None or epoch is None or epoch.folder != observed.folder:
        return None
    known = observed.control.applied
    known_epoch = Epoch.parse(known.app_id) if known else None
    if (
        known
        and known_epoch
        and (epoch.number, batch_record.last) <= (known_epoch.number, known.position)
    ):
        return None
    return batch_record


def _committed(
    observed: ObservedState, batch_record: BatchRecord, app_id: AppId
) -> Iterator[TableOperation]:
    ended = batch_record.committed_at or observed.at
    started = batch_record.started_at or ended
    subject = (app_id, batch_record.first, batch_record.last)
    if batch_record.schema_changed:
        yield TableOperation(
            name=OperationName.REPLICATING_SCHEMA,
            folder=observed.folder,
            table=observed.name,
            subject=subject,
            started_at=started,
            ended_at=ended,
            epoch=app_id,
            first=batch_record.first,
            last=batch_record.last,
        )
    yield TableOperation(
        name=commit_of(BatchKind(batch_record.kind)),
        folder=observed.folder,
        table=observed.name,
        subject=subject,
        started_at=started,
        ended_at=ended,
        epoch=app_id,
        first=batch_record.first,
        last=batch_record.last,
        rows=batch_record.rows,
        bytes=batch_record.bytes,
        latency_seconds=batch_record.lag_seconds,
        wait_seconds=batch_record.wait_seconds,
        phases=batch_record.all_phases,
    )


def _replicating_began(observed: ObservedState, applied: Applied) -> TableOperation:
    at = applied.at or observed.at
    return TableOperation(
        name=OperationName.START_REPLICATING,
        folder=observed.folder,
        table=observed.name,
        subject=(applied.app_id,),
        started_at=at,
        ended_at=at,
        epoch=applied.app_id,
        last=applied.position,
    )


def _failed(observed: ObservedState, problem: Problem) -> TableOperation:
    at = problem.since or observed.at
    control = observed.control
    # After an operator's act the same problem counts as a new one; without, as a repetition.
    last_act = control.acts[-1].at if control.acts else None
    return TableOperation(
        name=OperationName.FAIL_TABLE,
        folder=observed.folder,
        table=observed.name,
        subject=(
            control.epoch,
            observed.applied,
            problem.code.value,
            problem.file,
            problem.etag,
            problem.incarnation,
            problem.metadata_etag,
            problem.settings_etag,
            last_act,
        ),
        started_at=at,
        ended_at=at,
        epoch=control.applied.app_id if control.applied else None,
        last=observed.applied,
        error=error_of(problem),
    )


def emit_opening(ports: RootPorts, observed: ObservedState, batch: Batch) -> None:
    """Emit that this batch is about to create or replace the table, if it is."""
    if batch.kind is not BatchKind.REPLACE:
        return
    names = [OperationName.ADD_TABLE] if batch.may_create else []
    # Once decided, the request is gone; the incarnation's record has it.
    reseeds = observed.control.asks_for(RequestKind.RESEED) or (
        observed.record is not None and observed.record.reseeding_until > START
    )
    names.append(OperationName.START_RESEEDING if reseeds else OperationName.START_SNAPSHOTTING)
    now = ports.clock()
    for name in names:
        ports.telemetry.happened(
            TableOperation(
                name=name,
                folder=observed.folder,
                table=observed.name,
                subject=(batch.epoch.app_id,),
                started_at=now,
                ended_at=now,
                epoch=batch.epoch.app_id,
                first=batch.first,
            )
        )


def emit_removed(
    ports: RootPorts, observed: ObservedState, incarnation: Incarnation, at: datetime
) -> None:
    """Emit that a table is about to be dropped."""
    ports.telemetry.happened(
        TableOperation(
            name=OperationName.REMOVE_TABLE,
            folder=observed.folder,
            table=observed.name,
            subject=(incarnation, observed.control.epoch),
            started_at=observed.control.missing_since or at,
            ended_at=at,
            last=observed.applied,
        )
    )


def emit_statuses(ports: RootPorts, mirror: str, tables: Sequence[TableStatus]) -> None:
    """Emit the status of a mirror's tables, and an operation for each that is held.

    A hold is written by whoever asks for it, often a command that has no telemetry; so it is
    emitted by every process that finds it, under one identity.
    """
    for table in tables:
        if isinstance(table.stage, OnHold) and (hold := table.stage.hold):
            ports.telemetry.happened(
                TableOperation(
                    name=OperationName.STOP_TABLE,
                    folder=table.folder,
                    table=table.name,
                    subject=(hold.since,),
                    started_at=hold.since,
                    ended_at=hold.since,
                    last=table.applied,
                )
            )
    ports.telemetry.report_statuses(mirror, [status_event_of(table) for table in tables])


def emit_streams(ports: RootPorts, mirror: str, streams: Sequence[StreamNote]) -> None:
    """Emit the status of the databases' streams that land in a mirror."""
    now = ports.clock()
    events = [_stream_event_of(mirror, stream, now) for stream in streams]
    ports.telemetry.report_streams(mirror, events)


def _stream_event_of(mirror: str, stream: StreamNote, now: datetime) -> StreamStatusEvent:
    relay, document = stream.relay, stream.document
    warnings = tuple(stream_warnings(mirror, stream, now))
    stopped = len(document.stopped) if document else 0
    health = Health.WARNING if warnings or stopped else Health.RUNNING
    if relay is not None and relay.state is RelayState.ENDED:
        health = Health.STOPPED
    if any(warning.code is Code.STREAM_DOWN for warning in warnings):
        health = Health.ERROR
    return StreamStatusEvent(
        mirror=mirror,
        stream=stream.name,
        state=relay.state.value.capitalize() if relay else "Unknown",
        since=relay.since if relay else None,
        health=health,
        warnings=tuple(f"{one.code}: {one.detail}. {one.solution}" for one in warnings),
        records_behind=relay.records_behind if relay else None,
        seconds_behind=relay.seconds_behind if relay else None,
        bytes_behind=relay.bytes_behind if relay else None,
        source_keeps=relay.source_keeps if relay else None,
        landed_to=document.complete_to if document else None,
        tables=len(document.tables) if document else 0,
        stopped_tables=stopped,
        reported_at=relay.at if relay else None,
    )


def status_event_of(table: TableStatus) -> TableStatusEvent:
    """The event for a table's status: what the status page shows of it."""
    problem = table.problem
    waits = [table.waiting_for.waiting] if table.waiting_for else []
    waits += table.other_waits
    first = waits[0] if waits else None
    name = f"{table.folder.mirror}/{table.name}"
    return TableStatusEvent(
        folder=table.folder,
        table=table.name,
        status=table.status.value,
        stage=table.word.value,
        health=health(table),
        pending_files=table.pending_files,
        oldest_pending_seconds=table.lag_seconds,
        waiting_for=first.kind.value if first else None,
        waiting_since=first.since if first else None,
        waiting_text="\n".join(waiting.detail for waiting in waits),
        error_code=problem.code if problem else None,
        error_message=_text(problem) if problem else None,
        error_since=problem.since if problem else None,
        remedy=problem.solution if problem else wait_remedy(first, name) if first else None,
        warnings=tuple(f"{warn.code}: {_text(warn)}. {warn.solution}" for warn in table.warnings),
        last_sequence=table.applied if table.applied > START else None,
        last_commit_at=table.synced_at,
        publisher=table.partner,
    )


def _text(issue: Trouble | Warn) -> str:
    """The detail of a problem or warning, after its file unless the detail names it."""
    where = f"{issue.file}: " if issue.file and issue.file not in issue.detail else ""
    return where + issue.detail.rstrip(".")


def health(table: TableStatus) -> Health:
    """A table's state as a number: what needs a person is an error or a warning."""
    match table.status:
        case FabricStatus.STOPPED:
            return Health.STOPPED
        case FabricStatus.FAILED:
            return Health.ERROR
    return Health.WARNING if table.warnings or table.needs_attention else Health.RUNNING
