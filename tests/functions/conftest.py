"""A storage account of its own, since the names of queues are fixed; and a mirror to run on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.storage.blob import BlobServiceClient
from azure.storage.queue import QueueServiceClient

from openmirror.ports import WorkItem
from openmirror.ports.work_items import EVENTS_QUEUE, POISON_SUFFIX, WORK_QUEUE, decode, plain
from standins.azurite import Azurite
from standins.functions_host import FunctionsHost, host
from tests.harness.publishing import KEYED, file_name, parquet


@pytest.fixture(scope="module")
def emulator(accounts: Iterator[Azurite]) -> Azurite:
    return next(accounts)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("root")
    (made / "landing" / "m" / "Files" / "LandingZone").mkdir(parents=True)
    return made


@pytest.fixture(scope="module")
def settings(emulator: Azurite, root: Path) -> dict[str, str]:
    return {
        "OPENMIRROR_ROOT": str(root),
        "OPENMIRROR_QUEUES": emulator.connection_string,
        "OPENMIRROR_DEAD_LETTERS": emulator.connection_string,
    }


@pytest.fixture(scope="module")
def app(settings: dict[str, str]) -> Iterator[FunctionsHost]:
    with host(settings) as running_app:
        # As each start does: until a sweep has ended, an event sweeps.
        assert running_app.timer("sweep").error is None
        yield running_app


@dataclass
class Queues:
    """The queues of one test, empty at its start."""

    service: QueueServiceClient

    def send(self, name: str, text: str) -> None:
        client = self.service.get_queue_client(name)
        with suppress(ResourceExistsError):
            client.create_queue()
        client.send_message(text)

    def bodies(self, name: str) -> list[bytes]:
        """What lies in a queue, which stays there."""
        try:
            found = self.service.get_queue_client(name).peek_messages(32)
        except ResourceNotFoundError:
            return []
        return [plain(message.content.encode()) for message in found]

    def wake_ups(self) -> list[WorkItem | None]:
        return [decode(body.decode()) for body in self.bodies(WORK_QUEUE)]

    def empty(self) -> None:
        for name in (EVENTS_QUEUE, WORK_QUEUE):
            for kind in ("", POISON_SUFFIX):
                with suppress(ResourceNotFoundError):
                    self.service.get_queue_client(name + kind).clear_messages()


@pytest.fixture
def queues(emulator: Azurite) -> Iterator[Queues]:
    with QueueServiceClient.from_connection_string(emulator.connection_string) as service:
        made = Queues(service)
        made.empty()
        yield made


@pytest.fixture
def blobs(emulator: Azurite) -> Iterator[BlobServiceClient]:
    with BlobServiceClient.from_connection_string(emulator.connection_string) as service:
        with suppress(ResourceNotFoundError):
            container = service.get_container_client("dead-letters")
            for blob in container.list_blobs():
                container.delete_blob(blob.name)
        yield service


@dataclass
class Publisher:
    """Writes files of one table, and says the event that Event Grid would."""

    zone: Path
    table: str

    def metadata(self) -> dict[str, Any]:
        return self.write("_metadata.json", KEYED)

    def land(self, number: int, **columns: object) -> dict[str, Any]:
        return self.write(file_name(number), parquet(**columns))

    def write(self, name: str, data: bytes) -> dict[str, Any]:
        path = self.zone / self.table / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return event(f"m/Files/LandingZone/{self.table}/{name}", len(data))


@pytest.fixture
def publisher(root: Path, request: pytest.FixtureRequest) -> Publisher:
    name = "".join(character if character.isalnum() else "-" for character in request.node.name)
    return Publisher(root / "landing" / "m" / "Files" / "LandingZone", name[:60])


def event(path: str, size: int = 1) -> dict[str, Any]:
    """One event in Event Grid's own schema."""
    return {
        "topic": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/a",
        "subject": f"/blobServices/default/containers/landing/blobs/{path}",
        "eventType": "Microsoft.Storage.BlobCreated",
        "id": "event-1",
        "eventTime": "2026-11-21T09:30:00.1234567Z",
        "data": {"api": "FlushWithClose", "contentLength": size, "eTag": "0x1"},
        "dataVersion": "2",
        "metadataVersion": "1",
    }


def cloud(path: str, size: int = 1) -> dict[str, Any]:
    """The same in the CloudEvents schema."""
    grid = event(path, size)
    return {
        "source": grid["topic"],
        "subject": grid["subject"],
        "type": grid["eventType"],
        "id": grid["id"],
        "time": grid["eventTime"],
        "data": grid["data"],
        "specversion": "1.0",
    }


def text(value: object) -> str:
    return json.dumps(value)
