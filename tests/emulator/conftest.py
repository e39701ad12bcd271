"""The endpoint with the real SDKs' clients, and one for requests that no SDK would send."""

from __future__ import annotations

import http.client
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import pytest
from azure.storage.blob import BlobServiceClient, ContainerClient
from azure.storage.filedatalake import DataLakeServiceClient, FileSystemClient

from tests.emulator_server import EndpointServer, endpoint_server

T = "m/Files/LandingZone/T"
"""A table folder."""


@pytest.fixture(scope="package")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EndpointServer]:
    with endpoint_server(tmp_path_factory.mktemp("endpoint")) as running:
        yield running


@pytest.fixture
def server(shared: EndpointServer) -> EndpointServer:
    """One endpoint for all tests here; each finds it empty."""
    empty(shared)
    return shared


def empty(server: EndpointServer) -> None:
    """Behind the endpoint's back, which it must bear."""
    for container in server.root.iterdir():
        if not container.name.startswith("."):
            shutil.rmtree(container)
    for name in ("landing", "lake"):
        (server.root / name).mkdir()
    server.events.clear()
    server.on_event = None


@pytest.fixture
def service(server: EndpointServer) -> Iterator[DataLakeServiceClient]:
    with DataLakeServiceClient(server.url, credential=server.credential, retry_total=0) as client:
        yield client


@pytest.fixture
def landing(service: DataLakeServiceClient) -> FileSystemClient:
    return service.get_file_system_client("landing")


@pytest.fixture
def blobs(server: EndpointServer) -> Iterator[BlobServiceClient]:
    with BlobServiceClient(server.url, credential=server.credential, retry_total=0) as client:
        yield client


@pytest.fixture
def lake(blobs: BlobServiceClient) -> ContainerClient:
    return blobs.get_container_client("lake")


@pytest.fixture
def lands(blobs: BlobServiceClient) -> ContainerClient:
    return blobs.get_container_client("landing")


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def code(self) -> str:
        """The error's code, which header and body must agree on."""
        code = self.headers["x-ms-error-code"]
        if self.headers.get("content-type") == "application/json":
            assert json.loads(self.body)["error"]["code"] == code
        elif self.body:
            assert ElementTree.fromstring(self.body).findtext("Code") == code
        return code

    def json(self) -> Any:
        return json.loads(self.body)


@pytest.fixture(scope="package")
def unlocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EndpointServer]:
    root = tmp_path_factory.mktemp("unlocked")
    with endpoint_server(root, key=None, most_bytes=1 << 20) as running:
        yield running


@dataclass(frozen=True)
class Ask:
    """Requests as they stand, to an endpoint that does not check signatures."""

    server: EndpointServer

    def __call__(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Answer:
        sent = {
            "authorization": f"SharedKey {self.server.account}:none",
            "content-length": str(len(body)),
        } | dict(headers or {})
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=20)
        try:
            connection.putrequest(method, path, skip_accept_encoding=True)
            for name, value in sent.items():
                connection.putheader(name, value)
            connection.endheaders(body or None)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()


@pytest.fixture
def ask(unlocked: EndpointServer) -> Ask:
    empty(unlocked)
    return Ask(unlocked)
