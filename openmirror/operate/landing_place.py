"""Which part of a landing zone a path is: for who names a folder and may have named another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from openmirror.ports.landing_events import Inside, location_of
from openmirror.protocol.names import ARCHIVE_FOLDER, SCHEMA_SUFFIX, TableFolder, fold_case
from openmirror.protocol.naming_scheme import is_partition
from openmirror.table import layout


@dataclass(frozen=True)
class TablePlace:
    """A table folder; of a mirror where it lies in a landing zone."""

    folder: TableFolder | None = None
    root: tuple[str, ...] = ()
    """The parts of the path of its root."""


@dataclass(frozen=True)
class OtherPlace:
    """A folder that is none of a table."""

    what: str
    """What it is, in words."""


def landing_place(parts: Sequence[str], inside: Sequence[str] = ()) -> TablePlace | OtherPlace:
    """What a folder is by the parts of its path, and by the names of the folders inside it.

    A folder outside of any landing zone is taken for a table's unless its name says otherwise.
    """
    zone = layout.path_in_zone(parts)
    if zone is not None:
        found = location_of(layout.join(layout.landing_zone(zone.mirror), *zone.below))
        if isinstance(found, TableFolder):
            return TablePlace(found, zone.root)
        if isinstance(found, Inside):
            return OtherPlace(f"{found.name} inside the table folder {found.folder}")
    own = parts[-1] if parts else ""
    if own == ARCHIVE_FOLDER:
        return OtherPlace("the archive of a table folder: what a mirror has applied")
    if zone is not None and not zone.below:
        return OtherPlace(f"the landing zone of the mirror {zone.mirror}")
    if own == layout.ZONE[-1]:
        return OtherPlace("a landing zone")
    if own.endswith(SCHEMA_SUFFIX) and (zone is None or len(zone.below) == 1):
        return OtherPlace(f"the folder of the schema {own.removesuffix(SCHEMA_SUFFIX)}")
    if zone is not None:
        return OtherPlace("a folder that a mirror leaves alone")
    if {fold_case(name) for name in inside} & {layout.LANDING, layout.LAKE}:
        return OtherPlace("a root: it holds the landing zones and the tables")
    if layout.FILES in inside:
        return OtherPlace("the folder of a mirror")
    if layout.ZONE[-1] in inside:
        return OtherPlace("the folder that a landing zone lies in")
    if is_partition(own):
        return OtherPlace("a folder of a partition")
    return TablePlace()
