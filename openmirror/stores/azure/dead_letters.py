"""The ports of dead letters over one blob container, and over the queues they are requeued to."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.storage.blob import BlobPrefix, BlobServiceClient, ContainerClient
from azure.storage.queue import QueueServiceClient

from openmirror.errors import CannotStart, NotThere
from openmirror.ports.connection import Connection
from openmirror.ports.dead_letters import CONTAINER, DeadLetter, UndeliveredEvent
from openmirror.ports.storage_account import AccountUrl
from openmirror.stores.azure.clients import options
from openmirror.stores.azure.credentials import identity
from openmirror.stores.azure.failures import QUEUE_ROLE, code_of, in_our_words
from openmirror.stores.azure.queue import make_queue, on_the_wire, queue_service

_NAME = re.compile(r"[a-z-]+/\d{4}-\d\d-\d\d/[A-Za-z0-9-]+")
_SUFFIX = ".json"


class BlobDeadLetters:
    """Dead letters as blobs `<source>/<date>/<identity>.json`, beside Event Grid's own.

    Every method raises AccessDenied when the account refuses, and Unavailable when it still cannot
    be reached after the SDK's retries.
    """

    def __init__(
        self, service: BlobServiceClient, sources: Collection[str], container: str = CONTAINER
    ) -> None:
        self._service = service
        self._container: ContainerClient = service.get_container_client(container)
        self._sources = sorted(sources)

    @classmethod
    def connect(
        cls, connection: Connection, sources: Collection[str], **extra: Any
    ) -> BlobDeadLetters:
        """The container of a connection; raises CannotStart when that cannot be used."""
        return cls(blob_service(connection, **extra), sources)

    def close(self) -> None:
        """Let go of the connections."""
        self._service.close()

    def keep(self, dead_letter: DeadLetter) -> None:
        """Keep a dead letter, making the container where it is missing."""
        path = dead_letter.name + _SUFFIX
        with in_our_words(f"{CONTAINER}/{path}"):
            try:
                self._container.upload_blob(path, _encode(dead_letter), overwrite=True)
            except ResourceNotFoundError as error:
                if code_of(error) != "ContainerNotFound":
                    raise
                _make(self._container)
                self._container.upload_blob(path, _encode(dead_letter), overwrite=True)

    def is_there(self) -> bool:
        """Whether there is a container at all."""
        with in_our_words(CONTAINER):
            try:
                # Listing takes no other role than reading dead letters does.
                next(iter(self._container.list_blobs(results_per_page=1)), None)
            except ResourceNotFoundError:
                return False
        return True

    def names(self) -> list[str]:
        """The names of all dead letters, the newest first."""
        found = []
        for source in self._sources:
            for blob in self._listed(f"{source}/"):
                name = blob.name.removesuffix(_SUFFIX)
                if _NAME.fullmatch(name):
                    found.append((blob.last_modified, name))
        return [name for _, name in sorted(found, reverse=True)]

    def read(self, name: str) -> DeadLetter:
        """One dead letter; raises NotThere when there is none of this name."""
        # A name comes from an operator: it must not lead to anything else.
        if not _NAME.fullmatch(name) or name.partition("/")[0] not in self._sources:
            raise NotThere(f"there is no dead letter {name}")
        with in_our_words(f"dead letter {name}"):
            data = self._container.download_blob(name + _SUFFIX).readall()
        return _decode(data)

    def delete(self, name: str) -> None:
        """Delete a dead letter; harmless when it is gone."""
        _delete(self._container, name + _SUFFIX)

    def _listed(self, prefix: str) -> Iterator[Any]:
        with in_our_words(CONTAINER):
            try:
                yield from self._container.list_blobs(name_starts_with=prefix)
            except ResourceNotFoundError:
                return

    def undelivered_events(self) -> BlobUndeliveredEvents:
        """The events that Event Grid could not deliver and wrote into the same container."""
        return BlobUndeliveredEvents(self._container, self._sources)


class BlobUndeliveredEvents:
    """Everything in the container that is no dead letter of ours: Event Grid's own."""

    def __init__(self, container: ContainerClient, sources: Collection[str]) -> None:
        self._container = container
        self._ours = {f"{source}/" for source in sources}

    def waiting(self, most: int) -> list[UndeliveredEvent]:
        """Some that nobody has collected yet; none where there is no container."""
        with in_our_words(CONTAINER):
            try:
                return [
                    UndeliveredEvent(path, self._container.download_blob(path).readall())
                    for path in islice(self._paths(), most)
                ]
            except ResourceNotFoundError:
                return []  # no container, or one that was just collected by another

    def _paths(self) -> Iterator[str]:
        for item in self._container.walk_blobs():
            if not isinstance(item, BlobPrefix):
                yield item.name
            elif item.name not in self._ours:
                for blob in self._container.list_blobs(name_starts_with=item.name):
                    if blob.size:
                        yield blob.name

    def delete(self, path: str) -> None:
        """It was collected; harmless when it is gone."""
        _delete(self._container, path)


class QueueRequeuer:
    """Sends bodies in base64, as the Functions host reads them."""

    def __init__(self, service: QueueServiceClient) -> None:
        self._service = service

    @classmethod
    def connect(cls, connection: Connection, **extra: Any) -> QueueRequeuer:
        """The queues of a connection; raises CannotStart when that cannot be used."""
        return cls(queue_service(connection, **extra))

    def send(self, queue: str, body: bytes) -> None:
        """Send a message, making the queue where it is missing."""
        client = self._service.get_queue_client(queue)
        text = on_the_wire(body)
        with in_our_words(f"the queue {queue}", QUEUE_ROLE):
            try:
                client.send_message(text)
            except ResourceNotFoundError as error:
                if code_of(error) != "QueueNotFound":
                    raise
                make_queue(client)
                client.send_message(text)


def blob_service(connection: Connection, **extra: Any) -> BlobServiceClient:
    """A client of an account's blobs; raises CannotStart when it cannot be made."""
    kept = {**options(), **extra}
    if connection.text is not None:
        try:
            return BlobServiceClient.from_connection_string(connection.text, **kept)
        except ValueError as error:
            raise CannotStart(
                f"the connection string of the dead letters is wrong: {error}"
            ) from None
    url = connection.service or ""
    secure = AccountUrl.parse(url.replace(".blob.", ".", 1)).is_secure
    credential = kept.pop("credential", None) or identity(
        url, secure=secure, client_id=connection.client_id
    )
    return BlobServiceClient(url, credential, **kept)


def _delete(container: ContainerClient, path: str) -> None:
    with in_our_words(f"{CONTAINER}/{path}"):
        try:
            container.delete_blob(path)
        except ResourceNotFoundError:
            return


def _make(container: ContainerClient) -> None:
    try:
        container.create_container()
    except ResourceExistsError:
        return


def _encode(dead_letter: DeadLetter) -> bytes:
    value = {
        "source": dead_letter.source,
        "identity": dead_letter.identity,
        "at": dead_letter.at.isoformat(),
        "reason": dead_letter.reason,
    }
    try:
        value["body"] = dead_letter.body.decode()
    except UnicodeDecodeError:
        value["bodyInBase64"] = base64.b64encode(dead_letter.body).decode()
    return json.dumps(value, indent=1, ensure_ascii=False).encode()


def _decode(data: bytes) -> DeadLetter:
    value = json.loads(data)
    plain = value.get("body")
    return DeadLetter(
        source=value["source"],
        identity=value["identity"],
        at=datetime.fromisoformat(value["at"]),
        reason=value["reason"],
        body=plain.encode() if plain is not None else base64.b64decode(value["bodyInBase64"]),
    )
