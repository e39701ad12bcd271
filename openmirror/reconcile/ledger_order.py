"""What is read only of a table with a ledger: its archive, its ledger, and names used before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from openmirror.errors import NotThere
from openmirror.plan.cut import pending
from openmirror.plan.facts import LandedFile
from openmirror.plan.needs import reads_from, replaces, rereads
from openmirror.plan.observed import ObservedState
from openmirror.plan.ordering import Rereading, applied_before, in_order
from openmirror.plan.overwrites import overwrites
from openmirror.reconcile.concurrently import side_by_side
from openmirror.reconcile.landed_files import list_landed
from openmirror.reconcile.ledger_files import read_entries
from openmirror.reconcile.root_ports import RootPorts
from openmirror.table import layout
from openmirror.table.layout import StorePath
from openmirror.table.ledger import effective


def in_ledger_order(ports: RootPorts, observed: ObservedState) -> ObservedState:
    """The observed state with its files in the ledger's order, whatever has to be read for that.

    Most observations read nothing here. A table that is read again from its beginning needs archive
    and ledger; a file that is found by its time may have a name that was used before.
    """
    reread = _reread(ports, observed) if rereads(observed) else None
    observed = in_order(observed, reread=reread)
    used: frozenset[str] = frozenset()
    asked: set[str] = set()
    while names := set(_doubtful(ports, observed)) - asked:
        asked |= names
        if not (found := _in_archive(ports, observed, names)):
            break
        used |= found
        observed = in_order(observed, used, reread)
    return observed


def _reread(ports: RootPorts, observed: ObservedState) -> Rereading:
    assert observed.incarnation is not None
    assert observed.record is not None
    archived: tuple[LandedFile, ...] = ()
    try:
        archive = layout.archive_folder(observed.folder)
        archived = list_landed(ports.store, archive, observed.naming).files
    except NotThere:
        pass
    entries = read_entries(ports.store, observed.folder, observed.incarnation)
    through = applied_before(observed)
    return Rereading(
        replaces(observed), archived, through, effective(entries, observed.naming, through)
    )


def _doubtful(ports: RootPorts, observed: ObservedState) -> Iterator[str]:
    """Files of the folder whose name may lie in the archive, as far as the next batch needs it."""
    yield from (one.file.name for one in overwrites(observed))
    if observed.naming.is_numbered or observed.record is None:
        return  # a number that was used before shows by itself
    for item in islice(
        pending(observed, observed.record, reads_from(observed)), ports.limits.batch_files + 1
    ):
        if isinstance(item, LandedFile) and not item.archived:
            yield item.name


MOST_ASKED_FOR = 20
"""So many names of one folder are asked for one by one; for more of them it is listed instead."""


def _in_archive(ports: RootPorts, observed: ObservedState, names: set[str]) -> frozenset[str]:
    archive = layout.archive_folder(observed.folder)
    by_folder: dict[StorePath, list[str]] = {}
    for name in sorted(names):
        path = layout.join(archive, *name.split("/"))
        by_folder.setdefault(layout.folder_of(path), []).append(layout.name_of(path))
    found: list[StorePath] = []

    def see(path: StorePath) -> None:
        with suppress(NotThere):
            ports.store.read(path, 0, 0)
            found.append(path)

    few = [f for f, wanted in by_folder.items() if len(wanted) <= MOST_ASKED_FOR]
    side_by_side(ports, [layout.join(f, name) for f in few for name in by_folder[f]], see)
    for folder in (folder for folder in by_folder if folder not in few):
        with suppress(NotThere):
            there = {entry.name for entry in ports.store.list_folder(folder).entries}
            found += [layout.join(folder, name) for name in by_folder[folder] if name in there]
    return frozenset(path.removeprefix(f"{archive}/") for path in found)
