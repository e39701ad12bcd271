"""A batch is decided: from now on nothing else of its epoch may be applied before it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from openmirror.errors import Problem
from openmirror.plan.transitions.incarnations import with_record
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import START, Position
from openmirror.table.control import (
    BatchKind,
    Begun,
    ControlDocument,
    DecidedBatch,
    FrozenOptions,
    IncarnationRecord,
    Request,
    RequestKind,
    Truncated,
)
from openmirror.table.log import AppId


def decide(
    control: ControlDocument,
    batch: DecidedBatch,
    frozen: FrozenOptions | None,
    applied: Position,
    reread_through: Position = START,
    truncated: Truncated | None = None,
    begun: Begun | None = None,
    *,
    with_history: bool = False,
) -> ControlDocument:
    """The document once `batch` is decided; `applied` is the live position that it extends.

    `frozen` None leaves the frozen options as they are. Up to `reread_through` files of a ledger
    are read that were applied before. `truncated` is the first time in the batch that lost digits.
    `begun` is of a history's first batch, where that has the rows of its current table;
    `with_history` of an incarnation's first: whether the table's history reads the same files.

    Batches that were cut and never applied are void and forgotten here: an extend drops those
    above the live position, a replace drops all (ARCHITECTURE §4).
    """
    record = control.record_of(batch.epoch.incarnation)
    record = replace(
        record,
        frozen=frozen or record.frozen,
        batches=_remembered(record, batch, applied),
        reseeding_until=_reseeding_until(record, batch, applied, reread_through),
        truncated=truncated if batch.kind is BatchKind.REPLACE else record.truncated or truncated,
        partitions={} if batch.kind is BatchKind.REPLACE else record.partitions,
        overwritten_through=START
        if batch.kind is BatchKind.REPLACE
        else record.overwritten_through,
        with_history=with_history if record.frozen is None else record.with_history,
    )
    return replace(
        with_record(control, record),
        epoch=max(control.epoch, batch.epoch.number),
        epochs=to_fence(control.epochs, (batch.app_id,)),
        decided=batch,
        request=_left_open(control.request, batch.kind),
        problem=_further_on(control.problem, batch),
        missing_since=None,
        begun=begun if batch.kind is BatchKind.REPLACE else control.begun,
    )


def to_fence(epochs: tuple[AppId, ...], more: Iterable[AppId]) -> tuple[AppId, ...]:
    """Every epoch that may still have a runner somewhere: those known, and more; none twice."""
    return (*epochs, *(app for app in more if app not in epochs))


def _remembered(
    record: IncarnationRecord, batch: DecidedBatch, applied: Position
) -> tuple[DecidedBatch, ...]:
    kept = tuple(b for b in record.batches if b.kind is not BatchKind.CONTINUE)
    match batch.kind:
        case BatchKind.EXTEND:
            return (*(b for b in kept if b.last <= applied), batch)
        case BatchKind.REPLACE:
            return (batch,)
        case BatchKind.CONTINUE:
            return kept


def _reseeding_until(
    record: IncarnationRecord, batch: DecidedBatch, applied: Position, reread_through: Position
) -> Position:
    until = Position(max(record.reseeding_until, reread_through))
    if batch.kind is not BatchKind.REPLACE:
        return until
    # What is read once more lies in the archive: it must stay there until it was read.
    return Position(max(until, applied, record.archived_through))


def _further_on(problem: Problem | None, batch: DecidedBatch) -> Problem | None:
    """What is wrong with a pending file behind this batch: only reading it would show it again."""
    if problem is None or problem.file is None or problem.code is Code.APPLIED_FILE_CHANGED:
        return None
    return None if any(file.name == problem.file for file in batch.files) else problem


def _left_open(request: Request | None, decided: BatchKind) -> Request | None:
    carried_out = {
        RequestKind.RESEED: BatchKind.REPLACE,
        RequestKind.ADOPT: BatchKind.CONTINUE,
    }
    return None if request and carried_out.get(request.kind) is decided else request
