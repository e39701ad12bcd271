"""Where a new snapshot of one table begins and ends in a stream, as Debezium announces it.

Debezium reads the rows of such a snapshot beside the changes of all tables, and says in records of
a topic of their own when it has begun and ended. They carry the number that was asked for.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.protocol.streams import Offset

NOTIFICATIONS = "openmirror.notifications"
"""The topic."""
_SNAPSHOT = "Incremental Snapshot"
_STARTED = "STARTED"
_WHOLE = ("SUCCEEDED", "EMPTY")


class MarkKind(Enum):
    """What a mark says."""

    BEGUN = "begun"
    ENDED = "ended"
    """All of the table's rows lie before it."""
    FAILED = "failed"
    """Rows are missing."""


@dataclass(frozen=True)
class SnapshotMark:
    """One of these records."""

    offset: Offset
    number: str
    """What the snapshot was asked for by."""
    kind: MarkKind
    why: str = ""
    """Of a failed one, the connector's own word."""


def marks_in(records: pa.Table) -> tuple[SnapshotMark, ...]:
    """The marks among records (`RECORDS`), in their order."""
    found = []
    for row in records.filter(_is_notification(records)).to_pylist():
        value = json.loads(row["value"])
        read = _read(value if row["value_schema"] is not None else value["payload"])
        if read is not None:
            found.append(SnapshotMark(Offset(row["offset"]), *read))
    return tuple(found)


def begun_mark(number: str) -> tuple[str, bytes]:
    """The topic and the value of a record without a schema that says that a snapshot begins."""
    mark = {"aggregate_type": _SNAPSHOT, "id": number, "type": _STARTED}
    return NOTIFICATIONS, json.dumps({"payload": mark}).encode()


def failed_snapshot(topic: str, value: bytes | None) -> str | None:
    """The connector's word for a snapshot that has failed, if this record (without its schema) is
    the mark of one."""
    if topic != NOTIFICATIONS or value is None:
        return None
    read = _read(json.loads(value))
    return read[2] if read is not None and read[1] is MarkKind.FAILED else None


def without_notifications(records: pa.Table) -> pa.Table:
    """The other records."""
    return records.filter(pc.invert(_is_notification(records)))


def to_next_mark(records: pa.Table, marks: Sequence[SnapshotMark]) -> pa.Table:
    """Records up to the first mark that changes what becomes of those behind it.

    A mark of a beginning is then the first record, and one of an end the last.
    """
    if not records.num_rows:
        return records
    offsets = records.column("offset")
    for mark in marks:
        if mark.kind is not MarkKind.BEGUN:
            return records.filter(pc.less_equal(offsets, mark.offset))
        if mark.offset > offsets[0].as_py():
            return records.filter(pc.less(offsets, mark.offset))
    return records


def _is_notification(records: pa.Table) -> pa.ChunkedArray:
    return pc.equal(records.column("topic"), NOTIFICATIONS)


def _read(payload: dict[str, Any]) -> tuple[str, MarkKind, str] | None:
    if payload.get("aggregate_type") != _SNAPSHOT:
        return None
    number, kind = str(payload["id"]), payload["type"]
    if kind == _STARTED:
        return number, MarkKind.BEGUN, ""
    if kind == "ABORTED":
        return number, MarkKind.FAILED, kind
    if kind != "TABLE_SCAN_COMPLETED":
        return None
    status = str((payload.get("additional_data") or {}).get("status"))
    return (number, MarkKind.ENDED, "") if status in _WHOLE else (number, MarkKind.FAILED, status)
