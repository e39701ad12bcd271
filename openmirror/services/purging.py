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
    yield from (file.path for file in files if number.get(file.name, through + 1) <= through)
    # Last: what a purge leaves behind when it dies, the next one finds again. An entry of a file
    # that still lies in the folder is all that tells, should the control document be lost.
    there = {file.name for file in look.landed}
    for entry in entries:
        if entry.last <= through and not any(digest.name in there for digest in entry.files):
            yield layout.ledger_entry(look.folder, look.incarnation, entry.epoch, entry.last)
