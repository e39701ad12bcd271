"""What holds a table: an operator, its mirror, or mirroring.json."""

from __future__ import annotations

from openmirror.plan.decisions import Held, HeldBy
from openmirror.plan.observed import ObservedState, TablePolicy
from openmirror.plan.stopping import hold_of_stop
from openmirror.table.control import Hold, RequestKind


def held(observed: ObservedState) -> Held | None:
    """What holds the table; its own hold comes first. An `undrop` is carried out all the same."""
    if own := _own_hold(observed):
        return Held(own)
    if observed.control.asks_for(RequestKind.UNDROP) and observed.retained is not None:
        return None
    if observed.mirror_hold:
        return Held(observed.mirror_hold, HeldBy.MIRROR)
    if isinstance(observed.policy, TablePolicy) and not observed.policy.mounted:
        return Held(None, HeldBy.MOUNTED_TABLES)
    return None


def _own_hold(observed: ObservedState) -> Hold | None:
    """The operator's hold; what `undrop` brings back is held from the moment it is in its place,
    and what `reseed --through` rebuilds from the moment it has come so far."""
    request = observed.control.request
    if request is None or not observed.control.asks_for(RequestKind.UNDROP):
        return observed.control.hold or hold_of_stop(observed)
    if observed.log is not None:
        return observed.control.hold or Hold(observed.at, request.by, "brought back by undrop")
    return None if observed.retained is not None else observed.control.hold
