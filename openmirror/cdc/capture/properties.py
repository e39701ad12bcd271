"""How Debezium's connector for PostgreSQL is configured, so that its records can be decoded."""

from __future__ import annotations

import re
from pathlib import Path

from openmirror.cdc.capture.preparing import CapturedTables
from openmirror.cdc.capture.settings import CaptureSettings
from openmirror.cdc.snapshot_marks import NOTIFICATIONS

_MESSAGE = "SELECT pg_logical_emit_message(true, 'openmirror', '')"
_OFFSETS = "org.apache.kafka.connect.storage.FileOffsetBackingStore"


def connector_properties(
    settings: CaptureSettings, prepared: CapturedTables, offsets: Path
) -> dict[str, str]:
    """Debezium's properties; `offsets` is the file from which it goes on."""
    url = settings.url
    return {
        "name": settings.stream,
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "offset.storage": _OFFSETS,
        "offset.storage.file.filename": str(offsets),
        # Whatever is acknowledged is in the spool already.
        "offset.flush.interval.ms": "0",
        "database.hostname": url.host,
        "database.port": str(url.port),
        "database.user": url.user,
        "database.password": url.password,
        "database.dbname": url.database,
        "topic.prefix": settings.stream,
        "plugin.name": "pgoutput",
        "slot.name": settings.slot,
        "publication.name": settings.slot,
        # Its default publishes every table, and PostgreSQL then refuses updates of those that have
        # no key.
        "publication.autocreate.mode": "filtered" if prepared.may_publish else "disabled",
        "table.include.list": ",".join(map(_pattern, prepared.tables)),
        # The first snapshot is whole, and the log goes on just behind it.
        "snapshot.mode": "initial",
        # Types that lose nothing, and say themselves what they are.
        "decimal.handling.mode": "precise",
        "time.precision.mode": "microseconds",
        # As base64 they would come as text, which nothing then knows to be bytes.
        "binary.handling.mode": "bytes",
        "interval.handling.mode": "string",
        # They are written once each, and not into every record.
        "key.converter.schemas.enable": "false",
        "value.converter.schemas.enable": "false",
        # By default the converter writes a column's default where the column is NULL.
        "key.converter.replace.null.with.default": "false",
        "value.converter.replace.null.with.default": "false",
        # By default truncates are left out, and a table would keep its rows.
        "skipped.operations": "none",
        "tombstones.on.delete": "false",
        # Where transactions end is where records may be acknowledged.
        "provide.transaction.metadata": "true",
        # A slot that nobody moves on keeps the database's log for ever.
        "heartbeat.interval.ms": str(int(settings.heartbeat_seconds * 1000)),
        # New snapshots of single tables write nothing into the database. Each ends only once a
        # later transaction is seen, which a quiet database makes by this message alone.
        "read.only": "true",
        "notification.enabled.channels": "sink",
        "notification.sink.topic.name": NOTIFICATIONS,
        "incremental.snapshot.chunk.size": "4096",
        "heartbeat.action.query": _MESSAGE,
        "message.prefix.exclude.list": "openmirror",
        # A server that is restarted is waited for, about a minute; by default that is for ever, and
        # nobody would hear of it.
        "errors.max.retries": "30",
        "retriable.restart.connector.wait.ms": "2000",
        "max.batch.size": "4096",
        "max.queue.size": "16384",
        "poll.interval.ms": "50",
    }


def _pattern(table: str) -> str:
    """A name as one part of a list of regular expressions, which commas divide."""
    return re.escape(table).replace(",", "\\x2c")
