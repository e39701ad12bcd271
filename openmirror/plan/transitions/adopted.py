"""An operator says that a copied, renamed or restored folder is the same table as before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from openmirror.plan.observed import ObservedState
from openmirror.plan.transitions.incarnations import with_record
from openmirror.plan.transitions.maintained import with_compaction_unknown, with_maintenance
from openmirror.protocol.sequence import START, Position, next_sequence
from openmirror.table.control import (
    BatchKind,
    ControlDocument,
    DecidedBatch,
    IncarnationRecord,
    ManifestEntry,
)
from openmirror.table.ledger import LedgerEntry, effective
from openmirror.table.log import Epoch, TableLog


def adopted(
    observed: ObservedState, epoch: Epoch, entries: Iterable[LedgerEntry] = ()
) -> ControlDocument:
    """The document of a table that goes on under `epoch`, in the folder's present incarnation.

    The record of its former incarnation goes on. Manifests are made anew from the files that lie
    there, up to where the table was applied. `entries` are the ledger of that incarnation, if any.
    """
    before = before_adoption(observed)
    through = before[1] if before else START
    if observed.naming.has_ledger:
        there = _known_and_there(observed, entries, through)
    else:
        checksums = {known.name: known.checksum for known in _known(observed).values()}
        there = [
            ManifestEntry(file.name, file.sequence, file.etag, checksums.get(file.name))
            for file in observed.files.values()
            if not file.archived
        ]
    record = adopted_record(observed.control.record, epoch, through, there)
    control = with_record(observed.control, record)
    if control.maintenance is not None:
        return control
    # The former folder's runner may be at work: its batches are fenced, and a compaction is not.
    return with_maintenance(control, lambda known: with_compaction_unknown(known, observed.at))


def before_adoption(observed: ObservedState) -> tuple[Epoch, Position] | None:
    """The epoch that an adoption goes on from, and how far it had applied."""
    assert isinstance(observed.log, TableLog)  # only a table that is there can be adopted
    return observed.log.live or observed.log.last_fenced


def adopted_record(
    record: IncarnationRecord | None,
    epoch: Epoch,
    applied: Position,
    files: Iterable[ManifestEntry],
) -> IncarnationRecord:
    """The record of a copied or renamed folder: it goes on, with manifests made anew.

    Its batch has the position, also where no file is left to show it.
    """
    known = (
        replace(record, incarnation=epoch.incarnation)
        if record
        else IncarnationRecord(incarnation=epoch.incarnation)
    )
    there = tuple(file for file in files if file.sequence <= applied)
    first = there[0].sequence if there else next_sequence(START)
    batch = DecidedBatch(
        kind=BatchKind.EXTEND, app_id=epoch.app_id, first=first, last=applied, files=there
    )
    return replace(known, batches=(batch,))


def _known(observed: ObservedState) -> dict[str, ManifestEntry]:
    """What the record of the former incarnation has of files, by name."""
    batches = observed.control.record.batches if observed.control.record else ()
    return {manifest.name: manifest for batch in batches for manifest in batch.files}


def _known_and_there(
    observed: ObservedState, entries: Iterable[LedgerEntry], through: Position
) -> list[ManifestEntry]:
    """Files with the numbers of the former incarnation or its ledger, and with today's ETags."""
    known = _known(observed)
    known |= effective(entries, observed.naming, through)
    etags = {file.name: file.etag for file in observed.landed}
    in_order = sorted(known.values(), key=lambda manifest: manifest.sequence)
    return [
        replace(manifest, etag=etags[manifest.name])
        for manifest in in_order
        if manifest.name in etags
    ]
