"""An operator says that a copied, renamed or restored folder is the same table as before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from openmirror.control import BatchKind, ControlDocument, DecidedBatch, FileDigest, Life
from openmirror.ledger import LedgerEntry, effective
from openmirror.plan.look import Look
from openmirror.plan.transitions.lives import with_life
from openmirror.protocol.sequence import START, Position, next_sequence
from openmirror.tablelog import Epoch, TableLog


def adopted(look: Look, epoch: Epoch, entries: Iterable[LedgerEntry] = ()) -> ControlDocument:
    """The document of a table that goes on under `epoch`, in the folder's present incarnation.

    What was known of its former life goes on. Digests are taken anew from the files that lie there,
    up to where the table was applied. `entries` are the ledger of the life before, if it has one.
    """
    before = before_adoption(look)
    through = before[1] if before else START
    if look.filing.has_ledger:
        there = _known_and_there(look, entries, through)
    else:
        there = [
            FileDigest(file.name, file.sequence, file.etag)
            for file in look.files.values()
            if not file.archived
        ]
    life = adopted_life(look.control.life, epoch, through, there)
    return with_life(look.control, life)


def before_adoption(look: Look) -> tuple[Epoch, Position] | None:
    """The epoch that an adoption goes on from, and how far it had applied."""
    assert isinstance(look.log, TableLog)  # only a table that is there can be adopted
    return look.log.live or look.log.last_fenced


def adopted_life(
    life: Life | None, epoch: Epoch, applied: Position, files: Iterable[FileDigest]
) -> Life:
    """The life of a copied or renamed folder: what was known goes on, digests are taken anew.

    The batch says how far it goes, also where no file is left to say so.
    """
    known = (
        replace(life, incarnation=epoch.incarnation)
        if life
        else Life(incarnation=epoch.incarnation)
    )
    there = tuple(file for file in files if file.sequence <= applied)
    first = there[0].sequence if there else next_sequence(START)
    batch = DecidedBatch(
        kind=BatchKind.EXTEND, app_id=epoch.app_id, first=first, last=applied, files=there
    )
    return replace(known, batches=(batch,))


def _known_and_there(
    look: Look, entries: Iterable[LedgerEntry], through: Position
) -> list[FileDigest]:
    """Files at the places that the life before, or its ledger, gave them; with today's ETags."""
    batches = look.control.life.batches if look.control.life else ()
    known = {digest.name: digest for batch in batches for digest in batch.files}
    known |= effective(entries, look.filing, through)
    etags = {file.name: file.etag for file in look.landed}
    in_order = sorted(known.values(), key=lambda digest: digest.sequence)
    return [replace(digest, etag=etags[digest.name]) for digest in in_order if digest.name in etags]
