"""Listing the change files of a table folder, or of its archive, by the table's own rules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from openmirror import layout
from openmirror.layout import StorePath
from openmirror.plan.facts import LandedFile
from openmirror.plan.look import Oddity
from openmirror.plan.numbering import UNPLACED
from openmirror.ports import Entry, FileStore, Listing
from openmirror.protocol.filing import (
    DEEPEST_PARTITION,
    FiledAs,
    Filing,
    is_partition,
    read_name,
)
from openmirror.protocol.sequence import NotAChangeFile


@dataclass(frozen=True)
class Landed:
    """What one folder holds, partitions and all."""

    at: datetime
    files: tuple[LandedFile, ...]
    """By name; in a table with a ledger none has its number yet."""
    oddities: tuple[Oddity, ...]


def list_landed(store: FileStore, folder: StorePath, filing: Filing) -> Landed:
    """All change files of an archive folder; raises NotThere without the folder."""
    return sorted_out(store, folder, store.list_folder(folder), filing, archived=True)


def sorted_out(
    store: FileStore, folder: StorePath, listing: Listing, filing: Filing, *, archived: bool = False
) -> Landed:
    """The change files of a folder that was listed; partition folders are listed here.

    Raises NotThere when a partition folder goes meanwhile.
    """
    found: list[LandedFile] = []
    oddities: list[Oddity] = []
    waiting = [("", listing)]
    while waiting:
        above, here = waiting.pop()
        for entry in here.entries:
            name = f"{above}/{entry.name}" if above else entry.name
            deep = name.count("/")
            if (
                entry.is_folder
                and filing.partitioned
                and is_partition(entry.name)
                and deep < DEEPEST_PARTITION
            ):
                waiting.append((name, store.list_folder(layout.join(folder, *name.split("/")))))
                continue
            match read_name(filing, name):
                case NotAChangeFile(reason):
                    oddities.append(Oddity(name, reason))
                case FiledAs() as filed:
                    found.append(_landed(folder, entry, name, filed, filing, archived=archived))
    files = tuple(sorted(found, key=lambda file: file.name))
    return Landed(listing.at, files, tuple(sorted(oddities, key=lambda oddity: oddity.name)))


def _landed(
    folder: StorePath, entry: Entry, name: str, filed: FiledAs, filing: Filing, *, archived: bool
) -> LandedFile:
    placed = filed.number is not None and not filing.has_ledger
    return LandedFile(
        sequence=filed.number if filed.number is not None and placed else UNPLACED,
        name=name,
        path=layout.join(folder, *name.split("/")),
        etag=entry.etag,
        size=entry.size,
        modified=entry.modified,
        partition=filed.partition,
        number=filed.number if filing.has_ledger else None,
        archived=archived,
        is_folder=entry.is_folder,
    )
