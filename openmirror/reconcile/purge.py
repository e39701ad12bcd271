"""Which archived files a purge deletes: by their own numbers, or by those of the ledger."""

from __future__ import annotations

from collections.abc import Iterator

from openmirror.errors import NotThere
from openmirror.plan.observed import ObservedState
from openmirror.protocol.sequence import FENCED
from openmirror.reconcile.landed_files import list_landed
from openmirror.reconcile.ledger_files import read_entries
from openmirror.reconcile.root_ports import RootPorts
from openmirror.table import layout
from openmirror.table.layout import StorePath
from openmirror.table.ledger import effective


def archived_through(
    ports: RootPorts, observed: ObservedState, through: int
) -> Iterator[StorePath]:
    """Archived files up to a number, then the ledger's entries that list only such files."""
    if through <= 0 or observed.incarnation is None:
        return
    archive = layout.archive_folder(observed.folder)
    try:
        files = list_landed(ports.store, archive, observed.naming).files
    except NotThere:
        files = ()
    if not observed.naming.has_ledger:
        yield from (file.path for file in files if file.sequence <= through)
        return
    entries = read_entries(ports.store, observed.folder, observed.incarnation)
    number = {name: d.sequence for name, d in effective(entries, observed.naming, FENCED).items()}
    # A name that lies in the folder was used again: only the archived file shows that.
    there = {file.name for file in observed.landed}
    old = (f for f in files if number.get(f.name, through + 1) <= through and f.name not in there)
    yield from (file.path for file in old)
    # Entries last: what a purge leaves behind when it dies, the next one finds by them. Kept are
    # the entry of a file that still lies in the folder, from which a lost control document is
    # rebuilt, and the newest one, which says how far the ledger goes.
    newest = max((entry.last for entry in entries), default=0)
    for entry in entries:
        kept = entry.last == newest or any(entry.name in there for entry in entry.files)
        if entry.last <= through and not kept:
            yield layout.ledger_entry(
                observed.folder, observed.incarnation, entry.epoch, entry.last
            )
