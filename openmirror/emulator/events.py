"""What Event Grid would say of a change on an account with a hierarchical namespace.

Its quirks are part of it: a file is announced when it is created, with length 0, and again only by
a flush that says it closes the file; a folder's rename or deletion is one event, and its children
have none.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Any
from uuid import uuid4

from openmirror.emulator.addresses import Address
from openmirror.emulator.calls import Call
from openmirror.emulator.gate import Gate
from openmirror.emulator.nodes import Node
from openmirror.emulator.ticks import Ticks, file_time

Sink = Callable[[dict[str, Any]], None]
"""Is handed each event after its change was made. When it raises, that is logged and no more."""

_BATCH = "00000000-0000-0000-0000-000000000000"
_DFS_FILE, _DFS_NAMES = "2", "1"


_log = logging.getLogger(__name__)


class Envelope(StrEnum):
    """The two forms of an event; what is in them is the same."""

    EVENT_GRID = "EventGridSchema"
    CLOUD_EVENTS = "CloudEventSchemaV1_0"


class Announcer:
    """Makes the events of one account, within the gate, and hands them to a sink after it."""

    def __init__(
        self, account: str, ticks: Ticks, gate: Gate, sink: Sink | None, envelope: Envelope
    ) -> None:
        self._account = account
        self._gate = gate
        self._ticks = ticks
        self._sink = sink
        self._envelope = envelope
        self._topic = (
            f"/subscriptions/{_BATCH}/resourceGroups/openmirror"
            f"/providers/Microsoft.Storage/storageAccounts/{account}"
        )

    def created(self, call: Call, api: str, node: Node, size: int | None = None) -> None:
        """A file's content was written, or a file of length 0 was made, by this API."""
        data: dict[str, Any] = {
            "eTag": node.etag,
            "contentType": node.facts.properties.get("content-type", "application/octet-stream"),
            "contentLength": node.size if size is None else size,
        }
        if call.dfs:
            data["contentOffset"] = 0
        data |= {"blobType": "BlockBlob", "url": self._url(call, node.address)}
        self._say(call, "BlobCreated", api, node.address, data, _DFS_FILE if call.dfs else "")

    def folder_created(self, call: Call, node: Node) -> None:
        """A folder was made on purpose; those made above a file have no event."""
        data = {"eTag": node.etag, "url": self._url(call, node.address)}
        self._say(call, "DirectoryCreated", "CreateDirectory", node.address, data, _DFS_NAMES)

    def renamed(self, call: Call, source: Address, node: Node) -> None:
        """A file or folder has another name."""
        kind, api = (
            ("DirectoryRenamed", "RenameDirectory")
            if node.is_folder
            else ("BlobRenamed", "RenameFile")
        )
        data = {
            "destinationUrl": self._url(call, node.address),
            "sourceUrl": self._url(call, source),
        }
        self._say(call, kind, api, node.address, data, _DFS_NAMES)

    def deleted(self, call: Call, node: Node, *, recursive: bool) -> None:
        """A file is gone, or a folder with all in it."""
        url = self._url(call, node.address)
        if node.is_folder:
            data = {"url": url, "recursive": "true" if recursive else "false"}
            self._say(call, "DirectoryDeleted", "DeleteDirectory", node.address, data, _DFS_NAMES)
            return
        data = {
            "contentType": node.facts.properties.get("content-type", "application/octet-stream"),
            "blobType": "BlockBlob",
            "url": url,
        }
        api, version = ("DeleteFile", _DFS_FILE) if call.dfs else ("DeleteBlob", "")
        self._say(call, "BlobDeleted", api, node.address, data, version)

    def _url(self, call: Call, address: Address) -> str:
        host = "dfs" if call.dfs else "blob"
        return f"https://{self._account}.{host}.core.windows.net/{address.encoded}"

    def _say(
        self, call: Call, kind: str, api: str, address: Address, data: dict[str, Any], version: str
    ) -> None:
        if self._sink is None:
            return
        now = self._ticks.next()
        whole = {
            "api": api,
            "clientRequestId": call.header("x-ms-client-request-id") or str(uuid4()),
            "requestId": call.request_id,
            **data,
            # Comparable for one name only, so any time that grows will do.
            "sequencer": f"{file_time(now):032x}",
            "storageDiagnostics": {"batchId": _BATCH},
        }
        moment = datetime.fromtimestamp(now / 1_000_000_000, UTC)
        event = self._enveloped(f"Microsoft.Storage.{kind}", address, moment, whole, version)
        # Whoever hears of it may ask something of the endpoint at once.
        self._gate.when_left(partial(_hand_over, self._sink, event))

    def _enveloped(
        self, kind: str, address: Address, moment: datetime, data: dict[str, Any], version: str
    ) -> dict[str, Any]:
        # Seven digits, as Azure writes them.
        time = f"{moment:%Y-%m-%dT%H:%M:%S.%f}0Z"
        if self._envelope is Envelope.CLOUD_EVENTS:
            return {
                "source": self._topic,
                "subject": address.subject,
                "type": kind,
                "time": time,
                "id": str(uuid4()),
                "data": data,
                "specversion": "1.0",
            }
        return {
            "topic": self._topic,
            "subject": address.subject,
            "eventType": kind,
            "eventTime": time,
            "id": str(uuid4()),
            "data": data,
            "dataVersion": version,
            "metadataVersion": "1",
        }


def _hand_over(sink: Sink, event: dict[str, Any]) -> None:
    try:
        sink(event)
    except Exception:  # noqa: BLE001 - what a subscriber does is no concern of the writer
        _log.exception("an event could not be handed over")
