"""An Azure store over the local endpoint, and what tests do beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from openmirror.account import AccountUrl
from openmirror.adapters.azure.clients import Clients
from openmirror.adapters.azure.credentials import account_credential
from openmirror.adapters.azure.paths import place
from openmirror.adapters.azure.store import AzureStore
from openmirror.layout import StorePath
from tests.endpoint_server import EndpointServer


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
    clients.files.get_directory_client(*place(path)).create_directory()
