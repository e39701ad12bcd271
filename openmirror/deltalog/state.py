"""A log as far as it has been replayed, and what one more file of actions makes of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from openmirror.deltalog.actions import Damaged, LogAction
from openmirror.ports import Entry
from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.protocol.sequence import Position
from openmirror.table.layout import StorePath
from openmirror.table.log import AppId, BatchRecord, TableLog, TableProtocol
from openmirror.table.user_metadata import decode

_CATALOG = {"catalogManaged", "catalogOwned-preview"}
_CLUSTERING = "delta.clustering"
_OF_VERSION_2 = frozenset({"columnMapping"})
"""What a reader of protocol version 2 must know."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class LogState:
    """What is known after one version."""

    log: TableLog
    anchor: Entry | None = None
    """The file that this version was read from; as long as it is there, so is this log."""
    has_protocol: bool = False
    physical: Mapping[str, str] = field(default_factory=dict)
    """The table's names for the names that its columns have in files."""
    clustered: tuple[str, ...] = ()
    """What it is clustered by, under the names in files."""


def empty(table: StorePath) -> LogState:
    """A log without any action."""
    return LogState(TableLog(path=table, table_id="", version=-1, transactions={}))


def whole(state: LogState) -> LogState:
    """The state itself, when it can be one of a table."""
    if not state.log.table_id or not state.has_protocol:
        lacking = "protocol" if state.log.table_id else "metaData"
        raise Damaged(f"no {lacking} action up to version {state.log.version}")
    return state


def after(state: LogState, version: int, anchor: Entry, actions: Iterable[LogAction]) -> LogState:
    """The state after these actions; what is not needed here is passed over."""
    log, has_protocol = state.log, state.has_protocol
    physical, clustered = state.physical, state.clustered
    transactions = dict(log.transactions)
    own: BatchRecord | None = None
    for action in actions:
        try:
            if txn := action.get("txn"):
                transactions[AppId(str(txn["appId"]))] = Position(int(txn["version"]))
            elif metadata := action.get("metaData"):
                log = _described(log, metadata)
                physical = _physical(metadata["schemaString"])
            elif (domain := action.get("domainMetadata")) and domain["domain"] == _CLUSTERING:
                clustered = _clustered(domain)
            elif protocol := action.get("protocol"):
                log = replace(log, protocol=_protocol(protocol))
                if _CATALOG & log.protocol.reader_features:
                    raise Damaged("a catalog holds its commits")
                has_protocol = True
            elif info := action.get("commitInfo"):
                own = batch_record_of(info)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            kind = next(iter(action), "?")
            raise Damaged(f"version {version}: bad {kind} action ({error!r})") from error
    clustering = tuple(physical.get(name, name) for name in clustered)
    log = replace(
        log,
        version=version,
        transactions=transactions,
        clustering=clustering,
        batch_record=own or log.batch_record,
    )
    return LogState(log, anchor, has_protocol, physical, clustered)


def _described(log: TableLog, metadata: LogAction) -> TableLog:
    return replace(
        log,
        table_id=str(metadata["id"]),
        schema=_schema(metadata["schemaString"]),
        # A map of Parquet arrives as pairs.
        properties=dict(metadata.get("configuration") or {}),
    )


def _protocol(action: LogAction) -> TableProtocol:
    version = int(action.get("minReaderVersion") or 1)
    listed = frozenset(map(str, action.get("readerFeatures") or ()))
    return TableProtocol(
        reader_version=version,
        writer_version=int(action.get("minWriterVersion") or 2),
        reader_features=listed | _OF_VERSION_2 if version == 2 else listed,
        writer_features=frozenset(map(str, action.get("writerFeatures") or ())),
    )


def _schema(text: str) -> TableSchema:
    """Delta's schema as ours: logical names, and for a nested column only its kind."""
    columns = []
    for one in json.loads(text)["fields"]:
        kind = one["type"] if isinstance(one["type"], str) else one["type"]["type"]
        columns.append(Column(one["name"], ColumnType(kind.replace(" ", ""))))
    return TableSchema(tuple(columns))


def _physical(text: str) -> dict[str, str]:
    """Columns that are called otherwise in files, as under column mapping."""
    fields = json.loads(text)["fields"]
    names = ((one["name"], one.get("metadata") or {}) for one in fields)
    return {str(more.get("delta.columnMapping.physicalName", name)): name for name, more in names}


def _clustered(domain: LogAction) -> tuple[str, ...]:
    if domain.get("removed"):
        return ()
    columns = json.loads(domain["configuration"])["clusteringColumns"]
    return tuple(".".join(parts) for parts in columns)


def batch_record_of(info: LogAction) -> BatchRecord | None:
    """What a commit of ours says of its batch, with the time of the commit."""
    text = info.get("userMetadata")
    batch_record = decode(text) if isinstance(text, str) else None
    millis = info.get("inCommitTimestamp") or info.get("timestamp")
    if batch_record is None or not isinstance(millis, (int, float)):
        return batch_record
    try:
        return replace(batch_record, committed_at=_EPOCH + timedelta(milliseconds=millis))
    except OverflowError:
        return batch_record
