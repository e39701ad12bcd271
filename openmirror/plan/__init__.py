"""Deciding: pure functions from what was seen to what happens next."""

from openmirror.plan.decisions import Batch, Decision
from openmirror.plan.observed import Limits, ObservedState
from openmirror.plan.table import plan

__all__ = ["Batch", "Decision", "Limits", "ObservedState", "plan"]
