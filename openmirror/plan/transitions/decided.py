"""A batch is decided: from now on nothing else of its epoch may be applied before it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from openmirror.control import (
    BatchKind,
    ControlDocument,
    DecidedBatch,
    Life,
    Pinned,
    Request,
    RequestKind,
)
from openmirror.plan.transitions.lives import with_life
from openmirror.protocol.sequence import START, Position
from openmirror.tablelog import AppId


def decide(
    control: ControlDocument,
    batch: DecidedBatch,
    pinned: Pinned | None,
    applied: Position,
    again_through: Position = START,
) -> ControlDocument:
    """The document once `batch` is decided; `applied` is the live position that it extends.

    `pinned` None leaves what is pinned as it is. Up to `again_through` files of a ledger are read
    that were applied before.

    Batches that were cut and never applied are void and forgotten here: an extend drops those
    above the live position, a replace drops all (PROTOCOL has no say in it; ARCHITECTURE §4).
    """
    life = control.life_of(batch.epoch.incarnation)
    life = replace(
        life,
        pinned=pinned or life.pinned,
        batches=_remembered(life, batch, applied),
        reseeding_until=_reseeding_until(life, batch, applied, again_through),
        partitions={} if batch.kind is BatchKind.REPLACE else life.partitions,
    )
    return replace(
        with_life(control, life),
        epoch=max(control.epoch, batch.epoch.number),
        epochs=to_fence(control.epochs, (batch.app_id,)),
        decided=batch,
        request=_left_open(control.request, batch.kind),
        problem=None,
        missing_since=None,
    )


def to_fence(epochs: tuple[AppId, ...], more: Iterable[AppId]) -> tuple[AppId, ...]:
    """Every epoch that may still have a runner somewhere: those known, and more; none twice."""
    return (*epochs, *(app for app in more if app not in epochs))


def _remembered(life: Life, batch: DecidedBatch, applied: Position) -> tuple[DecidedBatch, ...]:
    kept = tuple(b for b in life.batches if b.kind is not BatchKind.CONTINUE)
    match batch.kind:
        case BatchKind.EXTEND:
            return (*(b for b in kept if b.last <= applied), batch)
        case BatchKind.REPLACE:
            return (batch,)
        case BatchKind.CONTINUE:
            return kept


def _reseeding_until(
    life: Life, batch: DecidedBatch, applied: Position, again_through: Position
) -> Position:
    until = Position(max(life.reseeding_until, again_through))
    if batch.kind is not BatchKind.REPLACE:
        return until
    # What is read once more lies in the archive: it must stay there until it was read.
    return Position(max(until, applied, life.archived_through))


def _left_open(request: Request | None, decided: BatchKind) -> Request | None:
    carried_out = {
        RequestKind.RESEED: BatchKind.REPLACE,
        RequestKind.ADOPT: BatchKind.CONTINUE,
    }
    return None if request and carried_out.get(request.kind) is decided else request
