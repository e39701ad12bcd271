"""The local OneLake in this process, and requests to its hosts as they stand."""

from __future__ import annotations

import http.client
import json
import logging
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from openmirror.emulator.access import DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY
from openmirror.emulator.onelake.hosts import API, DFS, LOGIN
from openmirror.emulator.onelake.items import Items, NamedMirror
from openmirror.emulator.onelake.serving import OneLake, serving
from openmirror.emulator.server import Options
from openmirror.settings import Settings
from openmirror.wiring.fabric import MirrorsOfRoot
from openmirror.wiring.local import local_ports

NAMED = "/My%20Workspace/Sales.MountedRelationalDatabase"
ZONE = f"{NAMED}/Files/LandingZone"
IDS = ("5a6c3f0e-8d1b-4f7a-9a53-0c7f8f1d2e01", "0b9d7c52-33d4-4c0b-8a0e-6f1c2d3e4f05")
"""A workspace and an item that are known by their GUIDs."""
OF_ITS_OWN = "a token that the host takes"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Asking:
    """Requests to a running OneLake, each to the host that a publisher would ask."""

    onelake: OneLake
    root: Path
    events: list[dict[str, Any]] = field(default_factory=list)

    def __call__(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        host: str = DFS,
        headers: Mapping[str, str] | None = None,
        *,
        token: str | None = OF_ITS_OWN,
    ) -> Answer:
        """With a token for storage, unless another or None is given."""
        if token == OF_ITS_OWN:
            token = self.token(f"https://{API}" if host == API else "https://storage.azure.com")
        given = {"host": host, "content-length": str(len(body)), **dict(headers or {})}
        if token is not None:
            given["authorization"] = f"Bearer {token}"
        plain = socket.create_connection(("127.0.0.1", self.onelake.port), timeout=20)
        context = ssl.create_default_context(cafile=str(self.onelake.trust.certificate))
        context.check_hostname = host.rpartition(":")[2].isdigit() is False
        with context.wrap_socket(plain, server_hostname=host) as connection:
            return _exchanged(connection, method, path, given, body)

    def token(self, resource: str) -> str:
        answer = self.entra(
            grant_type="client_credentials",
            client_id="c",
            client_secret="s",
            scope=f"{resource}/.default",
        )
        return str(answer.json()["access_token"])

    def entra(self, version: str = "v2.0/", tenant: str = "contoso.com", **form: str) -> Answer:
        return self(
            "POST",
            f"/{tenant}/oauth2/{version}token",
            urlencode(form).encode(),
            LOGIN,
            {"content-type": "application/x-www-form-urlencoded"},
            token=None,
        )

    def plainly(self, path: str, **headers: str) -> Answer:
        """Over http, as managed identities are asked for."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.onelake.identity_port)
        try:
            connection.request("GET", path, headers=given)
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()


def _exchanged(
    connection: ssl.SSLSocket, method: str, path: str, headers: Mapping[str, str], body: bytes
) -> Answer:
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    # Who refuses a body need not read all of it before it answers and closes.
    with suppress(ssl.SSLEOFError, ConnectionError):
        connection.sendall("\r\n".join([*lines, "connection: close", "", ""]).encode() + body)
    response = http.client.HTTPResponse(connection, method=method)
    response.begin()
    found = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, found, response.read())


@pytest.fixture(autouse=True)
def _logger_as_it_was() -> Iterator[None]:
    """`serve` takes the endpoint's log to the terminal, in whatever process it is run."""
    logger = logging.getLogger("openmirror.emulator")
    before = logger.handlers[:], logger.level, logger.propagate
    yield
    logger.handlers[:], logger.level, logger.propagate = before


@pytest.fixture(scope="package")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    root = tmp_path_factory.mktemp("onelake")
    for mirror in ("sales", "stock"):
        (root / "landing" / mirror / "Files" / "LandingZone").mkdir(parents=True)
    (root / "lake").mkdir()
    items = Items(
        [
            NamedMirror.parse("My Workspace/Sales=sales"),
            NamedMirror.parse("My Workspace/Stock=stock"),
            NamedMirror.parse(f"{IDS[0]}/{IDS[1]}=sales"),
        ]
    )
    options = Options(
        root=root,
        host="127.0.0.1",
        port=0,
        account=DEVELOPMENT_ACCOUNT,
        key=DEVELOPMENT_KEY,
        most_bytes=1 << 20,
    )
    ports = local_ports(Settings(root=root))
    events: list[dict[str, Any]] = []
    with serving(
        options,
        items,
        MirrorsOfRoot(ports, root),
        token_lifetime=3600,
        region="westeurope",
        env={},
        sink=events.append,
    ) as onelake:
        yield Asking(onelake, root, events)
