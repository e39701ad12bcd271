"""Which tables a commit may write to without Spark: those of which all that matters is known here.

A value from values, of what a table's log says: each table that is not plain is left to Spark.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from openmirror.plan.features import CHANGE_DATA_FEED, DELETION_VECTORS
from openmirror.plan.retention import KEPT
from openmirror.protocol.schema import TableSchema

_FEATURES = frozenset({"appendOnly", "invariants", "timestampNtz"})
"""A schema without metadata has no invariants, and Delta itself refuses to take rows out of a table
that is append-only."""
_OLDEST_WITH_FEATURES = 7
_NEWEST_WITHOUT_MORE = 2
"""Writers from version 3 on check constraints, generate columns, and keep a change feed."""

_SILENT = frozenset(
    {
        KEPT,
        "delta.checkpointInterval",
        "delta.enableExpiredLogCleanup",
        "delta.feature.timestampNtz",
        "delta.logRetentionDuration",
        "delta.minReaderVersion",
        "delta.minWriterVersion",
    }
)
"""Properties of Delta that say nothing about how a data file is written or described."""
_OFF = {
    CHANGE_DATA_FEED: "false",
    DELETION_VECTORS: "false",
    "delta.appendOnly": "false",
    "delta.columnMapping.mode": "none",
}
"""Properties that say nothing while they have these values."""


def is_plain(protocol: Mapping[str, Any], metadata: Mapping[str, Any], schema: TableSchema) -> bool:
    """Whether a table takes a Parquet file with the columns of this schema as it is.

    `protocol` and `metadata` are the actions of those names, as its log has them.
    """
    return (
        _asks_nothing_more(protocol)
        and not metadata.get("partitionColumns")
        and _is_silent(metadata.get("configuration") or {})
        and _fields(metadata) == [_field(c.name, c.type) for c in schema.columns]
    )


def _asks_nothing_more(protocol: Mapping[str, Any]) -> bool:
    version = int(protocol["minWriterVersion"])
    if version < _OLDEST_WITH_FEATURES:
        return version <= _NEWEST_WITHOUT_MORE and int(protocol["minReaderVersion"]) == 1
    named = {*(protocol.get("readerFeatures") or ()), *(protocol.get("writerFeatures") or ())}
    return named <= _FEATURES


def _is_silent(properties: Mapping[str, str]) -> bool:
    """What people are to know of a table is silent. But Spark hands every property to Parquet's own
    writer, which knows some: one of them encrypts."""
    return all(
        not key.startswith(("delta.", "parquet.")) or key in _SILENT or _OFF.get(key) == value
        for key, value in properties.items()
    )


def _fields(metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    fields: list[dict[str, Any]] = json.loads(metadata["schemaString"])["fields"]
    return fields


def _field(name: str, kind: str) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}
