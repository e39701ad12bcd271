"""What `history` shows of a table beside commits: acts of operators, problems that are over."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from openmirror.errors import Problem
from openmirror.table.control import Act, ControlDocument, Ended

MOST_ACTS = 100


def with_act(control: ControlDocument, act: Act) -> ControlDocument:
    """Remember what an operator did; the oldest go first."""
    return replace(control, acts=(*control.acts, act)[-MOST_ACTS:])


MOST_ENDED = 20


def with_end(control: ControlDocument, problem: Problem, at: datetime, how: str) -> ControlDocument:
    """Remember that a problem is over, and why; the oldest go first."""
    ended = (*control.ended, Ended(problem, at, how))[-MOST_ENDED:]
    return replace(control, ended=ended)
