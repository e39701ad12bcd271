"""Records of a folder's incarnations: the present one, and those that may come back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from openmirror.protocol.names import ETag
from openmirror.protocol.sequence import Position, Sequence
from openmirror.table.control import ControlDocument, IncarnationRecord

MOST_FORMER_RECORDS = 5


def with_record(control: ControlDocument, record: IncarnationRecord) -> ControlDocument:
    """The document with this as its present record; one of another incarnation becomes former."""
    others = (control.record, *control.former)
    former = tuple(o for o in others if o is not None and o.incarnation != record.incarnation)
    return replace(control, record=record, former=former[:MOST_FORMER_RECORDS])


def with_etags(record: IncarnationRecord, etags: Mapping[Sequence, ETag]) -> IncarnationRecord:
    """The record with the present content of some applied files taken for the one that was read."""
    batches = tuple(
        replace(
            batch,
            files=tuple(
                replace(manifest, etag=etags.get(manifest.sequence, manifest.etag))
                for manifest in batch.files
            ),
        )
        for batch in record.batches
    )
    return replace(record, batches=batches)


def with_other_bytes(
    record: IncarnationRecord, sequence: Sequence, etag: ETag
) -> IncarnationRecord:
    """The same of a file whose bytes are no longer those that were applied."""
    through = max(record.overwritten_through, Position(sequence))
    return replace(with_etags(record, {sequence: etag}), overwritten_through=through)
