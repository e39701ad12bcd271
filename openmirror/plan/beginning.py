"""Whether a history begins with the rows of its current table, or follows its folder's files.

A history follows the files wherever it can: from the first one on, where its policy was set before
that was applied. Else it begins from now: with the current table's rows at a position that the log
itself has, and goes on behind it (PROTOCOL §5.9).
"""

from __future__ import annotations

from openmirror.plan.decisions import Beginning
from openmirror.plan.history import names_of_ours
from openmirror.plan.missing import first_missing
from openmirror.plan.observed import ObservedState
from openmirror.plan.soft_deletes import marks
from openmirror.protocol.sequence import START, Position, Sequence
from openmirror.table.control import BeginReason, IncarnationRecord, RequestKind
from openmirror.table.log import Epoch, TableLog


def beginning_of(observed: ObservedState) -> Beginning | None:
    """What a history that is to be made, or made anew, begins with; None: with its files."""
    log, position = _current_log(observed), current_position(observed)
    if log is None or position == START:
        return None
    why = _why(observed)
    if why is BeginReason.TURNED_ON and _can_follow(observed, position):
        return None
    return Beginning(
        table=log.path,
        table_id=log.table_id,
        version=log.version,
        position=position,
        is_soft=marks(log),
        ours=names_of_ours(log),
        why=why,
    )


def is_cut_off(observed: ObservedState) -> bool:
    """Whether a history cannot go on from what it has, whatever was decided.

    It is lost, or it needs files that its current table has applied, and that are gone or have
    other bytes by now.
    """
    if not observed.folder.is_history:
        return False
    if observed.live is None:
        return _is_lost(observed)
    through = current_position(observed)
    if first_missing(observed, through, observed.applied) is not None:
        return True
    return observed.applied < _overwritten_through(observed) <= through


def overwritten_meanwhile(observed: ObservedState) -> frozenset[Sequence]:
    """Files that a history has still to read, with other bytes than its current table has applied.

    That table's next observation finds them: the same bytes again count as those that it has read;
    over others it pauses, and its history with it (PROTOCOL §8.3).
    """
    record = _current_record(observed)
    ahead = (
        (observed.files.get(manifest.sequence), manifest)
        for manifest in (record.applied_files(current_position(observed)) if record else ())
        if manifest.sequence > observed.applied
    )
    return frozenset(
        manifest.sequence
        for file, manifest in ahead
        if file is not None and not file.archived and file.etag != manifest.etag
    )


def _overwritten_through(observed: ObservedState) -> Position:
    record = _current_record(observed)
    return record.overwritten_through if record else START


def _current_record(observed: ObservedState) -> IncarnationRecord | None:
    """What the current table beside a history knows of this incarnation of the folder."""
    if observed.current is None or observed.incarnation is None:
        return None
    return observed.current.control.record_of(observed.incarnation)


def current_position(observed: ObservedState) -> Position:
    """How far the current table beside a history has applied this incarnation of the folder."""
    log = _current_log(observed)
    if log is None or log.live is None:
        return START
    epoch, position = log.live
    ours = (observed.folder.current, observed.incarnation)
    return position if (epoch.folder, epoch.incarnation) == ours else START


def _current_log(observed: ObservedState) -> TableLog | None:
    log = observed.current.log if observed.current else None
    return log if isinstance(log, TableLog) else None


def _why(observed: ObservedState) -> BeginReason:
    if observed.control.asks_for(RequestKind.RESEED):
        return BeginReason.ASKED
    if observed.live is not None:
        return BeginReason.GAP
    return BeginReason.LOST if _is_lost(observed) else BeginReason.TURNED_ON


def _is_lost(observed: ObservedState) -> bool:
    known = observed.control.applied
    epoch = Epoch.parse(known.app_id) if known else None
    was_there = epoch is not None and epoch.incarnation == observed.incarnation
    return observed.log is None and was_there


def _can_follow(observed: ObservedState, through: Position) -> bool:
    """Whether its policy was set before the first file was applied, and all files are there."""
    record = _current_record(observed)
    if record is None or not record.with_history:
        return False
    return first_missing(observed, through) is None and record.overwritten_through == START
