"""mirroring.json as its writers see it: every key, its type, its meaning and its limits.

The published JSON Schema (docs/mirroring.schema.json) is made of this model, so what is written
here is what editors teach.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel

from openmirror import durations
from openmirror.errors import WrongRequest
from openmirror.mirroring.choice import TableChoice, need_pattern
from openmirror.plan.maintenance_steps import MIB, MaintenanceMode
from openmirror.plan.observed import (
    DeletePolicy,
    HistoryPolicy,
    InsertPolicy,
    OnceLarge,
    OverwrittenFiles,
    TypeChange,
    WholeFloats,
    ZonelessTimestamps,
)
from openmirror.plan.read_rules import BinaryText, Fractions
from openmirror.protocol.names import TableArgument, TableName, fold_case
from openmirror.topic_address import TopicAddress

MOST_CLUSTERING = 4
"""Delta clusters by no more columns than these."""
TRIGGER = timedelta(seconds=1)
"""How often the changes of a stream are landed, where nobody says it."""
SHORTEST_PURGE = timedelta(hours=1)
SHORTEST_TRIGGER, LONGEST_TRIGGER = timedelta(milliseconds=200), timedelta(seconds=60)


def _duration(value: object) -> object:
    # JSON's numbers go the same way, so that one below 0 does not get through.
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return durations.parse(f"{value:f}" if is_number else str(value))


def _on_off_or_auto(value: object) -> bool | OnceLarge:
    if isinstance(value, bool):
        return value
    if value != OnceLarge.AUTO.value:
        raise ValueError("true, false or 'auto'")
    return OnceLarge.AUTO


def _table(text: str) -> str:
    try:
        is_unfit = TableArgument.parse(text).mirror is not None
    except ValueError:
        is_unfit = True
    if is_unfit:
        raise ValueError(
            "a table of this mirror: schema.table, such as dbo.orders; a part with a dot goes in "
            "backquotes: dbo.`orders.2024`"
        )
    return text


def _different(names: list[str]) -> list[str]:
    if len({fold_case(name) for name in names}) < len(names):
        raise ValueError("column names that differ by more than their case")
    return names


def _different_tables(tables: dict[str, TableSwitches]) -> dict[str, TableSwitches]:
    if len({table_of(name) for name in tables}) < len(tables):
        raise ValueError("table names that differ by more than their case")
    return tables


def _topic(text: str) -> str:
    try:
        TopicAddress.parse(text)
    except WrongRequest as error:
        raise ValueError(f"the URL of a topic: {error}") from None
    return text


def _trigger(value: timedelta) -> timedelta:
    if not SHORTEST_TRIGGER <= value <= LONGEST_TRIGGER:
        raise ValueError("between 0.2s and 60s")
    return value


def _purge_after(value: timedelta) -> timedelta:
    if value < SHORTEST_PURGE:
        raise ValueError("at least 1h")
    return value


def _different_topics(streams: list[StreamSource]) -> list[StreamSource]:
    # A stream has its topic's name, whatever the brokers are.
    if len({TopicAddress.parse(one.topic).pattern for one in streams}) < len(streams):
        raise ValueError("topics that differ by more than their brokers")
    return streams


def table_of(text: str) -> TableName:
    """The table that a key of `tables` names, the same for every casing."""
    return TableArgument.parse(text).name.folded


Patterns = list[Annotated[str, StringConstraints(min_length=1), AfterValidator(need_pattern)]]
DurationText = Annotated[
    timedelta,
    BeforeValidator(_duration),
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "string",
                    "pattern": r"^\s*\d+(\.\d+)?\s*([mM]?[sS]|[mM]([iI][nN])?|[hHdD])?\s*$",
                },
                {"type": "number", "minimum": 0},
            ],
            "examples": ["30s", "10m", "2h", 30],
        }
    ),
]
OnOffOrAuto = Annotated[
    bool | OnceLarge,
    BeforeValidator(_on_off_or_auto),
    WithJsonSchema({"enum": [True, False, OnceLarge.AUTO.value]}),
]
Columns = Annotated[
    list[Annotated[str, StringConstraints(min_length=1)]],
    Field(max_length=MOST_CLUSTERING),
    AfterValidator(_different),
]


class _Section(BaseModel):
    """Fabric may add keys of its own anywhere but in our section."""

    model_config = ConfigDict(alias_generator=to_camel, extra="ignore", frozen=True)


class MaintenanceBounds(_Section):
    """When maintenance is worth it, and how much one step of it does."""

    model_config = ConfigDict(title="Bounds of maintenance", extra="forbid")

    every_commits: int | None = Field(
        default=None,
        ge=1,
        description="After so many commits the table's files are surveyed again. Left out: 20.",
    )
    pressing_commits: int | None = Field(
        default=None,
        ge=1,
        description="After so many without a survey, or with so many small files left, the "
        "table is surveyed even though its next batch is waiting. Left out: 200.",
    )
    small_files: int | None = Field(
        default=None,
        ge=1,
        description="So few small files are left as they are. Left out: 16.",
    )
    small_bytes: int | None = Field(
        default=None,
        ge=MIB,
        le=1 << 34,
        description="A file of fewer bytes is small. Files that are put together become twice as "
        "large. Left out: 67108864 (64 MiB).",
    )
    deleted_rows: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="A file of which a larger part is marked as deleted is written anew. "
        "Left out: 0.2.",
    )
    step_bytes: int | None = Field(
        default=None,
        ge=MIB,
        le=1 << 40,
        description="How many bytes one compaction reads: a batch that comes meanwhile waits for "
        "it. Left out: 268435456 (256 MiB).",
    )
    step_rows: int | None = Field(
        default=None,
        ge=1,
        description="How many rows one compaction reads, where that is less. Left out: 3000000.",
    )
    step_files: int | None = Field(
        default=None,
        ge=1,
        description="How many files one VACUUM is to delete. Left out: 5000.",
    )


class Switches(_Section):
    """What can be set for all tables of a mirror, and for one; what is left out is not set."""

    model_config = ConfigDict(extra="forbid")

    insert: InsertPolicy | None = Field(
        default=None,
        description="What row marker 0, and a row without a marker, does in a table with key "
        "columns. as-is (default): always adds a row, as the protocol says. upsert: the "
        "same as marker 4, so that a row that is sent again makes no duplicate. Tables without "
        "key columns take inserts as they are.",
    )
    delete: DeletePolicy | None = Field(
        default=None,
        description="What a delete does in a table with key columns. hard (default): it removes "
        "the row. soft: the row stays, with the time in the column _deleted_at, which is NULL in "
        "all others; an update or upsert of its key removes it. A table with rows that are marked "
        "so goes on marking, whatever stands here, until `openmirror confirm-hard-deletes`.",
    )
    deleted_at: str | None = Field(
        default=None,
        description="With delete: soft, the publisher's column of times that says when a row was "
        "deleted, in the row that deletes it. Left out, or empty, or where it is NULL there: the "
        "time at which the batch was decided.",
    )
    purge_after: Annotated[DurationText, AfterValidator(_purge_after)] | None = Field(
        default=None,
        description="With delete: soft, how long a row stays that is marked as deleted, by "
        "_deleted_at; at least 1h. Longer gone ones are removed for good, up to a tenth of that "
        "later (an hour to a day). Left out: they stay.",
    )
    lineage: StrictBool | None = Field(
        default=None,
        description="Whether each row says which change wrote it last, in five more columns: "
        "_file, _sequence, _row (counted from 1), _decided_at and _operation. What was written "
        "before it was set has NULL there, and so has what is written once it is false again. "
        "Tables of live databases get three more where it is set for the mirror: _op (what "
        "happened to the row last: c, r or u), _last_op_id (where that stands in the database's "
        "log, as text that sorts in its order) and _source_ts (when it happened). Left out: false.",
    )
    history: HistoryPolicy | None = Field(
        default=None,
        description="Whether a table with key columns has a history beside it, NAME__history, with "
        "every version of its rows. none (default): it has none, and one that it had stays as it "
        "is. scd2: each version has _valid_from, _valid_to, _is_current and what opened and closed "
        "it. A table that has data already begins its history with the rows of now.",
    )
    type_change: TypeChange | None = Field(
        default=None,
        description="What happens when a column's type grows. rewrite (default): the batch "
        "rewrites the whole table with the wider type, and every reader keeps working. feature: "
        "Delta's type widening where it covers the growth, without a rewrite; readers that do not "
        "know typeWidening then refuse the table. stop: the table pauses with SchemaMergeFailure, "
        "as in Fabric.",
    )
    zoneless_timestamps: ZonelessTimestamps | None = Field(
        default=None,
        description="What a new column of timestamps without a zone becomes. utc (default): "
        "timestamp, the values taken as UTC. ntz: timestamp_ntz, the values as they are; readers "
        "that do not know timestampNtz then refuse the table. A column that the table has keeps "
        "its type.",
    )
    binary_text: BinaryText | None = Field(
        default=None,
        description="How delimited text writes the bytes of a ByteArray column: base64, or hex "
        "(two digits a byte, with 0x or \\x before them or without). Left out: base64, but a value "
        "that may as well be hexadecimal, 0x and an even number of such digits, pauses the table "
        "with ValueInvalid.",
    )
    fractions: Fractions | None = Field(
        default=None,
        description="What happens to a time that is finer than a microsecond, which tables cannot "
        "hold. truncate: what is finer is cut off. refuse: the table pauses with ValueInvalid. "
        "Left out: truncate, and status warns FractionsTruncated. Key columns and the "
        "ConditionalUpdateColumn always refuse.",
    )
    whole_floats: WholeFloats | None = Field(
        default=None,
        description="What a float column of a Parquet file does in a column that the table has as "
        "an integer. as-is (default): types grow as anywhere, or the table pauses with "
        "SchemaMergeFailure. integer: the column stays an integer, and a value that is not whole "
        "pauses the table with ValueInvalid. For writers that know NULL in floats alone.",
    )
    overwritten_files: OverwrittenFiles | None = Field(
        default=None,
        description="What happens when a file is written over with other bytes after it was "
        "applied, while it still lies in its folder. pause (default): the table pauses with "
        "AppliedFileChanged. ignore: the table goes on with what was applied, as in Fabric; the "
        "new content is never read, and the warning OverwriteIgnored stays. The same bytes again "
        "never pause a table.",
    )
    deletion_vectors: OnOffOrAuto | None = Field(
        default=None,
        description="Whether commits mark rows as deleted instead of writing their files anew: "
        "cheaper updates of large tables, but readers that do not know deletionVectors refuse the "
        "table. auto: from 128 MiB on, as the last survey of the table's files found it. Left out: "
        "as the table is, which is without when we made it.",
    )
    clustering: Columns | None = Field(
        default=None,
        description="Up to four columns that OPTIMIZE lays the table's rows out by (Delta's "
        "liquid clustering). Columns that a table does not have yet wait until it does. An empty "
        "list ends clustering. Left out: as the table is, which is without when we made it.",
    )
    drop_grace: DurationText | None = Field(
        default=None,
        description="How long the table's folder must be missing before the table is dropped. "
        "Left out: as OPENMIRROR_DROP_GRACE says, 60s by default.",
    )
    quiet_period: DurationText | None = Field(
        default=None,
        description="How long a text file must have been left alone before it is read. Left out: "
        "as OPENMIRROR_QUIET_PERIOD says, 5s by default.",
    )
    maintenance: MaintenanceMode | None = Field(
        default=None,
        description="Who compacts the table and deletes files that left it. auto (default): a "
        "runner, whenever the table has nothing to do. off: somebody else, such as Databricks' "
        "predictive optimization; `openmirror maintain` does it all the same.",
    )
    maintenance_bounds: MaintenanceBounds | None = Field(
        default=None,
        description="When maintenance of the table is worth it, and how much one step of it does.",
    )
    short_retention: StrictBool | None = Field(
        default=None,
        description="Whether retentionInDays may be less than 7: a query, or a version that "
        "somebody goes back to, that is older than that then fails.",
    )


class TableSwitches(Switches):
    """What is set for one table; it wins over what is set for the mirror."""

    model_config = ConfigDict(title="One table")

    enable_delta_change_data_feed: StrictBool | None = Field(
        default=None,
        description="Whether the table has a change data feed; wins over Fabric's own key of this "
        "name, which speaks of the whole mirror.",
    )
    retention_in_days: int | None = Field(
        default=None,
        ge=1,
        le=30,
        description="How long files stay that are no part of the table any more, and the table "
        "itself after its folder was deleted; wins over Fabric's own key of this name, which "
        "speaks of the whole mirror. Less than 7 needs shortRetention.",
    )


class StreamSource(_Section):
    """A database's stream of changes, which a runner lands in the mirror."""

    model_config = ConfigDict(title="One stream of a database", extra="forbid")

    topic: Annotated[str, AfterValidator(_topic)] = Field(
        description="The topic that Debezium writes: kafka://broker:9092/topic, or "
        "eventhubs://NAMESPACE.servicebus.windows.net/hub; several brokers with commas, and * in "
        "the topic's name for any characters. It names no user and no password: those stand in "
        "the file of OPENMIRROR_CLIENT_CONFIG.",
    )
    trigger: Annotated[DurationText, AfterValidator(_trigger)] = Field(
        default_factory=lambda: TRIGGER,
        description="How often its changes are landed, from 0.2s to 60s. Left out: 1s.",
    )

    include: Patterns = Field(
        default_factory=list,
        description="The tables that land, where these are not all: schema.table as the database "
        "calls it, and * for any characters. A database without schemas has its name there. A "
        "table that lands from now on waits for a new snapshot.",
    )
    exclude: Patterns = Field(
        default_factory=list,
        description="Tables that do not land, of these. Their folders stay as they are.",
    )
    names: dict[str, str] = Field(
        default_factory=dict,
        description='Tables that land under other names, such as {"public.orders": '
        '"sales.orders", "crm.*": "sales.crm_*"}. A table that gets another name later '
        "waits for a new snapshot; what landed under its old one stays.",
    )

    @model_validator(mode="after")
    def _names_are_possible(self) -> StreamSource:
        TableChoice.of((), (), self.names)
        return self

    @property
    def choice(self) -> TableChoice:
        """Which tables land, and under which names."""
        return TableChoice.of(self.include, self.exclude, self.names)

    @property
    def address(self) -> TopicAddress:
        """The topic, or topics."""
        return TopicAddress.parse(self.topic)


class MirrorSwitches(Switches):
    """Our own section: what is set for every table of the mirror, and for single ones."""

    model_config = ConfigDict(title="The section of openmirror")

    streams: Annotated[list[StreamSource], AfterValidator(_different_topics)] = Field(
        default_factory=list,
        description="Streams of databases that land in this mirror, for as long as `openmirror up` "
        "or a runner with --relay is at work. Others may land in it besides, by `openmirror cdc`.",
    )
    tables: Annotated[
        dict[Annotated[str, AfterValidator(_table)], TableSwitches],
        AfterValidator(_different_tables),
    ] = Field(
        default_factory=dict,
        description="What is set for single tables, by their names: schema.table, in any casing; "
        "a part with a dot goes in backquotes, dbo.`orders.2024`. Tables that are not there yet "
        "may be named.",
    )


class TypeProperties(_Section):
    """Fabric's own settings of a mirrored database, as far as they are read."""

    model_config = ConfigDict(title="Fabric's target.typeProperties")

    default_schema: str = Field(
        default="dbo",
        min_length=1,
        pattern=r"^[^/]+$",
        description="The schema of landing folders that have none; frozen when the mirror is "
        "first used.",
    )
    retention_in_days: int = Field(
        default=7,
        ge=1,
        le=30,
        description="How long files stay that are no part of a table any more, and dropped tables. "
        "Less than 7 needs shortRetention in the section openmirror.",
    )
    enable_delta_change_data_feed: StrictBool | None = Field(
        default=None,
        description="Whether tables have a change data feed. Left out: as the table is, which is "
        "without when we made it.",
    )


class _MountedTypeProperties(_Section):
    schema_name: str = Field(min_length=1, description="The schema of the table.")
    table_name: str = Field(min_length=1, description="The table's name in it.")


class _MountedSource(_Section):
    type_properties: _MountedTypeProperties


class MountedTable(_Section):
    """One table that is mirrored, as Fabric's definition names it."""

    model_config = ConfigDict(title="One of Fabric's mountedTables")

    source: _MountedSource

    @property
    def name(self) -> TableName:
        """The table, the same for every casing."""
        named = self.source.type_properties
        return TableName(named.schema_name, named.table_name).folded


class _Target(_Section):
    type_properties: TypeProperties = TypeProperties()


class _Properties(_Section):
    target: _Target = _Target()
    mounted_tables: list[MountedTable] | None = Field(
        default=None,
        description="The only tables that are mirrored; all others are held, and none is dropped "
        "by leaving the list. Left out: every table is mirrored, new ones too.",
    )


class MirroringDocument(_Section):
    """Settings of one mirror: Fabric's item definition, and a section of openmirror's own."""

    model_config = ConfigDict(title="mirroring.json")

    properties: _Properties = _Properties()
    openmirror: MirrorSwitches = MirrorSwitches()
