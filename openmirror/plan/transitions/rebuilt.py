"""A lost control document is rebuilt from the table's log, and from its ledger if it has one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from openmirror.plan.observed import ObservedState
from openmirror.plan.opening import is_being_replaced
from openmirror.plan.ordering import ordered_through
from openmirror.plan.transitions.decided import to_fence
from openmirror.plan.transitions.incarnations import with_record
from openmirror.plan.transitions.maintained import with_compaction_unknown, with_maintenance
from openmirror.protocol.sequence import FENCED, Position
from openmirror.table.control import BatchKind, ControlDocument, DecidedBatch
from openmirror.table.ledger import LedgerEntry, effective
from openmirror.table.log import Epoch, TableLog


def made_anew(observed: ObservedState, entries: Iterable[LedgerEntry]) -> ControlDocument:
    """The document of an observation whose log or ledger has an epoch that it does not know.

    It was lost, or an older one is back. What was decided last may be lost with it, and its runner
    stalled. So nothing is added to the live epoch: the number of the next one lies further on, and
    all before it are fenced. A document that knows them all stays as it is.
    """
    log = observed.log or observed.retained
    epochs = set(log.epochs) if isinstance(log, TableLog) else set()
    if observed.incarnation is not None:
        # A batch may have been decided in an epoch that never reached the log.
        epochs |= {Epoch(observed.folder, observed.incarnation, entry.epoch) for entry in entries}
    ours = [epoch for epoch in epochs if epoch.folder == observed.folder]
    newest = max((epoch.number for epoch in ours), default=0)
    if newest <= observed.control.epoch:
        return observed.control
    forgotten = None
    if observed.incarnation is not None:
        forgotten = Epoch(observed.folder, observed.incarnation, newest + 1)
    return rebuilt_from_log(observed.control, ours, forgotten, observed.at)


def rebuilt_from_log(
    control: ControlDocument, epochs: Iterable[Epoch], forgotten: Epoch | None, now: datetime
) -> ControlDocument:
    """A lost document rebuilt from the epochs that log and ledger have.

    `forgotten` follows them all. It may have been decided, and its runner may be stalled: it is
    remembered to be fenced, and its number is not used again.
    """
    ours = sorted(epochs, key=lambda epoch: epoch.number)
    if forgotten is not None:
        ours.append(forgotten)
    rebuilt = replace(
        control,
        epoch=max((epoch.number for epoch in ours), default=0),
        epochs=to_fence(control.epochs, (epoch.app_id for epoch in ours)),
        rebuilt=now,
    )
    return with_maintenance(rebuilt, lambda known: with_compaction_unknown(known, now))


def has_forgotten(observed: ObservedState) -> bool:
    """Whether files have their final numbers that the control document does not have.

    Once a replace is decided that has not landed, the document has that one, and rightly nothing
    that it replaces. The ledger has the contents of before, and by those a file that the replace
    reads anew would count as overwritten after it was applied.
    """
    record = observed.record
    if record is None or not observed.naming.has_ledger or is_being_replaced(observed):
        return False
    return record.known_through < ordered_through(observed)


def remembered(observed: ObservedState, entries: Iterable[LedgerEntry]) -> ControlDocument | None:
    """The document with what the ledger says of those files; None when it does not reach so far.

    Each file is a batch of its own. A replace that was lost with the document may still land with
    only some of them: a batch of all would count as never applied then, be forgotten with the next
    one, and its files that still lie in the folder be applied again.
    """
    record, through = observed.record, ordered_through(observed)
    assert record is not None
    numbered = tuple(effective(entries, observed.naming, FENCED).values())
    known = tuple(manifest for manifest in numbered if manifest.sequence <= through)
    if not known or known[-1].sequence < through:
        return None
    epoch = (
        observed.live[0]
        if observed.live
        else Epoch(observed.folder, record.incarnation, observed.control.epoch)
    )
    batches = tuple(
        DecidedBatch(
            kind=BatchKind.EXTEND,
            app_id=epoch.app_id,
            first=manifest.sequence,
            last=Position(manifest.sequence),
            files=(manifest,),
        )
        for manifest in known
    )
    # It may have been lost in the middle of a reseed.
    until = Position(max(record.reseeding_until, *(manifest.sequence for manifest in numbered)))
    return with_record(observed.control, replace(record, batches=batches, reseeding_until=until))
