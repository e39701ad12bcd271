"""The queues between event, function and runner, and the texts of their messages."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass

from openmirror.ports.work import WorkItem
from openmirror.protocol.names import TableFolder

EVENTS_QUEUE = "landing-events"
"""What Event Grid writes and the function `landing` reads."""
WORK_QUEUE = "table-work"
"""Work items for the Spark runner."""
POISON_SUFFIX = "-poison"
"""The Functions host's own suffix for messages that were given up."""
_MOST_BYTES = 48 << 10
"""What a queue takes: 64 KiB in base64."""
_LONGEST_WHY = 1000


def encode(work_item: WorkItem) -> str:
    """A work item as JSON text."""
    return json.dumps(
        {
            "mirror": work_item.folder.mirror,
            "table": work_item.folder.key,
            "reason": work_item.reason,
            "correlation": work_item.correlation,
        },
        ensure_ascii=False,
    )


def decode(text: str) -> WorkItem | None:
    """The work item that this text is; None when it is none of ours."""
    try:
        value = json.loads(text)
        mirror, table = value["mirror"], value["table"]
        reason, correlation = value.get("reason", ""), value.get("correlation", "")
        if not all(isinstance(part, str) for part in (mirror, table, reason, correlation)):
            return None
        if not mirror or "/" in mirror:
            return None
        return WorkItem(TableFolder.of_key(mirror, table), reason, correlation)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


@dataclass(frozen=True)
class DeadLettered:
    """A message that a runner gave up."""

    body: str
    """What it was, as it was."""
    why: str
    """For people."""


def encode_dead_lettered(dead_lettered: DeadLettered) -> str:
    """A dead-lettered message's text in its poison queue; only its body if that is too long."""
    why = dead_lettered.why[:_LONGEST_WHY]
    text = json.dumps({"dead_lettered": dead_lettered.body, "why": why}, ensure_ascii=False)
    return text if len(text.encode()) <= _MOST_BYTES else dead_lettered.body


def decode_dead_lettered(text: str) -> DeadLettered | None:
    """What a runner dead-lettered as this text; None when it is none of ours."""
    try:
        value = json.loads(text)
        body, why = value["dead_lettered"], value["why"]
        if not isinstance(body, str) or not isinstance(why, str):
            return None
        (body + why).encode()  # JSON can hold lone surrogates, which no runner ever took
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return DeadLettered(body, why)


def plain(body: bytes) -> bytes:
    """A queue message's body without its base64; one that has none is taken as it is."""
    try:
        inside = base64.b64decode(body.strip(), validate=True)
        inside.decode()
    except (binascii.Error, ValueError):
        return body
    return inside
