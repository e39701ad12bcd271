"""Listing the change files of a table folder, or of its archive, by the table's own rules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from openmirror.plan.facts import LandedFile
from openmirror.plan.observed import UnexpectedName
from openmirror.plan.ordering import UNORDERED
from openmirror.ports import Entry, FileStore, Listing
from openmirror.protocol.naming_scheme import (
    DEEPEST_PARTITION,
    NamingScheme,
    ParsedName,
    is_partition,
    read_name,
)
from openmirror.protocol.sequence import NotAChangeFile
from openmirror.table import layout
from openmirror.table.layout import StorePath


@dataclass(frozen=True)
class Landed:
    """The change files of one folder and of its partition folders."""

    at: datetime
    files: tuple[LandedFile, ...]
    """By name; in a table with a ledger none has its number yet."""
    unexpected_names: tuple[UnexpectedName, ...]


def list_landed(store: FileStore, folder: StorePath, naming: NamingScheme) -> Landed:
    """All change files of an archive folder; raises NotThere without the folder."""
    return sorted_out(store, folder, store.list_folder(folder), naming, archived=True)


def sorted_out(
    store: FileStore,
    folder: StorePath,
    listing: Listing,
    naming: NamingScheme,
    *,
    archived: bool = False,
) -> Landed:
    """The change files of a listed folder; partition folders inside it are listed here.

    Raises NotThere when a partition folder is deleted meanwhile.
    """
    found: list[LandedFile] = []
    unexpected_names: list[UnexpectedName] = []
    waiting = [("", listing)]
    while waiting:
        above, here = waiting.pop()
        for entry in here.entries:
            name = f"{above}/{entry.name}" if above else entry.name
            deep = name.count("/")
            if (
                entry.is_folder
                and naming.partitioned
                and is_partition(entry.name)
                and deep < DEEPEST_PARTITION
            ):
                waiting.append((name, store.list_folder(layout.join(folder, *name.split("/")))))
                continue
            match read_name(naming, name):
                case NotAChangeFile(reason):
                    unexpected_names.append(UnexpectedName(name, reason))
                case ParsedName() as parsed:
                    found.append(_landed(folder, entry, name, parsed, naming, archived=archived))
    files = tuple(sorted(found, key=lambda file: file.name))
    return Landed(
        listing.at, files, tuple(sorted(unexpected_names, key=lambda unexpected: unexpected.name))
    )


def _landed(
    folder: StorePath,
    entry: Entry,
    name: str,
    parsed: ParsedName,
    naming: NamingScheme,
    *,
    archived: bool,
) -> LandedFile:
    in_order = parsed.number is not None and not naming.has_ledger
    return LandedFile(
        sequence=parsed.number if parsed.number is not None and in_order else UNORDERED,
        name=name,
        path=layout.join(folder, *name.split("/")),
        etag=entry.etag,
        size=entry.size,
        modified=entry.modified,
        partition=parsed.partition,
        number=parsed.number if naming.has_ledger else None,
        archived=archived,
        is_folder=entry.is_folder,
    )
