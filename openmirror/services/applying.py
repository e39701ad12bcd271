"""Applying one batch: read, check, decide, commit once (ARCHITECTURE §4)."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import datetime

from openmirror import commitnote, layout
from openmirror.control import BatchKind, ControlDocument
from openmirror.errors import NotThere, Problem
from openmirror.plan import Batch, Look
from openmirror.plan.rules import judged
from openmirror.plan.transitions.decided import decide
from openmirror.ports import (
    BadFile,
    CommitResult,
    Counts,
    Prepared,
    Step,
    TableEngine,
    Transaction,
)
from openmirror.progress import BatchCommitted
from openmirror.services.documents import Documents
from openmirror.services.epochs import fence_others
from openmirror.services.ledgers import write_entry
from openmirror.services.looking import Seen
from openmirror.services.parts import Parts
from openmirror.tablelog import CommitNote, TableLog, Totals
from openmirror.tableoperation import commit_of, identity


def apply_batch(parts: Parts, engine: TableEngine, seen: Seen, batch: Batch) -> Problem | None:
    """Apply a planned batch, or return the problem that its data has.

    Whatever happens underway, the caller looks again. Raises ConditionFailed when another runner
    decided first, and whatever the engine raises for a failed read or commit.
    """
    started = parts.clock()
    read = engine.read(batch)
    if isinstance(read, BadFile):
        file = next(file for file in batch.files if file.name == read.name)
        return judged(seen.look, read.broken, file)
    try:
        parts.steps(Step.FOLDED)
        if is_unchanged(parts, batch):
            parts.steps(Step.CHECKED)
            _decide_and_commit(parts, engine, seen, batch, read, started)
    finally:
        read.release()
    return None


def is_unchanged(parts: Parts, batch: Batch) -> bool:
    """Whether what was read is what was planned: same life of the folder, same ETags."""
    landing = layout.table_folder(batch.folder)
    found = {}
    try:
        for folder in dict.fromkeys(layout.folder_of(file.path) for file in batch.files):
            for entry in parts.store.list_folder(folder).entries:
                found[layout.join(folder, entry.name)] = entry.etag
    except NotThere:
        return False
    same = all(found.get(file.path) == file.etag for file in batch.files)
    return same and parts.store.incarnation(landing) == batch.epoch.incarnation


def _decide_and_commit(
    parts: Parts,
    engine: TableEngine,
    seen: Seen,
    batch: Batch,
    prepared: Prepared,
    started: datetime,
) -> None:
    control = seen.look.control
    if not batch.is_decided:
        control = decide(control, batch.digest, batch.pinned, batch.applied, batch.again_through)
        control = Documents(parts.store).save_table(batch.folder, control, seen.etag).value
        parts.steps(Step.DECIDED)
    write_entry(parts.store, batch)
    parts.steps(Step.WRITTEN_DOWN)
    if batch.kind is BatchKind.REPLACE:
        create = batch.union.schema if batch.may_create else None
        own = batch.epoch.app_id
        others = any(app_id != own for app_id in control.epochs)
        if (others or not batch.may_create) and not fence_others(
            parts, engine, batch.table, control, own, create
        ):
            return
        parts.steps(Step.FENCED)
    note = _note(seen.look, control, batch, prepared.counts, started)
    parts.steps(Step.BEFORE_COMMIT)
    if not _may_alter(parts, batch):
        return
    transaction = Transaction(batch.epoch.app_id, batch.last)
    result = engine.commit(batch, prepared, transaction, commitnote.encode(note))
    parts.steps(Step.COMMITTED)
    log = parts.logs.read(batch.table) if result is CommitResult.DONE else None
    # Delta skips a repeated transaction in silence: only the log says whose commit it has.
    if isinstance(log, TableLog) and log.note and log.note.operation == note.operation:
        _report(parts, batch, note, started)


def _may_alter(parts: Parts, batch: Batch) -> bool:
    """Whether the table is still this epoch's, where properties are set of it before the commit.

    No transaction keeps these from a table that was made anew since the look.
    """
    if batch.kind is not BatchKind.EXTEND or not (batch.features.is_due or batch.union.widened):
        return True
    log = parts.logs.read(batch.table)
    live = log.live if isinstance(log, TableLog) else None
    return live is not None and live[0] == batch.epoch


def _note(
    look: Look, control: ControlDocument, batch: Batch, counts: Counts, started: datetime
) -> CommitNote:
    extends = batch.kind is BatchKind.EXTEND
    before = Totals()
    if extends:
        noted = look.log.note.totals if isinstance(look.log, TableLog) and look.log.note else None
        before = noted or (control.applied.totals if control.applied else Totals())
    return CommitNote(
        operation=uuid.uuid4().hex,
        folder=str(batch.folder),
        kind=batch.kind.value,
        first=batch.first,
        last=batch.last,
        files=len(batch.files),
        rows={"inserts": counts.inserts, "updates": counts.updates, "deletes": counts.deletes},
        bytes=batch.bytes,
        totals=Totals(before.operations + counts.operations, before.bytes + batch.bytes),
        landed_at=min((file.modified for file in batch.files), default=None),
        app_id=batch.epoch.app_id,
        started_at=started,
        schema_changed=extends and bool(batch.union.added or batch.union.widened),
    )


def _report(parts: Parts, batch: Batch, note: CommitNote, started: datetime) -> None:
    now = parts.clock()
    done = replace(note, committed_at=now)
    parts.emit(
        BatchCommitted(
            folder=batch.folder,
            kind=batch.kind,
            first=batch.first,
            last=batch.last,
            files=len(batch.files),
            inserts=note.rows["inserts"],
            updates=note.rows["updates"],
            deletes=note.rows["deletes"],
            bytes=batch.bytes,
            duration_seconds=(now - started).total_seconds(),
            lag_seconds=done.lag_seconds,
            operation_id=identity(
                commit_of(batch.kind), batch.folder, batch.epoch.app_id, batch.first, batch.last
            ),
        )
    )
