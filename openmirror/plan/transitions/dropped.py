"""The landing folder is gone for good, and its table is about to move aside."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from openmirror.control import ControlDocument, Dropped
from openmirror.protocol.names import Incarnation


def dropped(control: ControlDocument, life: Incarnation, at: datetime) -> ControlDocument:
    """The document of a dropped table; `life` is the incarnation whose rows lie aside.

    What stopped it is over with it. Skips, digests and epochs stay: the folder may be put back, and
    runners of it may still be stalled.
    """
    return replace(
        control, dropped=Dropped(life, at), missing_since=None, problem=None, failures=None
    )
