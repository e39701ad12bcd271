"""Deciding: pure functions from what was seen to what happens next."""

from openmirror.plan.decisions import Batch, Decision
from openmirror.plan.look import Limits, Look
from openmirror.plan.table import plan

__all__ = ["Batch", "Decision", "Limits", "Look", "plan"]
