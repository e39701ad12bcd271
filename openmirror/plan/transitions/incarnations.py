"""Records of a folder's incarnations: the present one, and those that may come back."""

from __future__ import annotations

from dataclasses import replace

from openmirror.table.control import ControlDocument, IncarnationRecord

MOST_FORMER_RECORDS = 5


def with_record(control: ControlDocument, record: IncarnationRecord) -> ControlDocument:
    """The document with this as its present record; one of another incarnation becomes former."""
    others = (control.record, *control.former)
    former = tuple(o for o in others if o is not None and o.incarnation != record.incarnation)
    return replace(control, record=record, former=former[:MOST_FORMER_RECORDS])
