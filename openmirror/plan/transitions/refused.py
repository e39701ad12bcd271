"""A file's data broke a rule, which only reading it shows."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from openmirror.errors import Problem
from openmirror.plan.observed import ObservedState
from openmirror.plan.transitions.history import with_end_by
from openmirror.table.control import ControlDocument


def refused(observed: ObservedState, problem: Problem, at: datetime) -> ControlDocument:
    """The document with the problem that a batch's data has: the next plan stops before that file.

    It is remembered, so that bad data is not read again every few seconds (INTERNALS §2).
    """
    control = with_end_by(observed.control, observed, problem)
    return replace(control, problem=replace(problem, since=at))
