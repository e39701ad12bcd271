"""What `history` shows of a table beside commits: acts of operators, problems that are over."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from openmirror.errors import Problem
from openmirror.plan.observed import ObservedState
from openmirror.plan.rules import still_holds, what_changed
from openmirror.table.control import Act, ControlDocument, Dropped, Ended

MOST_ACTS = 100


def with_act(control: ControlDocument, act: Act) -> ControlDocument:
    """Remember what an operator did; the oldest go first."""
    return replace(control, acts=(*control.acts, act)[-MOST_ACTS:])


MOST_ENDED = 20


def with_end(control: ControlDocument, problem: Problem, at: datetime, how: str) -> ControlDocument:
    """Remember that a problem is over, and why; the oldest go first."""
    ended = (*control.ended, Ended(problem, at, how))[-MOST_ENDED:]
    return replace(control, ended=ended)


MOST_DROPS = 20


def with_drop(control: ControlDocument, drop: Dropped) -> ControlDocument:
    """Remember a drop; the oldest go first."""
    return replace(control, drops=(*control.drops, drop)[-MOST_DROPS:])


def with_end_by(
    control: ControlDocument, observed: ObservedState, problem: Problem
) -> ControlDocument:
    """Remember that the recorded problem is over, if this one takes its place.

    Another rule, or another file, ends the problem before it. The same file that is bad in another
    way now is still one problem.
    """
    old = control.problem
    if old is None or (old.code, old.file) == (problem.code, problem.file):
        return control
    return with_end(control, old, observed.at, how_it_ended(observed, old))


def how_it_ended(observed: ObservedState, problem: Problem) -> str:
    """Why a recorded problem is not the table's any more."""
    if changed := what_changed(observed, problem):
        return changed
    if still_holds(observed, problem):
        return "the table stops before it, at another problem"
    return "its cause is gone"
