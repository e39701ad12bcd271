"""An Azure store over the local endpoint, and what tests do beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from openmirror.ports.storage_account import AccountUrl
from openmirror.stores.azure.clients import Clients
from openmirror.stores.azure.credentials import account_credential
from openmirror.stores.azure.paths import container_path
from openmirror.stores.azure.store import AzureStore
from openmirror.table.layout import StorePath
from tests.emulator_server import EndpointServer


def account_of(server: EndpointServer) -> AccountUrl:
    return AccountUrl.parse(f"{server.url}/{server.account}")


@contextmanager
def azure_clients(server: EndpointServer, **options: Any) -> Iterator[Clients]:
    account = account_of(server)
    clients = Clients(account, account_credential(account, server.key), **options)
    try:
        yield clients
    finally:
        clients.close()


@contextmanager
def azure_store(server: EndpointServer, **options: Any) -> Iterator[tuple[AzureStore, Clients]]:
    with azure_clients(server, **options) as clients:
        yield AzureStore(clients), clients


def make_folder(clients: Clients, path: StorePath) -> None:
    """As a publisher makes one: with the folders above it."""
    clients.files.get_directory_client(*container_path(path)).create_directory()
