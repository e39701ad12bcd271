"""What the services need from the outside world, as small promises that adapters keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from openmirror.layout import StorePath
from openmirror.plan import Batch
from openmirror.plan.facts import FileFacts
from openmirror.protocol.names import ETag, Incarnation, TableFolder
from openmirror.protocol.rules import Broken
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.sequence import Position
from openmirror.tablelog import AppId, BrokenLog, CommitNote, TableLog


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


class Absent(StrEnum):
    """Stands where an ETag does, for "there must be no such file"."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


class FileStore(Protocol):
    """One root: files in folders, conditional writes and atomic moves.

    Every method raises NotThere when what it names is missing; none answers an empty result for
    a folder that is not there, since an unreadable zone must never look like an empty one.
    """

    def list_folder(self, folder: StorePath) -> Listing:
        """All direct children, complete, by name."""
        ...

    def incarnation(self, folder: StorePath) -> Incarnation | None:
        """The identity of this life of a folder, None when there is no such folder.

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
    """Reads of a change file only what tells its shape: a footer, not the data."""

    def inspect(self, path: StorePath, entry: Entry) -> FileFacts:
        """What the file of this listing entry is; facts carry the ETag they were read from."""
        ...


class LogReader(Protocol):
    """Reads Delta logs."""

    def read(self, table: StorePath) -> TableLog | BrokenLog | None:
        """The newest state of the log at this path; None when there is no table."""
        ...


@dataclass(frozen=True)
class BadFile:
    """A file whose data breaks a rule, found by reading it."""

    name: str
    broken: Broken


@dataclass(frozen=True)
class Counts:
    """What a batch holds."""

    inserts: int = 0
    updates: int = 0
    deletes: int = 0

    @property
    def operations(self) -> int:
        """All rows of the batch's files."""
        return self.inserts + self.updates + self.deletes


class Prepared(Protocol):
    """A batch that was read whole and is held by the engine; later changes cannot reach it."""

    @property
    def counts(self) -> Counts:
        """Rows by kind."""
        ...

    def release(self) -> None:
        """Let go of what is held; harmless when done twice."""
        ...


class CommitResult(StrEnum):
    """How an attempt to commit ended."""

    DONE = "done"
    SKIPPED = "skipped"
    """The log already has this version, or a later one, under this appId."""
    CONFLICT = "conflict"
    """Another commit came between; nothing was written. Look again."""
    MISSING = "missing"
    """There is no table at the path, and this commit may not create one. Look again."""


@dataclass(frozen=True)
class Transaction:
    """What makes a commit happen once: its appId and its version there."""

    app_id: AppId
    version: Position


class TableEngine(Protocol):
    """Reads change files and commits to Delta tables; each commit carries one transaction.

    A commit whose transaction the log already has at the same or a later version changes nothing
    (SKIPPED). Two commits of one appId never both land when they overlap.
    """

    def read(self, batch: Batch) -> Prepared | BadFile:
        """Read and hold every change of a batch, or name the first file that breaks a rule.

        Raises NotThere when a file has gone meanwhile.
        """
        ...

    def commit(
        self, batch: Batch, prepared: Prepared, transaction: Transaction, note: str
    ) -> CommitResult:
        """Apply a batch in one commit. Only a replace may create the table."""
        ...

    def record(
        self, table: StorePath, transaction: Transaction, create: TableSchema | None = None
    ) -> CommitResult:
        """Commit a transaction that changes no row: a fence, or an epoch that continues.

        With `create`, a missing table is created empty with that schema in the same commit.
        """
        ...


class Doorbell(Protocol):
    """Tells a runner that something may be new in a folder; loses nothing by losing a ring."""

    def ring(self, folder: TableFolder) -> None:
        """Ask for a look at this folder; rings before the look starts are one ring."""
        ...

    def take(self, seconds: float) -> TableFolder | None:
        """The next folder to look at, waiting at most this long; None when none rang."""
        ...


class Step(StrEnum):
    """Named places between two effects, where a process may die and everything must hold."""

    LOOKED = "looked"
    FOLDED = "folded"
    CHECKED = "checked"
    DECIDED = "decided"
    FENCED = "fenced"
    BEFORE_COMMIT = "before-commit"
    COMMITTED = "committed"
    DROP_FENCED = "drop-fenced"
    DROPPED = "dropped"
    MOVED = "moved"
    LINKED = "linked"


class Steps(Protocol):
    """Is told of each step; does nothing in production, and stops or kills in tests."""

    def __call__(self, step: Step) -> None:
        """Called when the step has been reached."""
        ...


def no_steps(step: Step) -> None:
    """The Steps of production."""


class Clock(Protocol):
    """The time that waits and retention are counted by."""

    def __call__(self) -> datetime:
        """Now, in UTC."""
        ...


@dataclass(frozen=True)
class Progress:
    """Something that a person may want to see happen."""

    folder: TableFolder | None
    event: str
    detail: Mapping[str, object] = field(default_factory=dict)


class HistoryReader(Protocol):
    """Reads what commits of ours wrote about themselves into a Delta log."""

    def history(self, table: StorePath, limit: int) -> list[CommitNote]:
        """Our newest commits that are still in the log, newest first; none without a table."""
        ...


class MarkerReader(Protocol):
    """Reads the row marker column of one change file, and nothing else of it."""

    def markers(self, path: StorePath, column: str) -> Iterator[object]:
        """Every row's marker in row order, as it is in the file; None for NULL.

        Raises ValueError when the file's data cannot be read.
        """
        ...
