"""Events of a storage account's landing container, and which table folder each concerns.

Events only wake up: they may come late, twice, in any order or not at all, and what they say is
never trusted (ARCHITECTURE §1).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from openmirror.protocol.names import (
    METADATA_FILE,
    SCHEMA_SUFFIX,
    ETag,
    TableFolder,
    TablePath,
    is_reserved,
)
from openmirror.protocol.naming_scheme import is_partition
from openmirror.table.layout import LANDING, StorePath, landing_zone


class EventKind(StrEnum):
    """What has happened to a file or folder."""

    FILE_WRITTEN = "file-written"
    FILE_RENAMED = "file-renamed"
    FILE_DELETED = "file-deleted"
    FOLDER_CREATED = "folder-created"
    FOLDER_RENAMED = "folder-renamed"
    FOLDER_DELETED = "folder-deleted"

    @property
    def is_of_folder(self) -> bool:
        """Whether all below it is concerned, without any event of its own."""
        return self in (self.FOLDER_CREATED, self.FOLDER_RENAMED, self.FOLDER_DELETED)


REPORTED_AS = {
    "Microsoft.Storage.BlobCreated": EventKind.FILE_WRITTEN,
    "Microsoft.Storage.BlobRenamed": EventKind.FILE_RENAMED,
    "Microsoft.Storage.BlobDeleted": EventKind.FILE_DELETED,
    "Microsoft.Storage.DirectoryCreated": EventKind.FOLDER_CREATED,
    "Microsoft.Storage.DirectoryRenamed": EventKind.FOLDER_RENAMED,
    "Microsoft.Storage.DirectoryDeleted": EventKind.FOLDER_DELETED,
}
"""The types of event that are understood, in the storage account's own words."""
CONTAINERS = "/blobServices/default/containers/"
BLOBS = "/blobs/"
"""What a subject is made of: `CONTAINERS`, the container, `BLOBS`, the path in it."""
LANDING_SUBJECT = f"{CONTAINERS}{LANDING}{BLOBS}"
"""How the subjects begin of all that happens in the landing zones."""


@dataclass(frozen=True, kw_only=True)
class LandingEvent:
    """One thing that happened, as the storage account reported it."""

    identity: str
    kind: EventKind
    path: StorePath
    """What it happened to; after a rename, its new path. As reported: it may name anything."""
    api: str = ""
    """The call that did it, such as FlushWithClose or CreateFile."""
    source: StorePath | None = None
    """After a rename: its old path, where it could be read."""
    size: int | None = None
    """Bytes; None where it was not reported."""
    etag: ETag | None = None
    time: datetime | None = None
    recursive: bool = False
    """For a deleted folder: with all that was in it."""

    @property
    def is_only_opened(self) -> bool:
        """Whether it only reports a file that was opened for writing and is still empty."""
        return self.api in ("CreateFile", "SftpCreate") and not self.size

    @property
    def may_grow(self) -> bool:
        """Whether the file may not be whole yet, and no event comes when it is.

        On accounts with a hierarchical namespace Copy Blob is reported when the copy begins.
        """
        return self.api == "CopyBlob" and self.kind is EventKind.FILE_WRITTEN


@dataclass(frozen=True)
class NoEvent:
    """A message, or a part of one, that is no event; the reason is for people."""

    reason: str


@dataclass(frozen=True)
class OtherEvent:
    """An event that is not about files and folders."""

    identity: str
    reason: str


ReadEvent = LandingEvent | OtherEvent | NoEvent


@dataclass(frozen=True)
class Inside:
    """A path inside a table folder: directly, or in folders that may be partitions."""

    folder: TableFolder
    name: str


@dataclass(frozen=True)
class Elsewhere:
    """A path that no table depends on, and why."""

    reason: str


LONGEST_PATH = 1024
"""Characters of a path below its container; the store takes no more."""
LONGEST_NAME = 255


def location_of(path: StorePath) -> TableFolder | Inside | Elsewhere:
    """Which table folder a path is, or lies directly in; total, whatever the path is made of."""
    container, *parts = path.split("/")
    if container != LANDING:
        return Elsewhere(f"it is not in the container {LANDING}")
    if len(path) > len(LANDING) + 1 + LONGEST_PATH or any(len(p) > LONGEST_NAME for p in parts):
        return Elsewhere("its path is too long")
    if any(part in ("", ".", "..") or not part.isprintable() for part in parts):
        return Elsewhere("its path is not one that a publisher can mean")
    if len(parts) < 4 or StorePath("/".join((LANDING, *parts[:3]))) != landing_zone(parts[0]):
        return Elsewhere("it is not below a landing zone")
    mirror, below = parts[0], parts[3:]
    if is_reserved(below[0]):
        return Elsewhere("the protocol reserves its name")
    schema = below[0].removesuffix(SCHEMA_SUFFIX)
    if schema == below[0]:
        table, inside = TablePath("", below[0]), below[1:]
    elif not schema or len(below) == 1:
        return Elsewhere("it is a folder of several tables: the sweep observes them")
    else:
        table, inside = TablePath(schema, below[1]), below[2:]
    if is_reserved(table.table):
        return Elsewhere("the protocol reserves its name")
    folder = TableFolder(mirror, table)
    if not inside:
        return folder
    if is_reserved(inside[0]) and inside != [METADATA_FILE]:
        return Elsewhere("the protocol reserves its name")
    if not all(is_partition(part) for part in inside[:-1]):
        return Elsewhere("it lies in a folder inside a table folder")
    if len(inside) > 1 and is_reserved(inside[-1]):
        return Elsewhere("the protocol reserves its name")
    return Inside(folder, "/".join(inside))
