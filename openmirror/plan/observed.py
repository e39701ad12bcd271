"""The observed state of a table: everything that a plan may depend on, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property

from openmirror.plan.facts import LandedFile
from openmirror.plan.maintenance_steps import MaintenancePolicy
from openmirror.plan.read_rules import BinaryText, Fractions, ReadRules
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.names import ETag, Incarnation, TableFolder, TableName, fold_case
from openmirror.protocol.naming_scheme import NamingScheme
from openmirror.protocol.rules import Broken
from openmirror.protocol.sequence import START, Position, Sequence
from openmirror.protocol.text_format import TextFormat
from openmirror.table.control import ControlDocument, FrozenOptions, Hold, IncarnationRecord
from openmirror.table.layout import StorePath
from openmirror.table.log import BrokenLog, Epoch, TableLog


class TypeChange(StrEnum):
    """What happens when a column's type grows."""

    REWRITE = "rewrite"
    """The batch rewrites the table with the wider type; every reader keeps working."""
    FEATURE = "feature"
    """Delta's type widening: cheaper on large tables, but some readers then refuse the table."""
    STOP = "stop"
    """The table pauses with SchemaMergeFailure, as in Fabric."""


class InsertPolicy(StrEnum):
    """What row marker 0 does in a table with keys."""

    AS_IS = "as-is"
    """Adds a row whatever the table holds, as the protocol says."""
    UPSERT = "upsert"
    """The same as marker 4: no key is ever there twice."""


class DeletePolicy(StrEnum):
    """What a delete does to the rows that have its key."""

    HARD = "hard"
    """It removes them, as the protocol says."""
    SOFT = "soft"
    """It marks them as deleted, and they stay."""


class HistoryPolicy(StrEnum):
    """Whether a table has a history beside it."""

    NONE = "none"
    """It has none; one that it had stays as it is."""
    SCD2 = "scd2"
    """Every version of each row is kept, with when it was valid (PROTOCOL §5.9)."""


class OnceLarge(StrEnum):
    """The third value of a switch that is on or off."""

    AUTO = "auto"
    """On once the table is so large that it gains by it; until then as the table is."""


class WholeFloats(StrEnum):
    """What a float column does in a column that the table has as an integer."""

    AS_IS = "as-is"
    """Types grow as anywhere, or the table pauses with SchemaMergeFailure."""
    INTEGER = "integer"
    """The table's column stays an integer; a value that is not whole is refused."""


class ZonelessTimestamps(StrEnum):
    """What a timestamp without a zone becomes."""

    UTC = "utc"
    """`timestamp`, taken as UTC; every reader knows it."""
    NTZ = "ntz"
    """`timestamp_ntz`, as it is; some readers refuse the table."""


class OverwrittenFiles(StrEnum):
    """What happens when an applied file is written over with other bytes."""

    PAUSE = "pause"
    """The table pauses with AppliedFileChanged."""
    IGNORE = "ignore"
    """The table goes on with what was applied, as in Fabric; a warning stays."""


@dataclass(frozen=True, kw_only=True)
class TablePolicy:
    """The settings of mirroring.json for one table: the mirror's, overridden by the table's."""

    type_change: TypeChange = TypeChange.REWRITE
    insert: InsertPolicy = InsertPolicy.AS_IS
    delete: DeletePolicy = DeletePolicy.HARD
    deleted_at: str | None = None
    """The publisher's column that says when a row was deleted; None: our own clock does."""
    purge_after: timedelta | None = None
    """How long marked rows stay; None: for good."""
    lineage: bool = False
    """Whether each row says which change wrote it last."""
    history: HistoryPolicy = HistoryPolicy.NONE
    zoneless: ZonelessTimestamps = ZonelessTimestamps.UTC
    binary_text: BinaryText | None = None
    """None: not declared, so what may be either is refused."""
    fractions: Fractions | None = None
    """None: as `TRUNCATE`, with a warning."""
    whole_floats: WholeFloats = WholeFloats.AS_IS
    overwritten: OverwrittenFiles = OverwrittenFiles.PAUSE
    deletion_vectors: bool | OnceLarge | None = None
    """None leaves the table's own property as it is; so do the two below."""
    change_data_feed: bool | None = None
    clustering: tuple[str, ...] | None = None
    retention: timedelta = timedelta(days=7)
    """How long a dropped table is kept, and of others the files that left the table."""
    asks_retention: bool = False
    """Whether mirroring.json says how long, or it is the default."""
    maintenance: MaintenancePolicy = field(default_factory=MaintenancePolicy)
    drop_grace: timedelta | None = None
    """None: as in `Limits`; the same for `quiet_period`."""
    quiet_period: timedelta | None = None
    mounted: bool = True
    """Whether the table is among those that `mountedTables` names, where it names any."""


def read_rules(frozen: FrozenOptions, policy: TablePolicy) -> ReadRules:
    """How the values of a table's files are read."""
    matched = (*frozen.key_columns, frozen.version_column or "")
    return ReadRules(
        text=frozen.text,
        binary=policy.binary_text,
        fractions=policy.fractions,
        exact=frozenset(map(fold_case, filter(None, matched))),
    )


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How large a batch may be, and how long the waits last."""

    batch_files: int = 500
    batch_rows: int = 2_000_000
    batch_bytes: int = 1 << 30
    metadata_grace: timedelta = timedelta(seconds=30)
    incomplete_grace: timedelta = timedelta(minutes=10)
    quiet_period: timedelta = timedelta(seconds=5)
    drop_grace: timedelta = timedelta(seconds=60)

    def are_passed_by(self, files: int, rows: int, size: int) -> bool:
        """Whether so much, its bytes in the landing zone among it, is more than one batch has."""
        return files > self.batch_files or rows > self.batch_rows or size > self.batch_bytes


def limits_of(policy: TablePolicy | Broken, limits: Limits) -> Limits:
    """The limits of one table: what its policy says, over what holds for the whole run."""
    if isinstance(policy, Broken):
        return limits
    grace, quiet_period = policy.drop_grace, policy.quiet_period
    return replace(
        limits,
        drop_grace=limits.drop_grace if grace is None else grace,
        quiet_period=limits.quiet_period if quiet_period is None else quiet_period,
    )


@dataclass(frozen=True)
class FormatOfFiles:
    """The format of a table of which nothing says so but its files."""

    text: TextFormat | None
    """How its delimited text is written; None for Parquet."""
    file: str
    """The first file, which it was taken from."""
    other: str | None = None
    """A file of another format."""


@dataclass(frozen=True)
class UnexpectedName:
    """A name in a table folder that is neither reserved nor a change file."""

    name: str
    reason: str
    may_hold_changes: bool = False
    """Whether its publisher may believe that it has sent these changes."""


@dataclass(frozen=True)
class PartitionView:
    """The state of one partition of a table."""

    name: str
    applied: Sequence | None
    """Its highest applied number of its own; None where files are found by their time."""
    missing: Sequence | None = None
    """The number that files of this partition wait for."""
    waiting: tuple[LandedFile, ...] = ()
    """Files behind that number."""


@dataclass(frozen=True)
class LedgerView:
    """What of a ledger table's folder is not in its order."""

    partitions: tuple[PartitionView, ...] = ()
    reused: tuple[LandedFile, ...] = ()
    """Files whose name, or number, was used before: never read."""
    skipped: tuple[LandedFile, ...] = ()
    """Files that an operator passed over."""
    reread_through: Position = START
    """Up to this number files are read that were applied before."""
    is_read: bool = False
    """Whether entries were read by this observation; they must not be newer than all else."""


@dataclass(frozen=True)
class TableBeside:
    """What a history needs of the current table of its folder."""

    log: TableLog | BrokenLog | None
    control: ControlDocument


@dataclass(frozen=True, kw_only=True)
class ObservedState:
    """What is known of one table at one moment."""

    folder: TableFolder
    name: TableName
    table: StorePath
    """Where its Delta table lies, or would lie."""
    at: datetime
    """The landing store's clock when the folder was listed."""
    incarnation: Incarnation | None
    """None when there is no landing folder."""
    control: ControlDocument
    naming: NamingScheme = field(default_factory=NamingScheme)
    """How this table's files are found and ordered."""
    landed: tuple[LandedFile, ...] = ()
    """Change files of the folder as they were listed; those of a ledger have no number yet."""
    files: Mapping[Sequence, LandedFile] = field(default_factory=dict)
    """Change files of the folder, and of the archive where one was missing, in order."""
    ledger: LedgerView = field(default_factory=LedgerView)
    """Files that are not in the order, where the table has a ledger."""
    found_format: FormatOfFiles | None = None
    """By the files that lie there, where nothing else says which format they have."""
    unexpected_names: tuple[UnexpectedName, ...] = ()
    metadata: TableMetadata | Broken | None = None
    """None when the file is missing or empty."""
    metadata_etag: ETag | None = None
    policy: TablePolicy | Broken = TablePolicy()
    policy_etag: ETag | None = None
    mirror_hold: Hold | None = None
    """An operator's hold of the whole mirror."""
    log: TableLog | BrokenLog | None = None
    retained: TableLog | BrokenLog | None = None
    """The log of the retained table, when there is none at the table's path."""
    current: TableBeside | None = None
    """The current table beside a history; None where this is none."""
    rival: TableFolder | None = None
    """Another landing folder that maps to the same table and came first."""
    drop_needs_yes: bool = False
    """Whether the mirror's bulk-drop guard asks a person before this table is dropped."""

    @cached_property
    def record(self) -> IncarnationRecord | None:
        """What the control document knows of this incarnation."""
        return self.control.record_of(self.incarnation) if self.incarnation else None

    @cached_property
    def live(self) -> tuple[Epoch, Position] | None:
        """The live epoch of the log and its position, if it is of this folder's incarnation."""
        live = self.log.live if isinstance(self.log, TableLog) else None
        if live and (live[0].folder, live[0].incarnation) == (self.folder, self.incarnation):
            return live
        return None

    @property
    def applied(self) -> Position:
        """How far this incarnation of the folder is applied."""
        return self.live[1] if self.live else START
