"""The text that a commit of ours carries as Delta `userMetadata`, and reading it back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime

from openmirror.table.log import AppId, BatchRecord, Totals
from openmirror.table.phases import Phase, Phases

_KEY = "openmirror"
_FORMAT = 1
_PHASES = frozenset(phase.value for phase in Phase)

REMOVES_MARKED = json.dumps({_KEY: _FORMAT, "maintenance": "remove-marked"}, separators=(",", ":"))
"""What the step of maintenance carries that changes rows: they are not somebody else's doing."""


def encode(batch_record: BatchRecord) -> str:
    """The batch record as compact JSON. Its commit time is not in it: the log itself has that."""
    return json.dumps(
        {
            _KEY: _FORMAT,
            "operation": batch_record.operation,
            "folder": batch_record.folder,
            "kind": batch_record.kind,
            "first": batch_record.first,
            "last": batch_record.last,
            "files": batch_record.files,
            "rows": dict(batch_record.rows),
            "bytes": batch_record.bytes,
            "totals": {
                "operations": batch_record.totals.operations,
                "bytes": batch_record.totals.bytes,
            },
            "landedAt": _utc(batch_record.landed_at).isoformat()
            if batch_record.landed_at
            else None,
            "epoch": batch_record.app_id,
            "startedAt": _utc(batch_record.started_at).isoformat()
            if batch_record.started_at
            else None,
            "schemaChanged": batch_record.schema_changed,
            "begunAt": _utc(batch_record.begun_at).isoformat() if batch_record.begun_at else None,
            "seconds": dict(batch_record.phases),
        },
        separators=(",", ":"),
    )


def decode(text: str) -> BatchRecord | None:
    """The batch record in this text; None when it is not ours, or of a format after this one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    # `True == 1`, so the type is compared as well as the value.
    if not isinstance(value, dict) or type(value.get(_KEY)) is not int or value[_KEY] != _FORMAT:
        return None
    try:
        return _batch_record(value)
    except (KeyError, TypeError, ValueError):
        # Whoever wrote this key with other contents is a stranger.
        return None


def _batch_record(value: Mapping[str, object]) -> BatchRecord:
    totals = _mapping(value.get("totals", {}))
    rows = _mapping(value.get("rows", {}))
    return BatchRecord(
        operation=_text(value["operation"]),
        folder=_text(value["folder"]),
        kind=_text(value["kind"]),
        first=_whole(value["first"]),
        last=_whole(value["last"]),
        files=_whole(value["files"]),
        rows={kind: _whole(count) for kind, count in rows.items()},
        bytes=_whole(value.get("bytes", 0)),
        totals=Totals(_whole(totals.get("operations", 0)), _whole(totals.get("bytes", 0))),
        landed_at=_moment(value.get("landedAt")),
        app_id=AppId(_text(value.get("epoch", ""))),
        started_at=_moment(value.get("startedAt")),
        schema_changed=value.get("schemaChanged") is True,
        begun_at=_moment(value.get("begunAt")),
        phases=_phases(_mapping(value.get("seconds", {}))),
    )


def _phases(value: Mapping[str, object]) -> Phases:
    return {Phase(name): _seconds(spent) for name, spent in value.items() if name in _PHASES}


def _moment(value: object) -> datetime | None:
    return None if value is None else _utc(datetime.fromisoformat(_text(value)))


def _utc(moment: datetime) -> datetime:
    # A time without a zone is UTC: the local zone of some machine would be a guess.
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text was expected, not {value!r}")
    return value


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"a whole number was expected, not {value!r}")
    return value


def _seconds(value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        raise TypeError(f"seconds were expected, not {value!r}")
    return float(value)


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise TypeError(f"an object was expected, not {value!r}")
    return value
