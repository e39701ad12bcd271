"""A history passes over what its current table passes over."""

from __future__ import annotations

from dataclasses import replace

from openmirror.plan.transitions.incarnations import with_record
from openmirror.protocol.names import Incarnation
from openmirror.table.control import ControlDocument


def skips_followed(
    control: ControlDocument, current: ControlDocument, incarnation: Incarnation
) -> ControlDocument:
    """The document of a history with the skips of its current table's; an equal one without any."""
    record = control.record_of(incarnation)
    more = [skip for skip in current.record_of(incarnation).skips if skip not in record.skips]
    if not more:
        return control
    return with_record(control, replace(record, skips=(*record.skips, *more)))
