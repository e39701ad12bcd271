"""A storage account on one machine: its publisher, and the event filter behind its events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from azure.storage.blob import BlobServiceClient
from azure.storage.filedatalake import DataLakeServiceClient, FileSystemClient

from openmirror.deltalog import LogReplay
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.ingress.event_filter import Answer
from openmirror.ingress.receiving import receive
from openmirror.ingress.start_runner import Starter
from openmirror.ports.storage_account import AccountUrl
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.reconcile.root_ports import RootPorts
from openmirror.stores.azure.event_grid import read_events
from openmirror.stores.azure.store import AzureStore
from openmirror.stores.memory.work import MemoryWorkQueue
from openmirror.table import layout
from openmirror.wiring.local import utc_now
from tests.emulator_server import EndpointServer, endpoint_server
from tests.harness.paper import PaperEngine

Event = dict[str, Any]


@dataclass
class Account:
    """Written to by Azure's own clients, as a publisher does, and by the product."""

    server: EndpointServer
    ports: RootPorts
    landing: FileSystemClient
    blobs: BlobServiceClient
    work: MemoryWorkQueue = field(default_factory=lambda: MemoryWorkQueue(utc_now))

    def reported(self, act: Callable[[], object]) -> list[tuple[Event, Answer]]:
        """The events of an act, and what the event filter decides on each at once."""
        self.server.events.clear()
        act()
        reported = list(self.server.events)
        starter = Starter(self.work, None, utc_now)
        return [
            (event, answer)
            for event in reported
            for _, answer in receive(
                self.ports, self.work, starter, read_events(json.dumps(event))
            ).answers
        ]

    def upload(self, path: str, data: bytes) -> object:
        """Write a file of the container with the landing zones."""
        return self.landing.get_file_client(path).upload_data(data, overwrite=True)

    def reconcile_until_idle(self, folder: TableFolder) -> None:
        reconcile_until_idle(self.ports, PaperEngine(self.ports.store), folder)


@contextmanager
def served_account(root: Path, *mirrors: str) -> Iterator[Account]:
    """A local root with these mirrors, served as an account."""
    for mirror in mirrors:
        (root / layout.landing_zone(mirror)).mkdir(parents=True)
    with endpoint_server(root) as server:
        url = AccountUrl.parse(f"{server.url}/{server.account}")
        store = AzureStore.connect(url, server.key)
        with (
            DataLakeServiceClient(str(url), credential=server.credential) as files,
            BlobServiceClient(str(url), credential=server.credential) as blobs,
        ):
            ports = RootPorts(
                store=store,
                inspector=ChangeFileInspector(store),
                logs=LogReplay(store),
                clock=utc_now,
            )
            yield Account(server, ports, files.get_file_system_client(layout.LANDING), blobs)
        store.close()
