"""A Delta table that is gone together with change files that it was made of."""

from __future__ import annotations

from openmirror.plan.decisions import Decision, Pause, Wait, WaitKind
from openmirror.plan.observed import ObservedState
from openmirror.plan.rules import problem_of
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.sequence import START, Position, file_stem
from openmirror.table.log import Epoch


def lost_table(observed: ObservedState, first: Decision) -> Pause | None:
    """The problem of a table that cannot be made again from its files; None for every other.

    `first` is the plan of its first batch. A number that was never applied is a gap, which its
    publisher fills; one that was applied and archived will not come again, and what follows it is
    no table.
    """
    if observed.log is not None or observed.retained is not None:
        return None
    if not isinstance(first, Wait) or first.waiting.kind is not WaitKind.GAP:
        return None
    missing, through = first.waiting.sequence, _applied_before(observed)
    if missing is None or first.waiting.partition is not None or missing > through:
        return None
    detail = (
        f"the Delta table {observed.table} is gone. It was applied up to {file_stem(through)}, and "
        f"{file_stem(missing)} of it is neither in the folder nor in its archive"
    )
    return Pause(problem_of(observed, Broken(Code.TABLE_LOST, detail)))


def _applied_before(observed: ObservedState) -> Position:
    """How far this incarnation of the folder was applied, as its control document knows."""
    known = observed.control.applied
    epoch = Epoch.parse(known.app_id) if known else None
    if known is None or epoch is None or epoch.incarnation != observed.incarnation:
        return START
    return known.position
