"""How much lies in the queues of an account, for whoever may only read that."""

from __future__ import annotations

from typing import Any

from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue import QueueServiceClient

from openmirror.ports.connection import Connection
from openmirror.stores.azure.failures import in_our_words
from openmirror.stores.azure.queue import queue_service

_ROLE = "Storage Queue Data Reader"


class StorageQueueLengths:
    """The queues of one account.

    Raises AccessDenied when the account refuses, and Unavailable when it cannot be reached.
    """

    def __init__(self, service: QueueServiceClient) -> None:
        self._service = service

    @classmethod
    def connect(cls, connection: Connection, **extra: Any) -> StorageQueueLengths:
        """The queues of a connection; raises CannotStart when that cannot be used."""
        return cls(queue_service(connection, **extra))

    def close(self) -> None:
        """Let go of the connections."""
        self._service.close()

    def length(self, queue: str) -> int | None:
        """About how many messages there are; None when there is no such queue."""
        with in_our_words(f"the queue {queue}", _ROLE):
            try:
                found = self._service.get_queue_client(queue).get_queue_properties()
            except ResourceNotFoundError:
                return None
        return int(found.approximate_message_count or 0)
