"""The ledger of a table whose files are not ordered by their names (INTERNALS §9).

Each file gets the next number when the batch that it is in is decided. An entry is one batch; it
is called by the number of its last file, which is the version of the batch's Delta transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from openmirror.protocol.naming_scheme import NamingScheme
from openmirror.protocol.sequence import Position, Sequence
from openmirror.table.control import BatchKind, ManifestEntry


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """One decided batch, as it is written once and never changed."""

    epoch: int
    kind: BatchKind
    naming: NamingScheme
    """How the files were found; entries of another naming scheme number other things."""
    first: Sequence
    last: Position
    files: tuple[ManifestEntry, ...]


def effective(
    entries: Iterable[LedgerEntry], naming: NamingScheme, through: Position
) -> Mapping[str, ManifestEntry]:
    """The numbers that one incarnation's entries finally give its files, by name, up to a number.

    An epoch that goes on from another one supersedes what that one had decided behind that place;
    an epoch that replaces the table counts its files again, by the same numbers: as far as it has
    not come yet, the entries of the one before hold.
    """
    before: dict[Sequence, ManifestEntry] = {}
    numbers: dict[Sequence, ManifestEntry] = {}
    begun: set[int] = set()
    for entry in sorted(entries, key=lambda entry: (entry.epoch, entry.last)):
        if _order(entry.naming) != _order(naming):
            continue
        if entry.epoch not in begun and entry.kind is BatchKind.EXTEND:
            numbers = {number: file for number, file in numbers.items() if number < entry.first}
        elif entry.epoch not in begun:
            before, numbers = {**before, **numbers}, {}
        begun.add(entry.epoch)
        numbers.update((file.sequence, file) for file in entry.files)
    numbers = {**before, **numbers}
    return {file.name: file for number, file in sorted(numbers.items()) if number <= through}


def _order(naming: NamingScheme) -> tuple[object, bool]:
    return naming.detection, naming.partitioned
