"""Which tables a commit may write to without Spark's own writers: those of which all that matters
is known here.

Values from values, of what a table's log says: every other table is left to Spark.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from openmirror.plan.features import CHANGE_DATA_FEED, DELETION_VECTORS, has_change_feed, is_on
from openmirror.plan.retention import KEPT, LOG_KEPT
from openmirror.protocol.schema import TableSchema

_FEATURES = frozenset({"appendOnly", "invariants", "timestampNtz"})
"""A schema without metadata has no invariants, and Delta itself refuses to take rows out of a table
that is append-only."""
_ROW_TRACKING = "delta.enableRowTracking"
_KNOWN = ("comment", "delta.columnMapping.", "delta.typeChanges")
"""What a column's metadata may say. Others have values computed, or keys compared, otherwise."""
_OLDEST_WITH_FEATURES = 7
_NEWEST_WITHOUT_MORE = 2
"""Writers from version 3 on check constraints, generate columns, and keep a change feed."""

_SILENT = frozenset(
    {
        KEPT,
        LOG_KEPT,
        "delta.checkpointInterval",
        "delta.enableExpiredLogCleanup",
        "delta.feature.timestampNtz",
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


def may_replace_rows(metadata: Mapping[str, Any], schema: TableSchema) -> bool:
    """Whether rows of a table may be taken out where they lie, and others be added in the columns
    of this schema: nobody follows each row, and no column has rules of its own."""
    properties: Mapping[str, str] = metadata.get("configuration") or {}
    fields = _fields(metadata)
    return (
        is_on(properties, DELETION_VECTORS)
        and not has_change_feed(properties)
        and not is_on(properties, _ROW_TRACKING)
        and [(f["name"], f["type"]) for f in fields] == [(c.name, c.type) for c in schema.columns]
        and all(key.startswith(_KNOWN) for field in fields for key in field["metadata"])
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
