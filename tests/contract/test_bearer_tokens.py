"""An identity's tokens are enough for queues, leases and files: no key is needed anywhere."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from azure.core import PipelineClient
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError
from azure.core.pipeline.transport import HttpTransport
from azure.core.rest import HttpRequest

from openmirror.errors import AccessDenied, Unavailable
from openmirror.ports import ABSENT, WorkItem
from openmirror.ports.connection import Connection
from openmirror.ports.storage_account import AccountUrl
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.settings import Settings
from openmirror.stores.azure.clients import Clients
from openmirror.stores.azure.credentials import RefusalsApart
from openmirror.stores.azure.leases import BlobLeases
from openmirror.stores.azure.queue import StorageWorkQueue
from openmirror.stores.azure.store import AzureStore
from openmirror.wiring.azure import azure_ports
from standins.azurite import running
from standins.loopback import serving
from tests.azurite.tokens import UnsignedTokens, make_certificate
from tests.contract.stores import ARCHIVED, DOCUMENT, FILE, TABLE
from tests.emulator_server import endpoint_server

ORDERS = TableFolder("m", TablePath("", "Orders"))


def test_queues_and_leases_of_azurite_work_with_tokens_over_https(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    options = ("--oauth", "basic", "--cert", str(certificate), "--key", str(key))
    tokens = UnsignedTokens()
    with running(tmp_path, *options) as emulator:
        trust = {"connection_verify": str(certificate)}
        connection = Connection(service=emulator.queue_url)
        queue = StorageWorkQueue.connect(connection, credential=tokens, **trust)
        queue.send(WorkItem(ORDERS, "sweep"))
        (taken,) = queue.take(1)
        assert taken.work_item == WorkItem(ORDERS, "sweep")
        queue.dead_letter(taken, "why not")
        assert queue.length() == 0
        queue.close()

        clients = Clients(AccountUrl.parse(emulator.blob_url), tokens, **trust)
        clients.blobs.create_container("lake")
        leases = BlobLeases(clients)
        lease = leases.take(ORDERS)
        assert lease is not None
        assert leases.take(ORDERS) is None
        lease.release()
        clients.close()
    assert set(tokens.scopes) == {"https://storage.azure.com/.default"}


def test_files_of_the_endpoint_work_with_tokens_over_https(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    with endpoint_server(tmp_path / "root", certificate=certificate) as server:
        account = AccountUrl.parse(f"{server.url}/{server.account}")
        assert account.is_secure
        clients = Clients(account, UnsignedTokens(), connection_verify=str(certificate[0]))
        store = AzureStore(clients)
        store.write(DOCUMENT, b"{}", only_if=ABSENT)
        etag = store.write(FILE, b"1")
        assert store.incarnation(TABLE)
        store.move_file(FILE, ARCHIVED, etag)
        assert store.read(ARCHIVED).data == b"1"
        store.delete_folder(TABLE)
        clients.close()
        # Errors that the SDK distinguished keep a connection alive until then, and the server
        # waits.
        gc.collect()


def test_an_environment_without_any_identity_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate = make_certificate(tmp_path)
    monkeypatch.setattr(HttpTransport, "sleep", lambda *_: None)
    # Only variables that are not set: nothing outside this machine is asked.
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate[0]))
    with endpoint_server(tmp_path / "root", certificate=certificate) as server:
        ports = azure_ports(Settings.load({}, {"root": f"{server.url}/{server.account}"}))
        with pytest.raises(AccessDenied, match="assign a managed identity"):
            ports.store.read(DOCUMENT)


@contextmanager
def no_tokens(status: int) -> Iterator[str]:
    """What gives a machine its tokens, refusing."""

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b'{"error": "not_now", "error_description": "being replaced"}'
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with serving(Refusing) as url:
        yield url


class Refused:
    """A credential that is refused its token, as azure-identity raises it."""

    def __init__(self, host: str) -> None:
        self._host, self._client = host, PipelineClient(host)

    def get_token(self, *scopes: str, **options: object) -> AccessToken:
        del scopes, options
        answer = self._client.send_request(HttpRequest("GET", self._host))
        raise ClientAuthenticationError(message="no token today", response=answer)

    def close(self) -> None:
        self._client.close()


@pytest.mark.parametrize(
    ("status", "error"),
    [(404, Unavailable), (410, Unavailable), (429, Unavailable), (400, AccessDenied)],
)
def test_who_gives_no_token_makes_no_file_appear_missing(
    monkeypatch: pytest.MonkeyPatch, status: int, error: type[Exception]
) -> None:
    monkeypatch.setattr(HttpTransport, "sleep", lambda *_: None)
    with no_tokens(status) as host:
        account, refused = AccountUrl.parse("https://contoso.dfs.core.windows.net"), Refused(host)
        clients = Clients(account, RefusalsApart(refused))
        store, leases = AzureStore(clients), BlobLeases(clients)
        for ask in (
            lambda: store.read(DOCUMENT),
            lambda: store.list_folder(TABLE),
            lambda: store.incarnation(TABLE),
            lambda: leases.take(ORDERS),
        ):
            with pytest.raises(error, match="no token today"):
                ask()
        clients.close()
        refused.close()
