"""The landing folder is gone for good, and its table is about to be retained."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from openmirror.plan.transitions.history import with_drop, with_end
from openmirror.protocol.names import Incarnation
from openmirror.table.control import ControlDocument, Dropped


def dropped(control: ControlDocument, record: Incarnation, at: datetime) -> ControlDocument:
    """The document of a dropped table; `record` is the incarnation whose rows are retained.

    What stopped it is over with it, which history keeps. Skips, manifests and epochs stay: the
    folder may be put back, and runners of it may still be stalled.
    """
    if control.problem:
        control = with_end(control, control.problem, at, "the table was dropped")
    drop = Dropped(record, at)
    return replace(
        with_drop(control, drop), dropped=drop, missing_since=None, problem=None, failures=None
    )
