"""Files in folders below one root, and what is read of change files without an engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from openmirror.plan.facts import FileFacts, LandedFile
from openmirror.plan.read_rules import ReadRules
from openmirror.protocol.checksums import Checksum
from openmirror.protocol.names import ETag, Incarnation
from openmirror.protocol.rules import Broken
from openmirror.protocol.text_format import TextFormat
from openmirror.table.layout import StorePath


@dataclass(frozen=True)
class Entry:
    """One direct child of a folder."""

    name: str
    is_folder: bool
    size: int
    """Bytes; 0 for folders."""
    modified: datetime
    etag: ETag


@dataclass(frozen=True)
class UnseenEntry(Entry):
    """A link behind which nothing can be seen: it may be a file or a folder."""


@dataclass(frozen=True)
class Listing:
    """The complete list of a folder's children, and the store's own clock when it was made."""

    at: datetime
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Content:
    """Bytes of one file, and the ETag of the content that they are part of."""

    data: bytes
    etag: ETag
    size: int
    """Bytes of the whole file, whatever part `data` is."""
    growing: bool = False
    """Whether the store still copies into it, so that nothing of it may be believed yet."""


class Absent(StrEnum):
    """Stands where an ETag does, for "there must be no such file"."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


class StreamedFile(Protocol):
    """A file that is sent in parts, so that it may be larger than memory.

    An append or a finish that raises has changed nothing that counts, and may be repeated.
    """

    def append(self, data: bytes | memoryview) -> None:
        """Send the next part of the file's body.

        Every part is one request in a storage account, which takes 50,000 parts a file: a part
        should have some MiB. Raises NotThere when the body was lost.
        """
        ...

    def finish(self, tail: bytes) -> ETag:
        """Give the file the content "all parts, then `tail`", and return its new ETag.

        May be called again with another tail: then only the tail is sent. Raises NotThere when
        the body was lost, because the file was moved, deleted or replaced meanwhile.
        """
        ...

    def discard(self) -> None:
        """Delete the file under its name; a file that was moved stays.

        A storage account drops parts that were never finished by itself, after a week.
        """
        ...


class FileStore(Protocol):
    """One root: files in folders, conditional writes and atomic moves.

    Every method raises NotThere when what it names is missing, and AccessDenied with its place
    when that is refused; none answers an empty result for a folder that is not there, since an
    unreadable zone must never look like an empty one.
    """

    def list_folder(self, folder: StorePath) -> Listing:
        """All direct children, complete, by name."""
        ...

    def list_from(self, folder: StorePath, start: str) -> tuple[Entry, ...]:
        """All direct children whose names do not come before `start`, by name.

        For names of ASCII alone: only of these every store has the same order.
        """
        ...

    def incarnation(self, folder: StorePath) -> Incarnation | None:
        """The identity of a folder from its creation to its deletion; None without a folder.

        A folder that was deleted and created again has another one, whatever its name.
        """
        ...

    def read(self, path: StorePath, offset: int = 0, length: int | None = None) -> Content:
        """A range of a file's bytes, all of one content; a range past the end is cut short."""
        ...

    def write(self, path: StorePath, data: bytes, only_if: ETag | Absent | None = None) -> ETag:
        """Replace a file's content at once, making folders as needed; readers see all or nothing.

        Raises ConditionFailed, and writes nothing, unless `only_if` holds at that very moment.
        """
        ...

    def stream(self, path: StorePath) -> StreamedFile:
        """Begin a file that is sent in parts, making folders as needed.

        A file that has this name is replaced, at the latest by the first `finish`. Until then
        readers of the name may find no file, the old one or a part of the new one: give it a
        name that nothing reads, and move it once it is finished. A crash leaves a file of this
        name, or nothing.
        """
        ...

    def move_file(self, source: StorePath, destination: StorePath, etag: ETag) -> None:
        """Rename a file whose content is still the one of `etag`.

        Raises ConditionFailed when it is not, AlreadyThere when the destination exists. A crash
        may leave the file under both names, never under none.
        """
        ...

    def move_folder(self, source: StorePath, destination: StorePath) -> None:
        """Rename a folder with all it holds; raises AlreadyThere when the destination exists."""
        ...

    def delete_file(self, path: StorePath) -> None:
        """Remove one file."""
        ...

    def delete_folder(self, folder: StorePath) -> None:
        """Remove a folder with all it holds."""
        ...


class Inspector(Protocol):
    """Reads of a change file only what describes it: a footer, not the data."""

    def inspect(self, path: StorePath, entry: Entry, text: TextFormat | None = None) -> FileFacts:
        """What the file of this listing entry is; facts carry the ETag they were read from.

        `text` says how delimited text is written; without it the file is Parquet.
        """
        ...


class RowReader(Protocol):
    """Reads the rows of one change file, only to see what is wrong with them."""

    def markers(self, path: StorePath, facts: FileFacts, rules: ReadRules) -> Iterator[object]:
        """Every row's marker in row order, as it is in the file; None for NULL.

        For files with a marker column. Those of text end before the first row that breaks a rule.
        Raises ValueError when the data of a Parquet file cannot be read.
        """
        ...

    def findings(self, path: StorePath, facts: FileFacts, rules: ReadRules) -> Iterator[Broken]:
        """What is wrong with the values of a file, all of which are read as the engine reads them.

        The first rule that they break, and before it the first warning that they give.
        """
        ...


@dataclass(frozen=True)
class Part:
    """A piece of a converted change file: some of its rows, in its order, as plain Parquet."""

    path: StorePath
    first_row: int
    """The place of its first row in the change file, counted from 0."""


@dataclass(frozen=True)
class Converted:
    """A change file as parts that hold all of its rows."""

    parts: tuple[Part, ...]
    truncated: str | None = None
    """The first time that lost what is finer than a microsecond: where it is, and what it was."""
    checksum: Checksum | None = None
    """Of the change file's bytes, where they were read once and in order."""


class Converter(Protocol):
    """Turns change files that the engine cannot read into Parquet that it can."""

    def convert(self, file: LandedFile, rules: ReadRules, into: StorePath) -> Converted | Broken:
        """Write every row of a file as parts below `into`, or say which rule a row breaks.

        Columns have the names and types of the file's facts; the marker column is there under its
        own name. Raises NotThere when the file has gone, ConditionFailed when its ETag is no
        longer the one of its facts.
        """
        ...

    def discard(self, into: StorePath) -> None:
        """Remove all parts below `into`, if there are any; what cannot be removed stays."""
        ...
