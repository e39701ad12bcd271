"""Where everything lies below a root: the storage contract (INTERNALS §1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NewType

from openmirror.protocol.names import ARCHIVE_FOLDER, Incarnation, TableFolder, TableName
from openmirror.protocol.sequence import file_stem

StorePath = NewType("StorePath", str)
"""A path below a root with `/` between its parts, the container first; never starts with `/`."""

_DOCUMENT = ".json"

LANDING = StorePath("landing")
LAKE = StorePath("lake")
FILES = "Files"
ZONE = (FILES, "LandingZone")
"""The parts of a landing zone's path behind the name of its mirror."""
_MONITORING = "Monitoring"


def join(folder: StorePath, *names: str) -> StorePath:
    """A path further down."""
    return StorePath("/".join((folder, *names)))


def name_of(path: StorePath) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2]


def folder_of(path: StorePath) -> StorePath:
    """The folder that a path lies in."""
    return StorePath(path.rpartition("/")[0])


def landing_zone(mirror: str) -> StorePath:
    """Where publishers write."""
    return join(LANDING, mirror, *ZONE)


@dataclass(frozen=True)
class PathInZone:
    """A path of any file system that is a mirror's landing zone, or lies in one, by its parts."""

    root: tuple[str, ...]
    mirror: str
    below: tuple[str, ...]
    """What comes behind the zone; nothing where the path is the zone itself."""


def path_in_zone(parts: Sequence[str]) -> PathInZone | None:
    """The mirror and the root that a path is of; None for one outside of any landing zone.

    Where zones lie inside of each other, the innermost.
    """
    for at in range(len(parts) - 2 - len(ZONE), -1, -1):
        behind = at + 2 + len(ZONE)
        if parts[at] == LANDING and tuple(parts[at + 2 : behind]) == ZONE:
            return PathInZone(tuple(parts[:at]), parts[at + 1], tuple(parts[behind:]))
    return None


def monitoring(mirror: str) -> StorePath:
    """Where publishers read status."""
    return monitoring_of(landing_zone(mirror))


def monitoring_of(zone: StorePath) -> StorePath:
    """The same beside any landing zone, which may be the only name below its store's root."""
    beside = folder_of(zone)
    return join(beside, _MONITORING) if beside else StorePath(_MONITORING)


def table_folder(folder: TableFolder) -> StorePath:
    """A table's landing folder."""
    return join(landing_zone(folder.mirror), *str(folder.path).split("/"))


def archive_folder(folder: TableFolder) -> StorePath:
    """Where applied change files of a landing folder go."""
    return join(table_folder(folder), ARCHIVE_FOLDER)


def delta_table(mirror: str, name: TableName) -> StorePath:
    """Where a table's Delta log and data lie."""
    return join(LAKE, mirror, "Tables", name.schema, name.table)


def mirror_settings(mirror: str) -> StorePath:
    """Fabric's item definition with our section; optional."""
    return join(LAKE, mirror, "mirroring.json")


def control_folder(mirror: str) -> StorePath:
    """Everything of ours that is neither landed nor a table."""
    return join(LAKE, mirror, "_openmirror")


def mirror_document(mirror: str) -> StorePath:
    """The mirror's own control document."""
    return join(control_folder(mirror), "mirror.json")


def control_documents(mirror: str) -> StorePath:
    """The folder of all tables' control documents."""
    return join(control_folder(mirror), "folders")


def history_documents(mirror: str) -> StorePath:
    """The folder of the control documents of histories, in that of all others."""
    return join(control_documents(mirror), "_history")


def control_document(folder: TableFolder) -> StorePath:
    """The control document of one table of a landing folder."""
    return StorePath(f"{join(control_documents(folder.mirror), folder.key)}{_DOCUMENT}")


def ledger(folder: TableFolder, incarnation: Incarnation) -> StorePath:
    """The folder of one incarnation's ledger, with a folder for each epoch."""
    return join(control_folder(folder.mirror), "ledgers", *folder.key.split("/"), incarnation)


def ledger_entry(folder: TableFolder, incarnation: Incarnation, epoch: int, last: int) -> StorePath:
    """One entry of a ledger; names sort as their numbers."""
    return join(ledger(folder, incarnation), f"{epoch:010d}", f"{file_stem(last)}{_DOCUMENT}")


def lock_file(folder: TableFolder) -> StorePath:
    """The empty file that the lease of one landing folder's table is taken on."""
    return StorePath(f"{join(control_folder(folder.mirror), 'locks', folder.key)}.lock")


def _root_control_folder() -> StorePath:
    """Everything of ours that belongs to no mirror; no mirror can be called so."""
    return join(LAKE, "_openmirror")


def sweep_record() -> StorePath:
    """When the root was last swept, by what, and how long that took."""
    return join(_root_control_folder(), "sweep.json")


def sweep_lock() -> StorePath:
    """The empty file that the lease of the root's sweep is taken on."""
    return join(_root_control_folder(), "sweep.lock")


def events_record() -> StorePath:
    """When a landing event was last taken, whatever its mirror."""
    return join(_root_control_folder(), "events.json")


def table_of_document(name: str) -> str | None:
    """The table whose control document has this file name, if it is one."""
    return name.removesuffix(_DOCUMENT) if name.endswith(_DOCUMENT) else None


def dropped_incarnations(mirror: str, name: TableName) -> StorePath:
    """The folder of a table's retained incarnations."""
    return join(control_folder(mirror), "dropped", name.schema, name.table)


def dropped_table(mirror: str, name: TableName, incarnation: Incarnation) -> StorePath:
    """Where a dropped table waits for its retention to end."""
    return join(dropped_incarnations(mirror, name), incarnation)


def conversions(mirror: str) -> StorePath:
    """Where change files that Spark cannot read lie as Parquet, for as long as a batch is read."""
    return join(control_folder(mirror), "converted")


def conversion(mirror: str, reading: str) -> StorePath:
    """The parts of one reading of one batch."""
    return join(conversions(mirror), reading)


PART_NUMBER = 20
"""Digits of either number in a part's name."""


def converted_part(folder: StorePath, sequence: int, first_row: int) -> StorePath:
    """A part's path: the change file's sequence, and the place of the part's first row in it."""
    name = f"{sequence:0{PART_NUMBER}d}-{first_row:0{PART_NUMBER}d}.parquet"
    return join(folder, name)
