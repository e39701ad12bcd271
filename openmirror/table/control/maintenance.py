"""What the control document keeps of a table's maintenance: steps that ran, and a copy of facts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class StepKind(StrEnum):
    """What one step of maintenance does to a table."""

    SURVEY = "survey"
    """Its files are read from its log, which each other step but the last one begins with."""
    COMPACT = "compact"
    """OPTIMIZE: several files become one; no row changes."""
    PURGE = "purge"
    """REORG: files are written anew without the rows that deletion vectors mark as deleted."""
    VACUUM = "vacuum"
    """Files that were removed from the table long enough ago are deleted."""
    REMOVE_MARKED = "remove-marked"
    """Rows that were marked as deleted long enough ago are removed."""


@dataclass(frozen=True, kw_only=True)
class FilesFound:
    """A copy of what the last survey of a table's files found, at one version of its log."""

    at: datetime
    version: int
    files: int
    bytes: int
    small_files: int = 0
    rows_deleted: int = 0
    """Rows that deletion vectors mark as deleted, in files that still have them."""
    dead_files: int = 0
    """Files that the log removed and nobody has deleted yet, as far as the log still has them."""
    dead_bytes: int = 0
    due: StepKind | None = None
    """What is worth doing, now or as soon as it may be done."""
    remark: str = ""
    """Why what is due is not done by itself; empty where it is."""


FORGOTTEN_STEP = 0
"""The number of a step that a lost document may have known; those that begin count from 1."""


@dataclass(frozen=True, kw_only=True)
class StepBegun:
    """A step whose end is not written down: it is underway, or its runner died or stalled."""

    kind: StepKind
    at: datetime
    bound: int
    """For a compaction: it takes files below so many bytes."""
    number: int = FORGOTTEN_STEP
    """Which of the table's steps it is, so that its runner knows it from one that began later."""


@dataclass(frozen=True, kw_only=True)
class StepDone:
    """The last step of one kind that ended well."""

    at: datetime
    seconds: float
    files: int
    """Files that were to be put together, or deleted, by the plan."""
    bytes: int


@dataclass(frozen=True, kw_only=True)
class StepFailed:
    """Steps in a row that ended in an error, not by a conflict."""

    count: int
    at: datetime
    error: str
    kind: StepKind | None = None
    """Of the last; None in a document of an earlier version."""


@dataclass(frozen=True, kw_only=True)
class MaintenanceAsked:
    """An operator asks for maintenance now, whatever the policy's bounds."""

    at: datetime
    by: str
    full: bool = False
    """Whether files that no version of the log names are to be deleted too."""


@dataclass(frozen=True, kw_only=True)
class Maintenance:
    """All of it, for one table."""

    found: FilesFound | None = None
    """None before the first survey."""
    again: bool = False
    """Whether a step was done since the survey, so that another may be worth doing."""
    dead_since: datetime | None = None
    """No file that is not deleted yet was removed before this; None when there is none."""
    vacuumed_through: datetime | None = None
    """Files that were removed before this are deleted."""
    swept_at: datetime | None = None
    """When files that no version of the log names were deleted last; before the first time, when
    its files were first surveyed."""
    steps: int = 0
    """How many have begun."""
    begun: StepBegun | None = None
    compacted: StepDone | None = None
    """A purge counts as one."""
    vacuumed: StepDone | None = None
    removed_through: datetime | None = None
    """Rows that were marked as deleted before this are removed."""
    failed: StepFailed | None = None
    failed_removal: StepFailed | None = None
    """Of marked rows: what cannot be deleted from keeps no file from being put together."""
    asked: MaintenanceAsked | None = None
