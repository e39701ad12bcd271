"""The newest change file of a table folder, and the state that its footers carry forward."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from openmirror.errors import FolderReplaced, NotThere
from openmirror.ports import Entry, FileStore
from openmirror.protocol.names import ARCHIVE_FOLDER, Incarnation
from openmirror.protocol.rules import Broken
from openmirror.protocol.schema import TableSchema, union_schema
from openmirror.protocol.sequence import ChangeFileName, parse_change_file
from openmirror.publishing.footer import Predecessor, PublishedFooter
from openmirror.publishing.positions import NOTHING_YET, SourceProgress
from openmirror.publishing.read_footers import ReadFooter, SizedFile, footers
from openmirror.table.layout import StorePath, join


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
    def columns(self) -> TableSchema:
        """Every column that landed, with the type that holds all of its values."""
        return self.carried.columns if self.carried is not None else TableSchema()

    @property
    def rows(self) -> int:
        """Change rows of this incarnation."""
        return self.carried.rows if self.carried is not None else 0

    def progress(self, source: str) -> SourceProgress:
        """How far a source is."""
        sources = self.carried.sources if self.carried is not None else {}
        return sources.get(source, NOTHING_YET)

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
