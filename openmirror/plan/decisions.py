"""What a plan can answer, in its order of precedence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from openmirror.errors import Problem
from openmirror.plan.facts import LandedFile
from openmirror.plan.features import TableFeatures
from openmirror.plan.observed import InsertPolicy, TablePolicy, read_rules
from openmirror.plan.read_rules import ReadRules
from openmirror.protocol.lineage import Lineage
from openmirror.protocol.names import TableFolder
from openmirror.protocol.rows import Marker, SoftDeletes
from openmirror.protocol.schema import SchemaUnion
from openmirror.protocol.sequence import START, Position, Sequence, next_sequence
from openmirror.table.control import (
    BatchKind,
    BeginReason,
    DecidedBatch,
    FrozenOptions,
    Hold,
    ManifestEntry,
)
from openmirror.table.layout import StorePath
from openmirror.table.log import Epoch


class WaitKind(StrEnum):
    """What a table can wait for."""

    GAP = "gap"
    """A number is missing before a file that is there."""
    INCOMPLETE = "incomplete"
    """The next file is still being written."""
    QUIET_PERIOD = "settle"
    """The next file is text: only a quiet period shows that its writer is done."""
    METADATA = "metadata"
    """A new folder's `_metadata.json` may still come."""
    SCHEMA = "schema"
    """No file has a typed column yet, so no table can be created."""
    GRACE = "grace"
    """The folder has just disappeared."""
    CONFIRMATION = "confirmation"
    """Many tables would be dropped at once: a person must confirm it."""


_BRIEF = timedelta(minutes=1)
"""A table may have a quiet period of days; no runner is kept for that."""


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """What a table waits for, since when and, where it ends by itself, until when."""

    kind: WaitKind
    since: datetime
    detail: str
    sequence: Sequence | None = None
    until: datetime | None = None
    file: str | None = None
    """The file that is not ready, where it is there."""
    partition: str | None = None
    """The partition that waits, where each has numbers of its own."""

    @property
    def is_brief(self) -> bool:
        """Whether it is a text file's quiet period, short enough for a runner to wait for it."""
        lasts = (
            self.until - self.since if self.until and self.kind is WaitKind.QUIET_PERIOD else None
        )
        return lasts is not None and lasts <= _BRIEF


@dataclass(frozen=True, kw_only=True)
class Beginning:
    """The rows that a history begins with: those of its current table at one version of its log."""

    table: StorePath
    table_id: str
    """The table's identity, so that none that was made there since is taken for it."""
    version: int
    position: Position
    """How far the current table was applied at that version."""
    is_soft: bool
    """Whether rows of it may be marked as deleted, which are no rows of the history."""
    ours: tuple[str, ...]
    """Its columns that no publisher sends, which are none of the history's."""
    why: BeginReason


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Consecutive change files that are applied in one commit, and how."""

    folder: TableFolder
    table: StorePath
    kind: BatchKind
    epoch: Epoch
    first: Sequence
    last: Position
    files: tuple[LandedFile, ...]
    frozen: FrozenOptions
    """The table's options, to be frozen by this batch: keys, default marker."""
    union: SchemaUnion
    """The table's schema after the batch, and how it differs from before."""
    policy: TablePolicy
    features: TableFeatures
    """What of the policy is to be set on the table before the batch, or at its creation."""
    applied: Position
    """The position that this batch starts from, or replaces."""
    may_create: bool
    """Whether there is no log, neither at the table's path nor retained."""
    is_decided: bool = False
    reread_through: Position = START
    """Up to this number the table reads files that were applied before."""
    soft: SoftDeletes | None = None
    """How deleted rows are marked; None where they are removed."""
    hardens: bool = False
    """Whether it ends soft deletes: marked rows go, and the column that says so."""
    lineage: Lineage = Lineage.NONE
    """What its rows say of the changes that wrote them."""
    begins: Beginning | None = None
    """Where it begins a history from its current table, and has no files."""
    decided_at: datetime | None = None
    """When it was decided, the same in each attempt to apply it; None before."""
    leaves_more: bool = False
    """Whether the limits end it, with files behind it; never of one that was decided before."""

    def as_of(self, decided: DecidedBatch) -> Batch:
        """The batch as it was decided."""
        # A version before this one has written no time down, nor any that depends on it.
        newest = max((file.modified for file in self.files), default=None)
        return replace(self, decided_at=decided.at or newest)

    @property
    def manifest(self) -> DecidedBatch:
        """The batch as the control document remembers it."""
        files = tuple(ManifestEntry(file.name, file.sequence, file.etag) for file in self.files)
        return DecidedBatch(
            kind=self.kind, app_id=self.epoch.app_id, first=self.first, last=self.last, files=files
        )

    @property
    def is_of_history(self) -> bool:
        """Whether its table is a history, so that its rows are versions."""
        return self.folder.is_history

    @property
    def insert_marker(self) -> Marker:
        """What marker 0 stands for: itself, or an upsert where the policy says so and keys are."""
        upserts = self.policy.insert is InsertPolicy.UPSERT and self.frozen.key_columns
        return Marker.UPSERT if upserts else Marker.INSERT

    @property
    def read_rules(self) -> ReadRules:
        """How the values of its files are read."""
        return read_rules(self.frozen, self.policy)

    @property
    def bytes(self) -> int:
        """Size of its files in the landing zone."""
        return sum(file.size for file in self.files)


class HeldBy(StrEnum):
    """What holds a table, and so what lets it go on."""

    TABLE = "table"
    """An operator's hold of this table."""
    MIRROR = "mirror"
    """An operator's hold of its whole mirror."""
    MOUNTED_TABLES = "mountedTables"
    """mirroring.json names the tables that are mirrored, and this is none of them."""


@dataclass(frozen=True)
class Held:
    """Nothing happens to the table, and it is not dropped either."""

    hold: Hold | None
    """None where mirroring.json leaves the table out."""
    scope: HeldBy = HeldBy.TABLE


@dataclass(frozen=True)
class Drop:
    """The folder is gone for good: fence every epoch and move the table to be retained."""


@dataclass(frozen=True)
class Restore:
    """A retained table is moved back to its path before anything else happens to it."""

    retained: StorePath
    hold: bool
    """Whether an operator asked for it, so that it stays as it is until resumed."""


@dataclass(frozen=True)
class Replace:
    """The table becomes this batch: a new incarnation, or a reseed."""

    batch: Batch


@dataclass(frozen=True)
class Continue:
    """A new epoch goes on from where the last one was; the rows stay."""

    epoch: Epoch
    continues: Epoch
    is_decided: bool

    @property
    def manifest(self) -> DecidedBatch:
        """The epoch as the control document remembers it."""
        return DecidedBatch(
            kind=BatchKind.CONTINUE,
            app_id=self.epoch.app_id,
            first=next_sequence(START),
            last=START,
            continues=self.continues.app_id,
        )


@dataclass(frozen=True)
class Pause:
    """A problem stops the table here."""

    problem: Problem


@dataclass(frozen=True)
class Wait:
    """The table goes on by itself once what it waits for has come."""

    waiting: Waiting


@dataclass(frozen=True)
class Apply:
    """The next batch of the live epoch."""

    batch: Batch


@dataclass(frozen=True)
class Idle:
    """Everything that was sent is applied."""


Decision = Held | Drop | Restore | Replace | Continue | Pause | Wait | Apply | Idle
Stop = Pause | Wait
