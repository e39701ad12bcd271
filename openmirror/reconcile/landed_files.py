"""Listing the change files of a table folder, or of its archive, by the table's own rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from openmirror.plan.facts import LandedFile
from openmirror.plan.file_format import both_formats, format_of, is_open
from openmirror.plan.naming import naming_of_observed
from openmirror.plan.observed import ObservedState, UnexpectedName
from openmirror.plan.ordering import UNORDERED
from openmirror.ports import Entry, FileStore, Listing
from openmirror.protocol.naming_scheme import (
    DEEPEST_PARTITION,
    NamingScheme,
    ParsedName,
    is_partition,
    may_hold_changes,
    read_name,
)
from openmirror.protocol.rules import Broken
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
    every = _with_partitions(store, folder, listing, naming)
    return _classified(folder, listing, every, naming, archived=archived)


def with_landed(
    store: FileStore, folder: StorePath, listing: Listing, observed: ObservedState
) -> ObservedState:
    """The observed state with the change files of its listed folder, by the rules that it has.

    Raises NotThere when a partition folder is deleted meanwhile.
    """
    naming = naming_of_observed(observed)
    every = _with_partitions(store, folder, listing, naming)
    if is_open(observed):
        by_name = [(name, entry.modified.timestamp()) for name, entry in every]
        observed = replace(observed, found_format=format_of(naming, by_name))
        naming = naming_of_observed(observed)
    landed = _classified(folder, listing, every, naming)
    unexpected = landed.unexpected_names
    if is_open(observed) and (isinstance(observed.metadata, Broken) or both_formats(observed)):
        # By which rules these names are wrong, nobody knows.
        unexpected = tuple(name for name in unexpected if not name.may_hold_changes)
    return replace(observed, naming=naming, landed=landed.files, unexpected_names=unexpected)


_Named = tuple[str, Entry]


def _with_partitions(
    store: FileStore, folder: StorePath, listing: Listing, naming: NamingScheme
) -> list[_Named]:
    """Everything in a folder and its partition folders, each by its name from the folder on."""
    every: list[_Named] = []
    waiting = [("", listing)]
    while waiting:
        above, here = waiting.pop()
        for entry in here.entries:
            name = f"{above}/{entry.name}" if above else entry.name
            if (
                entry.is_folder
                and naming.partitioned
                and is_partition(entry.name)
                and name.count("/") < DEEPEST_PARTITION
            ):
                waiting.append((name, store.list_folder(layout.join(folder, *name.split("/")))))
            else:
                every.append((name, entry))
    return every


def _classified(
    folder: StorePath,
    listing: Listing,
    every: Iterable[_Named],
    naming: NamingScheme,
    *,
    archived: bool = False,
) -> Landed:
    found: list[LandedFile] = []
    unexpected_names: list[UnexpectedName] = []
    for name, entry in every:
        match read_name(naming, name):
            case NotAChangeFile(reason):
                unexpected_names.append(_unexpected(entry, name, reason, naming))
            case ParsedName() as parsed:
                found.append(_landed(folder, entry, name, parsed, naming, archived=archived))
    files = tuple(sorted(found, key=lambda file: file.name))
    return Landed(
        listing.at, files, tuple(sorted(unexpected_names, key=lambda unexpected: unexpected.name))
    )


def _unexpected(entry: Entry, name: str, reason: str, naming: NamingScheme) -> UnexpectedName:
    if entry.is_folder and not naming.partitioned:
        reason = "change files lie directly in the table folder"
        if is_partition(entry.name):
            reason += ", and in partitions' folders with isPartitionEnabled alone"
    sent = may_hold_changes(naming, name, is_folder=entry.is_folder)
    return UnexpectedName(name, reason, sent)


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
