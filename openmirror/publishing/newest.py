"""The newest change file of a table folder, and the state that its footers carry forward."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.errors import FolderReplaced, NotThere
from openmirror.formats.parquet.footer import columns, parse_footer
from openmirror.formats.parquet.types import column_type
from openmirror.ports import Entry, FileStore
from openmirror.protocol.names import ARCHIVE_FOLDER, ROW_MARKER_COLUMN, Incarnation, fold_case
from openmirror.protocol.rules import Broken
from openmirror.protocol.schema import Column, TableSchema, union_schema
from openmirror.protocol.sequence import ChangeFileName, parse_change_file
from openmirror.publishing.footer import (
    FOOTER_KEY,
    Predecessor,
    PublishedFooter,
    parse_published,
)
from openmirror.table.layout import StorePath, join

_TAIL = 64 << 10
"""Holds most footers, so that most files cost one small read."""
_FEW = 4
"""Footers that are read one after the other; more by threads."""
_MOST_AT_ONCE = 16


@dataclass(frozen=True)
class ReadFooter:
    """What a change file's footer says, whoever wrote it."""

    published: PublishedFooter | None
    """None where the file is not one of ours."""
    columns: TableSchema = TableSchema()
    """Columns with types that tables can have, without the marker."""
    rows: int = 0


class SizedFile(NamedTuple):
    """A file as a listing had it."""

    path: StorePath
    size: int
    """Bytes."""


@dataclass(frozen=True)
class ZoneState:
    """What the next file has to know: the newest file, and what is carried forward."""

    newest: Entry | None = None
    """None in a folder without change files."""
    sequence: int = 0
    """The newest file's number; 0 without one."""
    carried: PublishedFooter | None = None
    """What the newest footer of ours says, with the columns and rows of newer files by others."""
    newest_file: str | None = None
    """The newest file's identity; None where it is not ours."""

    @property
    def predecessor(self) -> Predecessor | None:
        """How the next file names the newest."""
        return Predecessor(self.sequence, self.newest_file) if self.newest else None

    def is_as(self, other: ZoneState) -> bool:
        """Whether the same content is the newest."""
        ours, theirs = self.newest, other.newest
        if ours is None or theirs is None:
            return ours is theirs
        return (ours.name, ours.etag) == (theirs.name, theirs.etag)


def change_files(store: FileStore, folder: StorePath) -> dict[int, Entry]:
    """The change files that lie directly in a folder, by number.

    Raises FolderReplaced without such a folder.
    """
    try:
        entries = store.list_folder(folder).entries
    except NotThere as error:
        raise gone(folder) from error
    found = {}
    for entry in entries:
        parsed = parse_change_file(entry.name)
        if isinstance(parsed, ChangeFileName) and not entry.is_folder:
            found[int(parsed.sequence)] = entry
    return found


def gone(folder: StorePath) -> FolderReplaced:
    """The folder is not there any more, or another one has its name."""
    return FolderReplaced(
        f"{folder} was deleted, or made anew, since it was opened: nothing more is written into "
        "it. Open the table again to begin it anew, with its whole initial load"
    )


def need_same_folder(store: FileStore, folder: StorePath, incarnation: Incarnation | None) -> None:
    """Raise FolderReplaced unless this is the folder that was opened (PROTOCOL §7.4)."""
    if store.incarnation(folder) != incarnation:
        raise gone(folder)


def read_footer(store: FileStore, path: StorePath, size: int | None = None) -> ReadFooter | None:
    """What a Parquet file's footer says; None where it is no whole Parquet file.

    `size` is what a listing had; with it most files cost one request. Raises NotThere without the
    file, OtherPublisher for a footer of a newer version.
    """
    size = store.read(path, 0, 0).size if size is None else size
    start = max(0, size - _TAIL)
    content = store.read(path, start, size - start)
    if content.size != size:
        return read_footer(store, path, content.size)  # it was written over
    tail = content.data
    length = int.from_bytes(tail[-8:-4], "little") + 8 if len(tail) >= 12 else 0
    if len(tail) < length <= content.size:
        tail = store.read(path, content.size - length, length).data
    if not tail.endswith(b"PAR1") or len(tail) < length:
        return None
    try:
        metadata = parse_footer(tail[-length:])
        found = columns(metadata)
    except (pa.ArrowException, OSError, ValueError):
        return None
    value = (metadata.metadata or {}).get(FOOTER_KEY)
    typed = tuple(
        Column(name, kind)
        for name, parquet in found
        if fold_case(name) != fold_case(ROW_MARKER_COLUMN)
        and not parquet.is_null
        and (kind := column_type(parquet)) is not None
    )
    published = None if value is None else parse_published(value)
    return ReadFooter(published, TableSchema(typed), int(metadata.num_rows))


def identity_of(store: FileStore, path: StorePath) -> str | None:
    """The identity that a file's footer gives it; None for one that is not ours, or not there."""
    try:
        found = read_footer(store, path)
    except NotThere:
        return None
    return found.published.file if found is not None and found.published is not None else None


def newest_of(files: dict[int, Entry]) -> tuple[int, Entry | None]:
    """The highest number and its file; 0 and None in a folder without any."""
    number = max(files, default=0)
    return number, files.get(number)


def zone_state(store: FileStore, folder: StorePath, files: dict[int, Entry]) -> ZoneState:
    """The state that the files of a folder carry; asks older ones only behind foreign ones.

    Files of other programs have no footer of ours: then the newest one that has is looked for,
    also in the archive, and what came after it counts with its columns and rows.
    """
    number, newest = newest_of(files)
    if newest is None:
        return ZoneState()
    behind: list[ReadFooter] = []
    found: PublishedFooter | None = None
    identity = None
    for path, footer in footers(store, _backwards(store, folder, files)):
        if footer.published is not None:
            found = footer.published
            identity = found.file if path == join(folder, newest.name) else None
            break
        behind.append(footer)
    carried = found or PublishedFooter(file="", previous=None)
    for footer in reversed(behind):
        union = union_schema(carried.columns, footer.columns)
        schema = carried.columns if isinstance(union, Broken) else union.schema
        carried = replace(carried, columns=schema, rows=carried.rows + footer.rows)
    return ZoneState(newest, number, carried, identity)


def footers(store: FileStore, files: Iterable[SizedFile]) -> Iterator[tuple[StorePath, ReadFooter]]:
    """Files with what their footers say, in this order; without those that have none.

    The more are asked for, the more are read at once: behind a thousand files of another program
    lies a thousand times the way to the store.
    """
    files, at_once = iter(files), 1
    while some := list(islice(files, at_once)):
        with ThreadPoolExecutor(len(some)) if len(some) > _FEW else nullcontext() as pool:
            read = partial(_footer_if_there, store)
            found = pool.map(read, some) if pool is not None else map(read, some)
            for file, footer in zip(some, found, strict=True):
                if footer is not None:
                    yield file.path, footer
        at_once = min(at_once * 2, _MOST_AT_ONCE)


def _footer_if_there(store: FileStore, file: SizedFile) -> ReadFooter | None:
    try:
        return read_footer(store, file.path, file.size)
    except NotThere:
        return None  # archived, or purged, between the listing and the read


def _backwards(store: FileStore, folder: StorePath, files: dict[int, Entry]) -> Iterator[SizedFile]:
    """Change files from the newest back; the archive is asked behind a foreign newest.

    Of a number that lies in both the archive's file counts: the other one was renamed to a number
    that was used before, and is no change of the table (PROTOCOL §13.1).
    """
    newest, entry = newest_of(files)
    if entry is not None:
        yield SizedFile(join(folder, entry.name), entry.size)
    archive = join(folder, ARCHIVE_FOLDER)
    try:
        archived = change_files(store, archive)
    except FolderReplaced:
        archived = {}
    for number in sorted((files.keys() | archived.keys()) - {newest}, reverse=True):
        if number in archived:
            yield SizedFile(join(archive, archived[number].name), archived[number].size)
        else:
            yield SizedFile(join(folder, files[number].name), files[number].size)
