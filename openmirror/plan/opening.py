"""Which epoch comes next: the rules that `tests/simulation` proves (ARCHITECTURE §4)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from openmirror.plan.beginning import is_cut_off
from openmirror.plan.decisions import Continue
from openmirror.plan.observed import ObservedState
from openmirror.protocol.sequence import FENCED, START, Position
from openmirror.table.control import BatchKind, ControlDocument, DecidedBatch, RequestKind
from openmirror.table.log import Epoch, TableLog


@dataclass(frozen=True)
class Opening:
    """Which epoch the next batch belongs to, and the batch itself where it is decided."""

    kind: BatchKind
    epoch: Epoch
    decided: DecidedBatch | None = None


def with_known_position(log: TableLog, control: ControlDocument) -> TableLog:
    """The log with a position before a fence that its own history has lost.

    Delta deletes old commits, and a checkpoint has only the fence. What the log still says counts
    before the document's copy: it may be an older log that was put back.
    """
    known = control.applied
    if log.live or known is None or log.transactions.get(known.app_id) != FENCED:
        return log
    if log.before_fence.get(known.app_id, START) > START:
        return log
    return replace(log, before_fence={**log.before_fence, known.app_id: known.position})


def opening_of(observed: ObservedState) -> Opening | Continue:
    """The epoch that comes next, for a folder that is there and a log that is its own."""
    assert observed.incarnation is not None
    log = observed.log if isinstance(observed.log, TableLog) else None
    decided = observed.control.decided
    ours = decided is not None and is_of_this_incarnation(observed, decided)
    in_log = decided is not None and log is not None and decided.app_id in log.transactions
    in_use = max((epoch.number for epoch in log.epochs), default=0) if log else 0
    fresh = Epoch(observed.folder, observed.incarnation, max(observed.control.epoch, in_use) + 1)
    if observed.control.asks_for(RequestKind.RESEED) or is_cut_off(observed):
        return Opening(BatchKind.REPLACE, fresh)
    live = observed.live
    recut = False
    if decided and ours and decided.kind is not BatchKind.EXTEND and not in_log:
        if decided.kind is BatchKind.CONTINUE:
            holder = (log.live or log.last_fenced) if log else None
            if holder and continues_incarnation_of(decided, holder[0]):
                continues = Epoch.parse(decided.continues or "")
                return Continue(decided.epoch, continues or decided.epoch, is_decided=True)
            # Another incarnation's replace landed before its fence: there is nothing to continue.
        elif decided.files and is_as_decided(observed, decided):
            return Opening(decided.kind, decided.epoch, decided)
        # What a history begins with is chosen anew: the version of its current table may be gone.
        # Only another replace may follow a replace that was decided and not done.
        return Opening(BatchKind.REPLACE, fresh)
    if decided and ours and live and _is_next_of(decided, *live):
        if is_as_decided(observed, decided):
            return Opening(decided.kind, decided.epoch, decided)
        recut = True
    if live:
        if (
            recut
            or observed.control.epoch != live[0].number
            or observed.control.asks_for(RequestKind.ADOPT)
        ):
            return Continue(fresh, live[0], is_decided=False)
        return Opening(BatchKind.EXTEND, live[0])
    if log is not None and (before := _goes_on(observed, log)):
        return Continue(fresh, before, is_decided=False)
    return Opening(BatchKind.REPLACE, fresh)


def is_as_decided(observed: ObservedState, decided: DecidedBatch) -> bool:
    """Whether every file of a decided batch still has the content it was decided with."""
    there = [observed.files.get(manifest.sequence) for manifest in decided.files]
    return all(
        file is not None and (file.name, file.etag) == (manifest.name, manifest.etag)
        for file, manifest in zip(there, decided.files, strict=True)
    )


def continues_incarnation_of(decided: DecidedBatch, epoch: Epoch) -> bool:
    """Whether the rows that this epoch left are the ones that a decided continue goes on from."""
    epochs = (decided.epoch, Epoch.parse(decided.continues or ""))
    return any(e and (e.folder, e.incarnation) == (epoch.folder, epoch.incarnation) for e in epochs)


def is_of_this_incarnation(observed: ObservedState, decided: DecidedBatch) -> bool:
    """Whether a batch was decided for the folder as it is now."""
    epoch = decided.epoch
    return (epoch.folder, epoch.incarnation) == (observed.folder, observed.incarnation)


def is_being_replaced(observed: ObservedState) -> bool:
    """Whether a replace by the folder as it is now was decided that the log does not have yet."""
    decided = observed.control.decided
    if decided is None or decided.kind is not BatchKind.REPLACE:
        return False
    log = observed.log if isinstance(observed.log, TableLog) else None
    in_log = log is not None and decided.app_id in log.transactions
    return is_of_this_incarnation(observed, decided) and not in_log


def _is_next_of(decided: DecidedBatch, live: Epoch, applied: Position) -> bool:
    extends = decided.kind is BatchKind.EXTEND and decided.app_id == live.app_id
    return extends and decided.last > applied


def _goes_on(observed: ObservedState, log: TableLog) -> Epoch | None:
    """The epoch whose rows stay under a new one, where this incarnation has no live epoch."""
    before = log.live or log.last_fenced
    if before is None or observed.control.asks_for(RequestKind.ADOPT):
        return before[0] if before else None
    if log.live is None and (before[0].folder, before[0].incarnation) == (
        observed.folder,
        observed.incarnation,
    ):
        return before[0]
    return None
