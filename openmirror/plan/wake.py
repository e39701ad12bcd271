"""Which observed tables are worth waking a runner for: the sweep and the event filter ask it."""

from __future__ import annotations

from openmirror.errors import Problem
from openmirror.plan.decisions import (
    Apply,
    Continue,
    Decision,
    Drop,
    Held,
    Idle,
    Pause,
    Replace,
    Restore,
    Wait,
    WaitKind,
)
from openmirror.plan.maintaining import is_asked_for
from openmirror.plan.observed import ObservedState
from openmirror.plan.overwrites import accepted
from openmirror.plan.times import first_seen
from openmirror.protocol.rules import Code


def needs_reconcile(observed: ObservedState, decision: Decision) -> bool:
    """Whether reconciling moves the table soon, or writes down what nobody has written yet."""
    if not isinstance(decision, Held) and any(accepted(observed)):
        return True
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
        case Idle():
            return is_asked_for(observed, decision)
        case Pause(problem):
            return not is_recorded(observed, problem)
        case _:
            return False


def is_recorded(observed: ObservedState, problem: Problem) -> bool:
    """Whether the control document has this problem already."""
    recorded = observed.control.problem
    if recorded and problem.code is recorded.code is Code.ACCESS_DENIED:
        # Whoever sweeps and whoever reconciles may be two identities, and each names its own.
        return problem.file == recorded.file
    return problem.same_as(recorded)
