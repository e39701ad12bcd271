"""A lost control document is made anew: of the table's log, and of its ledger if it has one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from openmirror.control import BatchKind, ControlDocument, DecidedBatch
from openmirror.ledger import LedgerEntry, effective
from openmirror.plan.look import Look
from openmirror.plan.numbering import placed_through
from openmirror.plan.transitions.decided import to_fence
from openmirror.plan.transitions.lives import with_life
from openmirror.protocol.sequence import FENCED, Position
from openmirror.tablelog import Epoch, TableLog


def made_anew(look: Look, entries: Iterable[LedgerEntry]) -> ControlDocument:
    """The document of a look that found none, where a log or a ledger of ours is.

    What was decided last may be lost, and its runner stalled. So nothing is added to the live
    epoch: the number of the next one lies further on, and all before it are fenced.
    """
    log = look.log or look.aside
    epochs = set(log.epochs) if isinstance(log, TableLog) else set()
    if look.incarnation is not None:
        # A batch may have been decided in an epoch that never reached the log.
        epochs |= {Epoch(look.folder, look.incarnation, entry.epoch) for entry in entries}
    ours = [epoch for epoch in epochs if epoch.folder == look.folder]
    if not ours:
        return look.control
    forgotten = None
    if look.incarnation is not None:
        following = max(epoch.number for epoch in ours) + 1
        forgotten = Epoch(look.folder, look.incarnation, following)
    return rebuilt_from_log(look.control, ours, forgotten, look.at)


def rebuilt_from_log(
    control: ControlDocument, epochs: Iterable[Epoch], forgotten: Epoch | None, now: datetime
) -> ControlDocument:
    """A lost document made anew from the epochs that log and ledger remember.

    `forgotten` follows them all. It may have been decided, and its runner may be stalled: it is
    remembered to be fenced, and its number is not used again.
    """
    ours = sorted(epochs, key=lambda epoch: epoch.number)
    if forgotten is not None:
        ours.append(forgotten)
    return replace(
        control,
        epoch=max((epoch.number for epoch in ours), default=0),
        epochs=to_fence(control.epochs, (epoch.app_id for epoch in ours)),
        rebuilt=now,
    )


def has_forgotten(look: Look) -> bool:
    """Whether files have their places for good that the control document does not know."""
    life = look.life
    return life is not None and look.filing.has_ledger and life.known_through < placed_through(look)


def remembered(look: Look, entries: Iterable[LedgerEntry]) -> ControlDocument | None:
    """The document with what the ledger says of those files; None when it does not reach so far."""
    life, through = look.life, placed_through(look)
    assert life is not None
    said = tuple(effective(entries, look.filing, FENCED).values())
    known = tuple(digest for digest in said if digest.sequence <= through)
    if not known or known[-1].sequence < through:
        return None
    epoch = look.live[0] if look.live else Epoch(look.folder, life.incarnation, look.control.epoch)
    batch = DecidedBatch(
        kind=BatchKind.EXTEND,
        app_id=epoch.app_id,
        first=known[0].sequence,
        last=through,
        files=known,
    )
    # It may have been lost in the middle of a reseed.
    until = Position(max(life.reseeding_until, *(digest.sequence for digest in said)))
    return with_life(look.control, replace(life, batches=(batch,), reseeding_until=until))
