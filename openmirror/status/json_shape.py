"""The shapes that status has as JSON: `status --json`, a contract, and Fabric's own file."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import NAMESPACE_URL, uuid5

from openmirror.plan.decisions import Waiting
from openmirror.protocol.relay_reports import RelayReport
from openmirror.protocol.streams import LogSource, StreamDocument
from openmirror.status.maintenance import maintenance_json
from openmirror.status.mirror_notes import MirrorNotes, StreamNote
from openmirror.status.table_status import TableStatus
from openmirror.status.words import Trouble, Warn, iso, message_of


def to_json(
    tables: Iterable[TableStatus], mirrors: Iterable[MirrorNotes] = ()
) -> dict[str, object]:
    """What `status --json` prints: a contract, so nothing is renamed or left out."""
    return {
        "data": [_table_json(table) for table in tables],
        "mirrors": [_mirror_json(notes) for notes in mirrors],
    }


def _mirror_json(notes: MirrorNotes) -> dict[str, object]:
    who = notes.partner
    return {
        "mirror": notes.mirror,
        "publisher": {
            "name": who.name,
            "sourceType": who.source_type,
            "sourceVersion": who.source_version,
        }
        if who
        else None,
        "warnings": [_finding_json(warning) for warning in (*notes.warnings, *notes.of_relays)],
        "streams": [_stream_json(stream) for stream in notes.streams],
    }


def _stream_json(stream: StreamNote) -> dict[str, object]:
    shown: dict[str, object] = {"stream": stream.name, "declared": stream.is_declared}
    if stream.document and stream.written_at:
        shown |= {**_landed_json(stream.document), "writtenAt": iso(stream.written_at)}
    return {**shown, "relay": _relay_json(stream.relay) if stream.relay else None}


def _landed_json(document: StreamDocument) -> dict[str, object]:
    return {
        "identity": document.identity,
        "completeTo": document.complete_to,
        "snapshotOpen": document.is_snapshot_open,
        "tables": [str(path) for path in sorted(document.tables)],
        "stopped": [
            {
                "table": str(path),
                "at": one.at,
                "code": one.stop.code,
                "detail": one.stop.detail,
                "solution": one.stop.remedy,
            }
            for path, one in sorted(document.stopped.items())
        ],
        "newSnapshots": [
            {"table": str(path), "since": one.since, "attempts": one.attempts}
            for path, one in sorted(document.resnapshots.items())
        ],
        "leftOut": [] if document.log is None else _left_out_json(document.log),
    }


def _left_out_json(log: LogSource) -> list[dict[str, object]]:
    return [{"name": name, "why": why} for name, why in sorted(log.left_out.items())]


def _relay_json(relay: RelayReport) -> dict[str, object]:
    return {
        "at": iso(relay.at),
        "state": relay.state,
        "since": iso(relay.since),
        "detail": relay.detail,
        "nextRecord": relay.next,
        "recordsBehind": relay.records_behind,
        "secondsBehind": relay.seconds_behind,
        "bytesBehind": relay.bytes_behind,
        "sourceKeeps": relay.source_keeps,
        "newestChange": iso(relay.newest) if relay.newest else None,
    }


def _finding_json(warning: Warn | Trouble) -> dict[str, object]:
    return {
        "code": warning.code,
        "file": warning.file,
        "detail": warning.detail,
        "solution": warning.solution,
    }


_NEVER = "0001-01-01T00:00:00"
"""How Fabric's file says "no such time"."""


def to_monitoring(tables: Iterable[TableStatus]) -> dict[str, object]:
    """What `Files/Monitoring/tables.json` holds, which publishers' SDKs read."""
    return {"tables": [_monitored(table) for table in tables]}


def _monitored(table: TableStatus) -> dict[str, object]:
    problem = table.problem
    return {
        "id": str(uuid5(NAMESPACE_URL, f"openmirror:{table.folder}")),
        "status": table.status.value,
        "errorCode": problem.code if problem else None,
        "errorMessage": message_of(problem) if problem else None,
        "normalizedTableName": f"{table.name.schema}.{table.name.table}",
        "sourceTableName": table.name.table,
        "sourceSchemaName": table.name.schema,
        "sourceObjectType": "Table",
        "metrics": {
            "processedRowCount": table.totals.operations,
            "processedByte": table.totals.bytes,
            "lastSourceCommitTimeUtc": _NEVER,
            "lastSyncTimeUtc": iso(table.synced_at) if table.synced_at else _NEVER,
        },
    }


def _table_json(table: TableStatus) -> dict[str, object]:
    problem = table.problem
    return {
        "sourceSchemaName": table.name.schema,
        "sourceTableName": table.name.table,
        "status": table.status.value,
        "metrics": {
            "processedBytes": table.totals.bytes,
            "processedRows": table.totals.operations,
            "lastSyncDateTime": iso(table.synced_at) if table.synced_at else None,
        },
        "error": {"errorCode": problem.code, "message": message_of(problem)} if problem else None,
        "openmirror": {
            "landingFolder": str(table.folder.path),
            "appliedSequence": str(table.applied),
            "pendingFiles": table.pending_files,
            "waitingFor": _waiting_json(table.waiting_for.waiting) if table.waiting_for else None,
            "problem": _problem_json(problem) if problem else None,
            "warnings": [_finding_json(warning) for warning in table.warnings],
            "lagSeconds": table.lag_seconds,
            **_partitions_json(table),
            **({"maintenance": maintenance_json(table.maintenance)} if table.maintenance else {}),
        },
    }


def _partitions_json(table: TableStatus) -> dict[str, object]:
    if table.partitions is None:
        return {}
    return {
        "partitions": [
            {
                "partition": partition.name,
                "appliedSequence": str(partition.applied)
                if partition.applied is not None
                else None,
                "pendingFiles": partition.pending_files,
                "waitingFor": _waiting_json(partition.waiting) if partition.waiting else None,
            }
            for partition in table.partitions
        ]
    }


def _waiting_json(waiting: Waiting) -> dict[str, object]:
    shown: dict[str, object] = {"kind": waiting.kind.value}
    if waiting.sequence is not None:
        shown["sequence"] = str(waiting.sequence)
    if waiting.partition is not None:
        shown["partition"] = waiting.partition
    if waiting.file is not None:
        shown["file"] = waiting.file
    shown["since"] = iso(waiting.since)
    if waiting.until is not None:
        shown["until"] = iso(waiting.until)
    return shown


def _problem_json(problem: Trouble) -> dict[str, object]:
    since = iso(problem.since) if problem.since else None
    return {**_finding_json(problem), "since": since}
