"""Event Grid's messages as landing events: both envelopes, one event or several."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import unquote, urlsplit

from azure.core.exceptions import AzureError
from azure.core.messaging import CloudEvent
from azure.eventgrid import EventGridEvent

from openmirror.ports.landing_events import (
    BLOBS,
    CONTAINERS,
    REPORTED_AS,
    LandingEvent,
    NoEvent,
    OtherEvent,
    ReadEvent,
)
from openmirror.ports.work_items import plain
from openmirror.protocol.names import ETag
from openmirror.table.layout import StorePath


def read_events(message: bytes | str) -> list[ReadEvent]:
    """Every event of a queue message or a webhook's body; never empty, never raises.

    The message is JSON, or JSON in base64: one envelope of either schema, or a list of them.
    """
    data = message.encode("utf-8", "replace") if isinstance(message, str) else message
    value = _json(plain(data))
    if isinstance(value, Mapping):
        return [_event(value)]
    if isinstance(value, list) and value:
        return [_event(item) for item in value]
    return [NoEvent("it is not an event of Event Grid: no JSON object, nor a list of them")]


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _event(item: object) -> ReadEvent:
    if not isinstance(item, dict) or not all(isinstance(key, str) for key in item):
        return NoEvent("it is not an event of Event Grid: no JSON object")
    try:
        if "eventType" in item:
            grid = EventGridEvent.from_dict(item)
            return _landing(grid.id, grid.event_type, grid.subject, grid.event_time, grid.data)
        cloud: CloudEvent[Any] = CloudEvent.from_dict(item)
        return _landing(cloud.id, cloud.type, cloud.subject, cloud.time, cloud.data)
    except (AzureError, ValueError, TypeError, LookupError, AttributeError) as error:
        words = str(error).strip().splitlines() or [type(error).__name__]
        return NoEvent(f"its envelope cannot be read: {words[0]}")


def _landing(
    identity: object, kind: object, subject: object, time: object, data: object
) -> ReadEvent:
    known = REPORTED_AS.get(str(kind))
    if known is None:
        return OtherEvent(str(identity), f"events of the type {kind} do not concern tables")
    path = _from_subject(subject)
    if path is None:
        return NoEvent(f"its subject names no blob: {str(subject)[:200]!r}")
    if not isinstance(data, Mapping):
        return NoEvent("it has no data")
    source = data.get("sourceUrl")
    return LandingEvent(
        identity=str(identity),
        kind=known,
        path=path,
        api=str(data.get("api") or ""),
        source=_from_url(source, path) if isinstance(source, str) else None,
        size=_size(data.get("contentLength")),
        etag=ETag(str(data["eTag"])) if data.get("eTag") else None,
        time=time if isinstance(time, datetime) else None,
        recursive=str(data.get("recursive", "")).lower() == "true",
    )


def _from_subject(subject: object) -> StorePath | None:
    """A subject holds the path as it is: what seems encoded in it belongs to a name."""
    if not isinstance(subject, str) or not subject.startswith(CONTAINERS):
        return None
    container, found, path = subject.removeprefix(CONTAINERS).partition(BLOBS)
    if not found or not container or "/" in container or not path:
        return None
    return StorePath(f"{container}/{path.rstrip('/')}")


def _from_url(url: str, destination: StorePath) -> StorePath | None:
    """The path of a URL, decoded part by part: an encoded slash does not divide it."""
    try:
        parts = urlsplit(url).path.strip("/").split("/")
    except ValueError:
        return None
    # Emulators name the account before the container.
    container = destination.partition("/")[0]
    if len(parts) > 2 and parts[0] != container == parts[1]:
        parts = parts[1:]
    decoded = [unquote(part) for part in parts]
    if len(decoded) < 2 or any("/" in part for part in decoded):
        return None
    return StorePath("/".join(decoded))


def _size(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
