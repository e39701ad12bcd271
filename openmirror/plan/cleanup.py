"""`plan_cleanup`: which applied files may leave the folder, and which archived ones may go.

`expired_drop`: whether a dropped table may go as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from openmirror.plan.facts import LandedFile
from openmirror.plan.holding import held
from openmirror.plan.observed import ObservedState, TablePolicy
from openmirror.plan.overwrites import is_gone, overwrites
from openmirror.protocol.names import ETag
from openmirror.protocol.sequence import Position, Sequence
from openmirror.table.layout import StorePath


@dataclass(frozen=True)
class Cleanup:
    """What one pass does to one table."""

    moves: tuple[LandedFile, ...] = ()
    """Files to move to the archive, oldest first; the pass ends at the first that fails."""
    purge_through: int = 0
    """Archived files up to this number are deleted; 0 deletes none."""


ARCHIVE_RETENTION = timedelta(days=7)
"""The protocol's own figure (PROTOCOL §8.1)."""


def plan_cleanup(
    observed: ObservedState, now: datetime, kept_from: Position | None = None
) -> Cleanup:
    """Nothing while a changed file is not accepted, while held, and between two epochs.

    Files behind `kept_from` stay, which the table's history has not applied. A history moves none.

    Also one with the same bytes stays until a reconciliation has written its new ETag down: it
    would count as another file once a higher number was moved away.
    """
    record, live = observed.record, observed.live
    decided = observed.control.decided
    if record is None or live is None or held(observed) or any(overwrites(observed)):
        return Cleanup()
    if decided is None or decided.app_id != live[0].app_id:
        return Cleanup()
    newest = _newest(observed)
    applied = {(file.sequence, file.etag) for file in record.applied_files(observed.applied)}
    moves = []
    for file in observed.files.values():
        known = _applied_as(observed, applied, file)
        if kept_from is not None and file.sequence > kept_from:
            break
        if known and not file.archived and not is_gone(observed, file) and file.name not in newest:
            moves.append(file)
    reseeding = live[1] < record.reseeding_until
    # The hour is the one in which the last of them was moved: count from its end.
    kept = ARCHIVE_RETENTION + timedelta(hours=1)
    old = [item.through for item in record.archived if item.hour + kept <= now]
    if observed.folder.is_history:
        moves = []
    return Cleanup(tuple(moves), 0 if reseeding else max(old, default=0))


def expired_drop(observed: ObservedState, now: datetime) -> StorePath | None:
    """A dropped table whose retention has ended, while nobody has asked for it back."""
    dropped = observed.control.dropped
    if (
        dropped is None
        or observed.retained is None
        or observed.incarnation
        or observed.control.request
        or held(observed)
    ):
        return None
    policy = observed.policy if isinstance(observed.policy, TablePolicy) else None
    ended = policy is not None and dropped.at + policy.retention <= now
    return observed.retained.path if ended else None


def _newest(observed: ObservedState) -> frozenset[str]:
    """Files that stay, because publishers read the next number from them: one a partition."""
    newest: dict[str, LandedFile] = {}
    for file in observed.files.values():
        before = newest.get(file.partition)
        if not file.archived and (before is None or _counts_more(file, before)):
            newest[file.partition] = file
    behind = (file for view in observed.ledger.partitions for file in view.waiting)
    for file in behind:
        if _counts_more(file, newest.get(file.partition, file)):
            newest[file.partition] = file
    return frozenset(file.name for file in newest.values())


def _counts_more(file: LandedFile, before: LandedFile) -> bool:
    return (file.number or 0, file.sequence) > (before.number or 0, before.sequence)


def _applied_as(
    observed: ObservedState, applied: set[tuple[Sequence, ETag]], file: LandedFile
) -> bool:
    """Whether this very content was applied, or passed over by an operator."""
    if file.sequence > observed.applied or observed.record is None:
        return False
    if observed.record.skipped(file.sequence, file.etag):
        return True
    return (file.sequence, file.etag) in applied
