"""Which archived files a purge deletes: by their own numbers, or by those of the ledger."""

from __future__ import annotations

from collections.abc import Iterator

from openmirror import layout
from openmirror.errors import NotThere
from openmirror.layout import StorePath
from openmirror.ledger import effective
from openmirror.plan.look import Look
from openmirror.protocol.sequence import FENCED
from openmirror.services.landed import list_landed
from openmirror.services.ledgers import read_entries
from openmirror.services.parts import Parts


def archived_through(parts: Parts, look: Look, through: int) -> Iterator[StorePath]:
    """Archived files up to a number, and the entries of the ledger that speak of nothing else."""
    if through <= 0 or look.incarnation is None:
        return
    archive = layout.archive_folder(look.folder)
    try:
        files = list_landed(parts.store, archive, look.filing).files
    except NotThere:
        files = ()
    if not look.filing.has_ledger:
        yield from (file.path for file in files if file.sequence <= through)
        return
    entries = read_entries(parts.store, look.folder, look.incarnation)
    number = {name: d.sequence for name, d in effective(entries, look.filing, FENCED).items()}
    # A name that lies in the folder came again: the archive is all that tells.
    there = {file.name for file in look.landed}
    old = (f for f in files if number.get(f.name, through + 1) <= through and f.name not in there)
    yield from (file.path for file in old)
    # Last: what a purge leaves behind when it dies, the next one finds again. An entry of a file
    # that still lies in the folder is all that tells, should the control document be lost, and the
    # newest one tells how far the ledger goes.
    newest = max((entry.last for entry in entries), default=0)
    for entry in entries:
        kept = entry.last == newest or any(digest.name in there for digest in entry.files)
        if entry.last <= through and not kept:
            yield layout.ledger_entry(look.folder, look.incarnation, entry.epoch, entry.last)
