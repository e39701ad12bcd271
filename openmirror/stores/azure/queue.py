"""The WorkQueue port over a storage queue, with bodies as the Functions host writes them."""

from __future__ import annotations

import base64
from contextlib import suppress
from datetime import timedelta
from typing import Any

from azure.core.credentials import TokenCredential
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.queue import QueueClient, QueueServiceClient

from openmirror.errors import CannotStart
from openmirror.ports import Taken, WorkItem
from openmirror.ports.connection import Connection
from openmirror.ports.storage_account import AccountUrl
from openmirror.ports.work_items import (
    POISON_SUFFIX,
    WORK_QUEUE,
    DeadLettered,
    decode,
    encode,
    encode_dead_lettered,
    plain,
)
from openmirror.stores.azure.clients import options
from openmirror.stores.azure.credentials import identity
from openmirror.stores.azure.failures import QUEUE_ROLE, code_of, in_our_words

HIDDEN_FOR = timedelta(minutes=2)
_MOST_AT_ONCE = 32
_FOR_EVER = -1
_LONGEST_MESSAGE = 64 << 10
_LONGEST_DELAY = timedelta(days=7)
_NO_LONGER_OURS = frozenset({"MessageNotFound", "PopReceiptMismatch"})


class StorageWorkQueue:
    """The queue `table-work` of one account; safe to share between threads.

    Every method raises AccessDenied when the account refuses, and Unavailable when it still cannot
    be reached after the SDK's retries.
    """

    def __init__(
        self,
        service: QueueServiceClient,
        name: str = WORK_QUEUE,
        hidden_for: timedelta = HIDDEN_FOR,
    ) -> None:
        self._service = service
        self._queue = service.get_queue_client(name)
        self._poison = service.get_queue_client(name + POISON_SUFFIX)
        self._hidden_for = hidden_for

    @classmethod
    def connect(
        cls, connection: Connection, given: TokenCredential | None = None, **extra: Any
    ) -> StorageWorkQueue:
        """The queue of a connection; raises CannotStart when that cannot be used."""
        return cls(queue_service(connection, given, **extra))

    def close(self) -> None:
        """Let go of the connections."""
        self._service.close()

    @property
    def hidden_for(self) -> timedelta:
        """How long a taken message stays hidden unless it is renewed."""
        return self._hidden_for

    def send(self, work_item: WorkItem, delay: timedelta = timedelta()) -> None:
        """Send a work item, visible at once or after a delay."""
        with self._translated(self._queue):
            _send(self._queue, encode(work_item), visibility_timeout=_seconds(delay))

    def take(self, most: int) -> list[Taken]:
        """At most so many messages that are there now."""
        taken: list[Taken] = []
        with self._translated(self._queue):
            while len(taken) < most:
                asked = min(most - len(taken), _MOST_AT_ONCE)
                got = self._page(asked)
                taken += got
                if len(got) < asked:
                    break
        return taken

    def _page(self, most: int) -> list[Taken]:
        received = self._queue.receive_messages(
            messages_per_page=most, visibility_timeout=_seconds(self._hidden_for)
        )
        try:
            # One page: the SDK's own iterator would ask once more, until nothing comes.
            found = list(next(received.by_page()))
        except StopIteration:
            return []
        except ResourceNotFoundError as error:
            if code_of(error) != "QueueNotFound":
                raise
            return []
        return [_taken(message) for message in found]

    def renew(self, taken: Taken) -> Taken | None:
        """Hide it for as long again; None when it has come back, or is gone."""
        receipt = self._update(taken, self._hidden_for)
        if receipt is None:
            return None
        return Taken(taken.identity, receipt, taken.work_item, taken.body, taken.times)

    def give_back(self, taken: Taken, delay: timedelta) -> None:
        """Let it be taken again after a delay; harmless when it has come back, or is gone."""
        self._update(taken, delay)

    def delete(self, taken: Taken) -> None:
        """It is done; harmless when it has come back, or is gone."""
        with self._translated(self._queue):
            try:
                self._queue.delete_message(taken.identity, taken.receipt)
            except HttpResponseError as error:
                if code_of(error) not in _NO_LONGER_OURS:
                    raise

    def dead_letter(self, taken: Taken, why: str) -> None:
        """Copy it to the poison queue, then delete it: a crash leaves it in both, never in none."""
        with self._translated(self._poison):
            dead_lettered = encode_dead_lettered(DeadLettered(taken.body, why))
            _send(self._poison, dead_lettered, time_to_live=_FOR_EVER)
        self.delete(taken)

    def length(self) -> int:
        """About how many messages there are, those that are hidden among them."""
        with self._translated(self._queue):
            try:
                found = self._queue.get_queue_properties()
            except ResourceNotFoundError:
                return 0
            return int(found.approximate_message_count or 0)

    def _update(self, taken: Taken, hidden: timedelta) -> str | None:
        with self._translated(self._queue):
            try:
                done = self._queue.update_message(
                    taken.identity, taken.receipt, visibility_timeout=_seconds(hidden)
                )
            except HttpResponseError as error:
                if code_of(error) in _NO_LONGER_OURS:
                    return None
                raise
        return str(done.pop_receipt)

    def _translated(self, queue: QueueClient) -> Any:
        return in_our_words(f"the queue {queue.queue_name}", QUEUE_ROLE)


def queue_service(
    connection: Connection, given: TokenCredential | None = None, **extra: Any
) -> QueueServiceClient:
    """A client of all queues of an account; raises CannotStart when it cannot be made."""
    kept = {**options(), **extra}
    if connection.text is not None:
        try:
            return QueueServiceClient.from_connection_string(connection.text, **kept)
        except ValueError as error:
            raise CannotStart(f"the connection string of the queues is wrong: {error}") from None
    url = connection.service or ""
    credential = kept.pop("credential", None) or identity(
        url,
        secure=AccountUrl.parse(url).is_secure,
        client_id=connection.client_id,
        given=given,
    )
    return QueueServiceClient(url, credential, **kept)


def on_the_wire(body: bytes) -> str:
    """A body as the Functions host wants it: in base64, unless only the body itself has room.

    Whatever came without base64 may be longer than what fits with it, and must not stay for that.
    """
    text = base64.b64encode(body).decode()
    if len(text) <= _LONGEST_MESSAGE:
        return text
    try:
        return body.decode()
    except ValueError:
        return text


def make_queue(queue: QueueClient) -> None:
    """Make a queue, which somebody else may have just done."""
    with suppress(ResourceExistsError):
        queue.create_queue()


def _send(queue: QueueClient, body: str, **how: Any) -> None:
    text = on_the_wire(body.encode())
    try:
        queue.send_message(text, **how)
    except ResourceNotFoundError as error:
        if code_of(error) != "QueueNotFound":
            raise
        make_queue(queue)
        queue.send_message(text, **how)


def _taken(message: Any) -> Taken:
    body = plain(str(message.content).encode()).decode()
    return Taken(
        identity=message.id,
        receipt=message.pop_receipt,
        work_item=decode(body),
        body=body,
        times=int(message.dequeue_count or 1),
    )


def _seconds(duration: timedelta) -> int:
    """Whole seconds, rounded up: the service counts no less."""
    return -(-min(duration, _LONGEST_DELAY) // timedelta(seconds=1))
