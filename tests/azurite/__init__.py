"""Azurite as a fixture, and what tests against it need besides."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from azure.storage.queue import QueueServiceClient

from openmirror.ports.work_items import POISON_SUFFIX, WORK_QUEUE
from openmirror.stores.azure.queue import StorageWorkQueue
from standins.azurite import Azurite, running


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    """One Azurite for the whole run: tests name their own queues and containers."""
    with running(tmp_path_factory.mktemp("azurite")) as emulator:
        yield emulator


@pytest.fixture(scope="session")
def accounts(azurite: Azurite) -> Iterator[Azurite]:
    """Its further accounts: `next` gives one of their own to tests whose names are fixed."""
    return azurite.further()


@pytest.fixture
def work_queue(azurite: Azurite) -> Iterator[StorageWorkQueue]:
    """The one queue `table-work`, empty, and its poison queue as well."""
    with QueueServiceClient.from_connection_string(azurite.connection_string) as service:
        for name in (WORK_QUEUE, WORK_QUEUE + POISON_SUFFIX):
            client = service.get_queue_client(name)
            if name not in [found.name for found in service.list_queues()]:
                client.create_queue()
            client.clear_messages()
        yield StorageWorkQueue(service)
