"""A table's past: what its log still says of each version, and what of it is gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import accumulate

from openmirror.protocol.sequence import Position
from openmirror.table.log import AppId, BatchRecord


@dataclass(frozen=True, kw_only=True)
class PastCommit:
    """One version of a log, by its commit; by its checkpoint where the commit is gone."""

    version: int
    at: datetime
    """When it was committed, as it says itself."""
    operation: str = ""
    """What Delta calls it; empty where only a checkpoint is left."""
    transactions: Mapping[AppId, Position] = field(default_factory=dict)
    """Those of this commit; of a checkpoint that the log begins with, all there were."""
    batch_record: BatchRecord | None = None
    changes_rows: bool = False
    """Whether a reader finds other rows, or fewer columns, than at the version before."""
    removes_marked: bool = False
    """Whether it is the step of maintenance that removes rows which were marked long ago."""
    deletes_before: datetime | None = None
    """For a VACUUM: it deletes the files that left the table before this."""


@dataclass(frozen=True, kw_only=True)
class GoneFile:
    """A file that some versions need and that is not there."""

    path: str
    added: int
    """The first version that needs it, among those whose files are known."""
    removed: int | None
    """The first that does not any more; None where the newest does."""
    removed_at: datetime | None = None
    """When it left the table."""

    def is_needed_at(self, version: int) -> bool:
        """Whether this version cannot be read without it."""
        return self.added <= version and (self.removed is None or version < self.removed)


@dataclass(frozen=True, kw_only=True)
class Past:
    """All that is left of a table's past."""

    commits: tuple[PastCommit, ...]
    """Oldest first; those that nobody can read are left out."""
    rebuilt: frozenset[int] = frozenset()
    """Versions whose files the log still says: from its first commit, or from a checkpoint, on."""
    gone: tuple[GoneFile, ...] = ()

    @property
    def begins_with_the_table(self) -> bool:
        """Whether the log still has its first commit."""
        return bool(self.commits) and self.commits[0].version == 0

    @cached_property
    def readable(self) -> frozenset[int]:
        """Versions of which log and files are there."""
        ordered = sorted(self.rebuilt)
        lacking = dict.fromkeys((*ordered, *(v + 1 for v in ordered)), 0)
        for file in self.gone:
            lacking[file.added] = lacking.get(file.added, 0) + 1
            if file.removed is not None:
                lacking[file.removed] = lacking.get(file.removed, 0) - 1
        versions = sorted(lacking)
        counts = accumulate(lacking[version] for version in versions)
        whole = {version for version, count in zip(versions, counts, strict=True) if not count}
        return self.rebuilt & whole

    def deleted_at(self, file: GoneFile) -> datetime | None:
        """When a VACUUM deleted a file that had left the table, where the log says so."""
        if file.removed is None or file.removed_at is None:
            return None
        return next(
            (
                commit.at
                for commit in self.commits
                if commit.version >= file.removed
                and commit.deletes_before is not None
                and commit.deletes_before >= file.removed_at
            ),
            None,
        )
