"""A table is known in the catalog, or could not be made so."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from openmirror.table.control import ControlDocument, Unregistered


def registered(control: ControlDocument, failure: str | None, at: datetime) -> ControlDocument:
    """The document once the catalog has the table; with the reason when it has it not.

    What failed before in the same words keeps its time.
    """
    known = control.unregistered
    if failure is None:
        return replace(control, unregistered=None)
    if known is not None and known.reason == failure:
        return control
    return replace(control, unregistered=Unregistered(at, failure))
