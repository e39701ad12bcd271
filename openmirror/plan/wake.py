"""Which observed tables are worth waking a runner for: the sweep and the event filter ask it."""

from __future__ import annotations

from openmirror.plan.decisions import (
    Apply,
    Continue,
    Decision,
    Drop,
    Pause,
    Replace,
    Restore,
    Wait,
    WaitKind,
)
from openmirror.plan.observed import ObservedState
from openmirror.plan.times import first_seen


def needs_reconcile(observed: ObservedState, decision: Decision) -> bool:
    """Whether reconciling moves the table soon, or writes down what nobody has written yet."""
    match decision:
        case Apply() | Replace() | Drop() | Continue() | Restore():
            return True
        case Wait(waiting) if waiting.kind is WaitKind.GRACE:
            return observed.control.missing_since is None
        case Wait() if first_seen(observed) != observed.control.first_seen:
            return True  # until it is written down, the wait begins anew each time
        case Wait(waiting) if waiting.is_brief:
            return True  # it ends within seconds, and a runner that has the table sits it out
        case Wait(waiting):
            return waiting.until is not None and waiting.until <= observed.at
        case Pause(problem):
            return not problem.same_as(observed.control.problem)
        case _:
            return False
