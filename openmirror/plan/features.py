"""What a table's policy asks of Delta: properties, and the columns that its rows are laid out by.

Each is turned on by need or by policy alone, because it shuts out readers (OPERATIONS.md lists
them). What the policy does not speak of stays as the table has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from openmirror.plan.maintenance_steps import MIB, MaintenanceMode
from openmirror.plan.observed import OnceLarge, TablePolicy
from openmirror.plan.retention import (
    FORGETS_TRANSACTIONS,
    KEPT,
    LOG_KEPT,
    is_longer_by_hand,
    log_ends_before,
    to_set,
)
from openmirror.protocol.names import fold_case
from openmirror.protocol.schema import Column, SchemaUnion, TableSchema
from openmirror.table.log import TableLog

DELETION_VECTORS = "delta.enableDeletionVectors"
CHANGE_DATA_FEED = "delta.enableChangeDataFeed"
FIRST_NAME_OF_FEED = "delta.enableChangeDataCapture"
"""Delta still heeds it."""
ZONELESS_TIMESTAMPS = "delta.feature.timestampNtz"
"""Delta turns this feature on by itself for new tables only."""

LARGE = 128 * MIB
"""Bytes of a table's live files from which on deletion vectors are worth more than they cost."""
_STATISTICS = "delta.dataSkippingNumIndexedCols"
_WITH_STATISTICS = 32
"""Delta's default: it keeps statistics of the first columns only, and clusters by no others."""
_NOT_CLUSTERED = frozenset({"boolean", "binary"})
_HIDES_PLACES = "_metadata"
_FEED_COLUMNS = frozenset({"_change_type", "_commit_version", "_commit_timestamp"})


@dataclass(frozen=True)
class TableFeatures:
    """What has to be set of a batch's table: at its creation, or before the batch."""

    properties: tuple[tuple[str, str], ...] = ()
    """Those alone that the table does not have so yet."""
    clustering: tuple[str, ...] = ()
    """What the table is clustered by when all is set, in its own spelling."""
    reclusters: bool = False
    """Whether that differs from what it is clustered by now."""
    unset: tuple[str, ...] = ()
    """Properties that the table must not have."""

    @property
    def is_due(self) -> bool:
        """Whether anything has to be set of a table that is there."""
        return bool(self.properties or self.unset) or self.reclusters


def features_of_new(policy: TablePolicy, schema: TableSchema) -> TableFeatures:
    """What a table is created with."""
    properties = {key: _flag(on) for key, on in _wanted(policy, schema, 0).items()}
    if _has_zoneless(schema):
        # The table that is replaced may be one without.
        properties[ZONELESS_TIMESTAMPS] = "supported"
    properties |= to_set(policy.retention, {}, asked=policy.asks_retention)
    return TableFeatures(tuple(properties.items()), clustered_by(policy, schema, {}))


def features_of(
    policy: TablePolicy, union: SchemaUnion, log: TableLog, live_bytes: int = 0
) -> TableFeatures:
    """What has to be set of a table that is there, before a batch gives it this schema.

    `live_bytes` is how large its files were when they were last surveyed; 0 where nobody knows.
    """
    properties = {
        key: _flag(on)
        for key, on in _wanted(policy, union.schema, live_bytes).items()
        if is_on(log.properties, key) is not on
    }
    if _has_zoneless(union.schema) and not _has_zoneless(log.schema):
        properties[ZONELESS_TIMESTAMPS] = "supported"
    properties |= to_set(policy.retention, log.properties, asked=policy.asks_retention)
    clustering = log.clustering
    if policy.clustering is not None:
        # A column that comes with this batch is there for the next one.
        clustering = clustered_by(policy, log.schema, log.properties)
    unset = tuple(key for key in (FORGETS_TRANSACTIONS,) if key in log.properties)
    reclusters = clustering != log.clustering
    return TableFeatures(tuple(properties.items()), clustering, reclusters, unset)


def is_on(properties: Mapping[str, str], name: str) -> bool:
    """Whether a property of a table that is true or false is true."""
    return properties.get(name, "").lower() == "true"


def has_change_feed(properties: Mapping[str, str]) -> bool:
    """Whether a table's changes are kept for those that read them."""
    return is_on(properties, CHANGE_DATA_FEED) or is_on(properties, FIRST_NAME_OF_FEED)


def clustered_by(
    policy: TablePolicy, schema: TableSchema, properties: Mapping[str, str]
) -> tuple[str, ...]:
    """The columns to cluster by, of those that the policy names: what is there and can be."""
    found = (schema.find(name) for name in policy.clustering or ())
    return tuple(c.name for c in found if c and not _refusal(c, schema, properties))


def unmet(policy: TablePolicy, log: TableLog) -> Iterator[str]:
    """What the policy asks of a table that it cannot have, in words."""
    for name in policy.clustering or ():
        column = log.schema.find(name)
        if column and (refusal := _refusal(column, log.schema, log.properties)):
            yield f"clustering by {column.name!r}: {refusal}"
    if policy.change_data_feed and (refusal := _feed_refusal(log.schema)):
        yield f"enableDeltaChangeDataFeed: {refusal}"
    if policy.deletion_vectors is True and (refusal := _vectors_refusal(log.schema)):
        yield f"deletionVectors: {refusal}"
    if policy.asks_retention and is_longer_by_hand(policy.retention, log.properties):
        yield (
            f"retentionInDays: somebody else has set the property {KEPT} to "
            f"{log.properties[KEPT]!r}, which is longer and so holds: unset it to have "
            f"{policy.retention.days} days"
        )
    if policy.asks_retention and log_ends_before(policy.retention, log.properties):
        yield (
            f"retentionInDays: somebody else has set the property {LOG_KEPT} to "
            f"{log.properties[LOG_KEPT]!r}, which is less: unset it"
        )
    if _waits_for_a_survey(policy) and not is_on(log.properties, DELETION_VECTORS):
        yield (
            "deletionVectors: auto goes by surveys of the table's files, and there is none before "
            "`openmirror maintain` while maintenance is off: true turns them on"
        )


def _waits_for_a_survey(policy: TablePolicy) -> bool:
    is_off = policy.maintenance.mode is MaintenanceMode.OFF
    return policy.deletion_vectors is OnceLarge.AUTO and is_off


def _wanted(policy: TablePolicy, schema: TableSchema, live_bytes: int) -> dict[str, bool]:
    vectors: bool | None = None
    if policy.deletion_vectors is OnceLarge.AUTO:
        vectors = True if live_bytes >= LARGE else None
    elif policy.deletion_vectors is not None:
        vectors = bool(policy.deletion_vectors)
    if _vectors_refusal(schema):
        vectors = False
    feed = policy.change_data_feed
    if feed and _feed_refusal(schema):
        feed = False
    asked = {DELETION_VECTORS: vectors, CHANGE_DATA_FEED: feed}
    return {key: on for key, on in asked.items() if on is not None}


def _flag(on: bool) -> str:
    return str(on).lower()


def _has_zoneless(schema: TableSchema) -> bool:
    return any(column.type == "timestamp_ntz" for column in schema.columns)


def hides_places(name: str) -> bool:
    """Whether a column of this name hides from Spark where a row lies: it cannot read a table with
    such a column and deletion vectors."""
    return fold_case(name) == _HIDES_PLACES


def _vectors_refusal(schema: TableSchema) -> str | None:
    """Why Spark could not read this table with deletion vectors."""
    for column in schema.columns:
        if hides_places(column.name):
            return f"Spark reads none beside a column {column.name!r}"
    return None


def _feed_refusal(schema: TableSchema) -> str | None:
    """Why Delta could not keep a feed of this table."""
    for column in schema.columns:
        if fold_case(column.name) in _FEED_COLUMNS:
            return f"the feed itself has a column {column.name!r}"
        if "`" in column.name:
            # Its MERGE then fails: it does not quote the names right.
            return f"Delta writes no feed of a column with a backquote, {column.name!r}"
    return None


def _refusal(column: Column, schema: TableSchema, properties: Mapping[str, str]) -> str | None:
    """Why Delta would not cluster by this column."""
    if column.type in _NOT_CLUSTERED:
        return f"Delta clusters by no column of type {column.type}"
    counted = properties.get(_STATISTICS, "")
    first = int(counted) if counted.lstrip("-").isdecimal() else _WITH_STATISTICS
    if first >= 0 and schema.columns.index(column) >= first:
        return f"Delta keeps statistics of the first {first} columns only, and clusters by no other"
    return None
