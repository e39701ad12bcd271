"""A dropped table is back in its place."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from openmirror.table.control import ControlDocument, Hold


def restored(control: ControlDocument, at: datetime, *, hold: bool) -> ControlDocument:
    """The document of a table that is not dropped any more.

    With `hold` it came back by an operator's `undrop`, which is carried out: it is held in the same
    step, or the folder that is still missing would drop it again.
    """
    control = replace(control, dropped=None, missing_since=None)
    if not hold or control.request is None:
        return control
    back = Hold(at, control.request.by, "brought back by undrop")
    return replace(control, hold=back, request=None)
