"""Telling telemetry what happened, before it is written down: once written, nobody would say it.

So a crash in between makes the next process tell it, with the same identity, and a repeat is
recognised by it. Who only reads status tells nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from openmirror.control import Applied, BatchKind, ControlDocument, RequestKind
from openmirror.errors import Problem
from openmirror.lifecycle import FabricStatus, OnHold, TableStatus, Trouble, Warn, wait_remedy
from openmirror.plan import Batch, Look
from openmirror.protocol.names import Incarnation
from openmirror.protocol.sequence import START
from openmirror.services.parts import Parts
from openmirror.statusevent import Health, Standing
from openmirror.tablelog import AppId, CommitNote, Epoch, TableLog
from openmirror.tableoperation import OperationName, TableOperation, commit_of, error_of


def tell_learned(parts: Parts, look: Look, learned: ControlDocument) -> None:
    """Tell what `learned`, about to be saved, knows and the document of this look does not."""
    before = look.control
    if learned.applied != before.applied:
        if (note := _untold(look)) and note.app_id:
            for operation in _committed(look, note, note.app_id):
                parts.telemetry.happened(operation)
        if learned.applied and (
            before.applied is None or before.applied.app_id != learned.applied.app_id
        ):
            parts.telemetry.happened(_replicating_began(look, learned.applied))
    if learned.problem and not learned.problem.same_as(before.problem):
        parts.telemetry.happened(_failed(look, learned.problem))


def _untold(look: Look) -> CommitNote | None:
    """The newest commit of this folder, if the control document does not know of it yet.

    There is never more than one: whoever decides the next batch has saved this one before.
    """
    note = look.log.note if isinstance(look.log, TableLog) else None
    epoch = Epoch.parse(note.app_id) if note else None
    if note is None or epoch is None or epoch.folder != look.folder:
        return None
    known = look.control.applied
    known_epoch = Epoch.parse(known.app_id) if known else None
    if known and known_epoch and (epoch.number, note.last) <= (known_epoch.number, known.position):
        return None
    return note


def _committed(look: Look, note: CommitNote, app_id: AppId) -> Iterator[TableOperation]:
    ended = note.committed_at or look.at
    started = note.started_at or ended
    subject = (app_id, note.first, note.last)
    if note.schema_changed:
        yield TableOperation(
            name=OperationName.REPLICATING_SCHEMA,
            folder=look.folder,
            table=look.name,
            subject=subject,
            started_at=started,
            ended_at=ended,
            epoch=app_id,
            first=note.first,
            last=note.last,
        )
    yield TableOperation(
        name=commit_of(BatchKind(note.kind)),
        folder=look.folder,
        table=look.name,
        subject=subject,
        started_at=started,
        ended_at=ended,
        epoch=app_id,
        first=note.first,
        last=note.last,
        rows=note.rows,
        bytes=note.bytes,
        latency_seconds=note.lag_seconds,
    )


def _replicating_began(look: Look, applied: Applied) -> TableOperation:
    at = applied.at or look.at
    return TableOperation(
        name=OperationName.START_REPLICATING,
        folder=look.folder,
        table=look.name,
        subject=(applied.app_id,),
        started_at=at,
        ended_at=at,
        epoch=applied.app_id,
        last=applied.position,
    )


def _failed(look: Look, problem: Problem) -> TableOperation:
    at = problem.since or look.at
    control = look.control
    # An operator's act lets the same problem come anew; without one, a repeat is a repeat.
    last_act = control.acts[-1].at if control.acts else None
    return TableOperation(
        name=OperationName.FAIL_TABLE,
        folder=look.folder,
        table=look.name,
        subject=(
            control.epoch,
            look.applied,
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
        last=look.applied,
        error=error_of(problem),
    )


def tell_opening(parts: Parts, look: Look, batch: Batch) -> None:
    """Tell that a table is about to be made, or made anew, by this batch."""
    if batch.kind is not BatchKind.REPLACE:
        return
    names = [OperationName.ADD_TABLE] if batch.may_create else []
    # Once decided, the request is gone and the life remembers.
    reseeds = look.control.asks_for(RequestKind.RESEED) or (
        look.life is not None and look.life.reseeding_until > START
    )
    names.append(OperationName.START_RESEEDING if reseeds else OperationName.START_SNAPSHOTTING)
    now = parts.clock()
    for name in names:
        parts.telemetry.happened(
            TableOperation(
                name=name,
                folder=look.folder,
                table=look.name,
                subject=(batch.epoch.app_id,),
                started_at=now,
                ended_at=now,
                epoch=batch.epoch.app_id,
                first=batch.first,
            )
        )


def tell_removed(parts: Parts, look: Look, incarnation: Incarnation, at: datetime) -> None:
    """Tell that a table is about to be moved aside."""
    parts.telemetry.happened(
        TableOperation(
            name=OperationName.REMOVE_TABLE,
            folder=look.folder,
            table=look.name,
            subject=(incarnation, look.control.epoch),
            started_at=look.control.missing_since or at,
            ended_at=at,
            last=look.applied,
        )
    )


def tell_standing(parts: Parts, mirror: str, tables: Sequence[TableStatus]) -> None:
    """Tell how the tables of a mirror stand, and which of them somebody holds.

    A hold is written by whoever asks for it, often a command that has no telemetry; so it is
    told by those who find it, under one identity.
    """
    for table in tables:
        if isinstance(table.stage, OnHold):
            hold = table.stage.hold
            parts.telemetry.happened(
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
    parts.telemetry.stand(mirror, [standing_of(table) for table in tables])


def standing_of(table: TableStatus) -> Standing:
    """What telemetry is told of a table's status: what the status page shows of it."""
    problem = table.problem
    waits = [table.waiting_for.waiting] if table.waiting_for else []
    waits += table.other_waits
    first = waits[0] if waits else None
    name = f"{table.folder.mirror}/{table.name}"
    return Standing(
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
    )


def _text(said: Trouble | Warn) -> str:
    """What it is about, and where; what to do stands beside it."""
    where = f"{said.file}: " if said.file and said.file not in said.detail else ""
    return where + said.detail.rstrip(".")


def health(table: TableStatus) -> Health:
    """A table's state as a number: what needs a person is an error or a warning."""
    match table.status:
        case FabricStatus.STOPPED:
            return Health.STOPPED
        case FabricStatus.FAILED:
            return Health.ERROR
    return Health.WARNING if table.warnings or table.needs_attention else Health.RUNNING
