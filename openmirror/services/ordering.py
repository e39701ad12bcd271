"""What only a table with a ledger has to read: its archive, its ledger, and names used before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from openmirror import layout
from openmirror.errors import NotThere
from openmirror.layout import StorePath
from openmirror.ledger import effective
from openmirror.plan.cut import pending
from openmirror.plan.facts import LandedFile
from openmirror.plan.look import Look
from openmirror.plan.needs import reads_again, reads_from, replaces
from openmirror.plan.numbering import Rereading, applied_before, placed
from openmirror.plan.table import applied_file_changed
from openmirror.services.landed import list_landed
from openmirror.services.ledgers import read_entries
from openmirror.services.parts import Parts
from openmirror.services.sidebyside import side_by_side


def in_ledger_order(parts: Parts, look: Look) -> Look:
    """The look with its files in the ledger's order, whatever has to be read for that.

    Most looks read nothing here. A table that is read again from its beginning needs archive and
    ledger; a file that is found by its time may have a name that was used before.
    """
    again = _again(parts, look) if reads_again(look) else None
    look = placed(look, again=again)
    used: frozenset[str] = frozenset()
    asked: set[str] = set()
    while names := set(_doubtful(parts, look)) - asked:
        asked |= names
        if not (found := _in_archive(parts, look, names)):
            break
        used |= found
        look = placed(look, used, again)
    return look


def _again(parts: Parts, look: Look) -> Rereading:
    assert look.incarnation is not None
    assert look.life is not None
    archived: tuple[LandedFile, ...] = ()
    try:
        archive = layout.archive_folder(look.folder)
        archived = list_landed(parts.store, archive, look.filing).files
    except NotThere:
        pass
    entries = read_entries(parts.store, look.folder, look.incarnation)
    through = applied_before(look)
    return Rereading(replaces(look), archived, through, effective(entries, look.filing, through))


def _doubtful(parts: Parts, look: Look) -> Iterator[str]:
    """Files of the folder whose name may lie in the archive, as far as the next batch needs it."""
    changed = applied_file_changed(look)
    if changed is not None and changed.problem.file is not None:
        yield changed.problem.file
    if look.filing.is_numbered or look.life is None:
        return  # a number that was used before is told by the numbers
    for item in islice(pending(look, look.life, reads_from(look)), parts.limits.batch_files + 1):
        if isinstance(item, LandedFile) and not item.archived:
            yield item.name


MOST_ASKED_FOR = 20
"""So many names of one folder are asked for one by one; for more of them it is listed instead."""


def _in_archive(parts: Parts, look: Look, names: set[str]) -> frozenset[str]:
    archive = layout.archive_folder(look.folder)
    by_folder: dict[StorePath, list[str]] = {}
    for name in sorted(names):
        path = layout.join(archive, *name.split("/"))
        by_folder.setdefault(layout.folder_of(path), []).append(layout.name_of(path))
    found: list[StorePath] = []

    def see(path: StorePath) -> None:
        with suppress(NotThere):
            parts.store.read(path, 0, 0)
            found.append(path)

    few = [f for f, wanted in by_folder.items() if len(wanted) <= MOST_ASKED_FOR]
    side_by_side(parts, [layout.join(f, name) for f in few for name in by_folder[f]], see)
    for folder in (folder for folder in by_folder if folder not in few):
        with suppress(NotThere):
            there = {entry.name for entry in parts.store.list_folder(folder).entries}
            found += [layout.join(folder, name) for name in by_folder[folder] if name in there]
    return frozenset(path.removeprefix(f"{archive}/") for path in found)
