"""The queues between event, function and runner, and the text of a doorbell message."""

from __future__ import annotations

import base64
import binascii
import json

from openmirror.ports.work import Ring
from openmirror.protocol.names import TableFolder, TablePath

EVENTS_QUEUE = "landing-events"
"""What Event Grid writes and the function `landing` reads."""
WORK_QUEUE = "table-work"
"""Doorbell messages for the Spark runner."""
POISON_SUFFIX = "-poison"
"""The Functions host's own suffix for messages that were given up."""


def encode(ring: Ring) -> str:
    """A doorbell message as JSON text."""
    return json.dumps(
        {
            "mirror": ring.folder.mirror,
            "table": str(ring.folder.path),
            "reason": ring.reason,
            "correlation": ring.correlation,
        },
        ensure_ascii=False,
    )


def decode(text: str) -> Ring | None:
    """The ring that this text is; None when it is none of ours."""
    try:
        value = json.loads(text)
        mirror, table = value["mirror"], value["table"]
        reason, correlation = value.get("reason", ""), value.get("correlation", "")
        if not all(isinstance(part, str) for part in (mirror, table, reason, correlation)):
            return None
        if not mirror or "/" in mirror:
            return None
        return Ring(TableFolder(mirror, TablePath.parse(table)), reason, correlation)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def plain(body: bytes) -> bytes:
    """A queue message's body without its base64; one that has none is taken as it is."""
    try:
        inside = base64.b64decode(body.strip(), validate=True)
        inside.decode()
    except (binascii.Error, ValueError):
        return body
    return inside
