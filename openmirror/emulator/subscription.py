"""The events that the product subscribes to, and a storage queue that they are sent to."""

from __future__ import annotations

import base64
import json
import logging
import queue
import threading
from types import TracebackType
from typing import Any, Self

from azure.core.exceptions import AzureError, ResourceExistsError
from azure.storage.queue import QueueClient

from openmirror.errors import CannotStart
from openmirror.table.layout import LANDING

_log = logging.getLogger(__name__)

SUBSCRIBED = frozenset(
    f"Microsoft.Storage.{kind}"
    for kind in (
        "BlobCreated",
        "BlobRenamed",
        "BlobDeleted",
        "DirectoryCreated",
        "DirectoryRenamed",
        "DirectoryDeleted",
    )
)
_SUBJECT = f"/blobServices/default/containers/{LANDING}/blobs/"
_FIRST_DELAY, _LONGEST_DELAY = 0.5, 30.0
_SECONDS_TO_FINISH = 5.0


def is_subscribed(event: dict[str, Any]) -> bool:
    """Whether the subscription's filters let an event of either envelope pass."""
    kind = event.get("eventType") or event.get("type")
    return kind in SUBSCRIBED and str(event.get("subject")).startswith(_SUBJECT)


class QueueSink:
    """Sends subscribed events to a storage queue, in order, from a thread; a context manager.

    While the queue does not answer, events wait; those that still do when it is left are lost,
    which the sweep is there for.
    """

    def __init__(self, connection: str, name: str) -> None:
        try:
            self._queue = QueueClient.from_connection_string(connection, name)
        except (ValueError, AzureError) as error:
            raise CannotStart(f"events cannot be sent: no storage connection: {error}") from error
        self._waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="events", daemon=True)

    def __call__(self, event: dict[str, Any]) -> None:
        """Take an event; returns at once."""
        if is_subscribed(event):
            text = json.dumps(event, ensure_ascii=False).encode()
            self._waiting.put(base64.b64encode(text).decode())

    def __enter__(self) -> Self:
        try:
            self._queue.create_queue()
        except ResourceExistsError:
            pass
        except AzureError as error:
            self._queue.close()
            raise CannotStart(
                f"the queue {self._queue.queue_name} for events cannot be made: {error}"
            ) from error
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._waiting.put(None)
        self._thread.join(_SECONDS_TO_FINISH)
        self._stop.set()
        self._thread.join()
        self._queue.close()

    def _run(self) -> None:
        while (message := self._waiting.get()) is not None:
            delay = _FIRST_DELAY
            while not self._sent(message):
                if self._stop.wait(delay):
                    return
                delay = min(2 * delay, _LONGEST_DELAY)

    def _sent(self, message: str) -> bool:
        try:
            self._queue.send_message(message, timeout=10)
        except AzureError as error:
            _log.warning("an event could not be sent, and is tried again: %s", error)
            return False
        return True
