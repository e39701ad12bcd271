"""What maintenance is made of: a table's files, a policy, and the steps that there are.

A step is bounded, so that a batch that comes meanwhile waits for no more than one. The bounds are
those of the one thing that open-source Delta and Databricks both let a caller choose: which files
OPTIMIZE takes (by their size, and by their share of deleted rows), and how old a removed file must
be for VACUUM.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

MIB = 1 << 20
UNBOUNDED = 1 << 62
"""The bound of a compaction that does not choose its files by their size."""


class MaintenanceMode(StrEnum):
    """Who maintains a table."""

    AUTO = "auto"
    """A runner, whenever the table has nothing to do."""
    OFF = "off"
    """Somebody else, such as Databricks' predictive optimization; or an operator, by asking."""


@dataclass(frozen=True, kw_only=True)
class MaintenancePolicy:
    """When maintenance is worth it, and how much of it one step does."""

    mode: MaintenanceMode = MaintenanceMode.AUTO
    every_commits: int = 20
    """So many commits after a survey the files are surveyed again."""
    pressing_commits: int = 200
    """After so many a table is surveyed even though its next batch is waiting."""
    small_files: int = 16
    """So few small files are left as they are."""
    small_bytes: int = 64 * MIB
    """A file below is small; two small ones fit into one of the size that is written."""
    deleted_rows: float = 0.2
    """A file of which a larger share is marked as deleted is written anew."""
    step_bytes: int = 256 * MIB
    """What one compaction reads and writes."""
    step_rows: int = 3_000_000
    """As much of it, where that is less: of files that compress well, bytes alone say little of how
    long it takes."""
    step_files: int = 5_000
    """What one VACUUM deletes."""

    @property
    def written_bytes(self) -> int:
        """How large the files become that compaction writes."""
        return 2 * self.small_bytes


class LiveFile(NamedTuple):
    """A data file of the newest version."""

    size: int
    """Bytes."""
    rows: int = 0
    """As its statistics have it; 0 where it has none."""
    deleted: int = 0
    """Rows that its deletion vector marks as deleted."""
    cube: str | None = None
    """In a clustered table: the group of files that were laid out together."""
    laid_out_by: tuple[str, ...] = ()
    """The columns by which they were."""

    @property
    def share(self) -> float:
        """Which part of its rows is deleted; all where nobody knows how many there are."""
        return self.deleted / self.rows if self.rows else float(bool(self.deleted))

    @property
    def size_that_counts(self) -> float:
        """Bytes of the rows that it has left, as Delta estimates them."""
        return self.size * (1 - self.share) if self.rows else self.size


class DeadFile(NamedTuple):
    """A data file that the log removed, for as long as it says so."""

    size: int
    removed_at: datetime


@dataclass(frozen=True, kw_only=True)
class TableFiles:
    """The files of one table at one version of its log."""

    version: int
    live: tuple[LiveFile, ...] = ()
    dead: tuple[DeadFile, ...] = ()
    since: datetime | None = None
    """When the oldest commit was written that the log still has."""
    names_all_dead: bool = True
    """Whether the log still names every file that was removed since the last VACUUM: all commits
    since then are there."""
    clustering: tuple[str, ...] = ()
    """The columns that the table is clustered by."""

    @property
    def bytes(self) -> int:
        """Of the live files."""
        return sum(file.size for file in self.live)


@dataclass(frozen=True, kw_only=True)
class Compact:
    """Write these files as fewer: OPTIMIZE, which takes all that are as it says."""

    below: int
    """Files smaller than this, in bytes."""
    written: int
    """The size of the files that come of it, in bytes."""
    share: float = 1.0
    """Also files of which more than this is deleted."""
    cube: int | None = None
    """For a clustered table: what is laid out together, in bytes."""
    files: int
    bytes: int

    @property
    def bound(self) -> int:
        """By it a later compaction shows that this one cannot land any more."""
        return self.below if self.share >= 1.0 and self.cube is None else UNBOUNDED


def full_cube(cube: int) -> int:
    """From how many bytes on files that were laid out together are left as they are.

    Where each has this many at most, none would ever have as many, and all of a table would be laid
    out again and again.
    """
    return cube // 2


@dataclass(frozen=True, kw_only=True)
class Purge:
    """Write every file anew that has deleted rows: REORG."""

    files: int
    bytes: int
    written: int

    bound = UNBOUNDED


@dataclass(frozen=True, kw_only=True)
class Vacuum:
    """Delete files that were removed long enough ago."""

    hours: int
    """How long ago, at least."""
    through: datetime
    """What was removed before this is deleted by it."""
    full: bool
    """Whether the folder is listed, for files that no version of the log names."""
    files: int
    bytes: int

    bound = 0


@dataclass(frozen=True, kw_only=True)
class RemoveMarked:
    """Remove rows that are marked as deleted: DELETE. Done twice, it removes nothing more."""

    before: datetime
    """Those that were deleted before this."""

    files = 0
    """Nobody knows before which files have such rows."""
    bytes = 0
    bound = 0


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """Nothing is worth doing, or nothing that may be done by itself."""

    remark: str = ""
    """What is due all the same, and why it is left."""


MaintenanceStep = Compact | Purge | Vacuum | RemoveMarked


def total_bytes(files: Iterable[DeadFile]) -> int:
    """Of dead files."""
    return sum(file.size for file in files)
