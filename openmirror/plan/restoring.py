"""What a lost control document is made of anew: the table's log, and its ledger if it has one."""

from __future__ import annotations

from dataclasses import replace

from openmirror.control import (
    BatchKind,
    ControlDocument,
    DecidedBatch,
    Life,
    rebuilt_from_log,
    with_life,
)
from openmirror.ledger import LedgerEntry, effective
from openmirror.plan.look import Look
from openmirror.plan.numbering import placed_through
from openmirror.tablelog import Epoch, TableLog


def restored(look: Look, entries: list[LedgerEntry]) -> ControlDocument:
    """The document of a look that found none beside a log of ours."""
    log = look.log or look.aside
    epochs = set(log.epochs) if isinstance(log, TableLog) else set()
    if look.incarnation is not None:
        # A batch may have been decided in an epoch that never reached the log.
        epochs |= {Epoch(look.folder, look.incarnation, entry.epoch) for entry in entries}
    ours = [epoch for epoch in epochs if epoch.folder == look.folder]
    if not ours:
        return look.control
    control = rebuilt_from_log(look.control, ours, look.at)
    before = (log.live or log.last_fenced) if isinstance(log, TableLog) else None
    if look.incarnation is None or before is None or before[0].incarnation != look.incarnation:
        return control
    known = tuple(effective(entries, look.filing, placed_through(look)).values())
    batches = (
        (DecidedBatch(BatchKind.EXTEND, before[0].app_id, known[0].sequence, before[1], known),)
        if known
        else ()
    )
    following = [
        DecidedBatch(entry.kind, before[0].app_id, entry.first, entry.last, entry.files)
        for entry in entries
        if look.live and entry.epoch == look.live[0].number and entry.last > look.live[1]
    ]
    control = with_life(control, Life(look.incarnation, batches=(*batches, *following)))
    return replace(control, decided=following[-1]) if following else control
