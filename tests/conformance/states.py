"""What a decision leaves a table in, in the words of a vector."""

from __future__ import annotations

from openmirror.errors import SOLUTIONS
from openmirror.plan import Decision
from openmirror.plan.decisions import Held, Idle, Pause, Wait


def state_of(decision: Decision) -> object:
    match decision:
        case Idle():
            return "idle"
        case Held():
            return "held"
        case Pause(problem):
            assert SOLUTIONS[problem.code]
            return {"paused": problem.code.value, "file": problem.file}
        case Wait(waiting):
            sequence = {"sequence": str(waiting.sequence)} if waiting.sequence else {}
            where = {} if waiting.partition is None else {"partition": waiting.partition}
            return {"waiting": waiting.kind.value, **sequence, **where}
    return repr(decision)
