"""OneLake on a port: account, tokens, Fabric and managed identity, put together."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from starlette.types import ASGIApp

from openmirror.emulator.access import Credentials
from openmirror.emulator.account import ENDPOINT_FOLDER, Account
from openmirror.emulator.app import Endpoint
from openmirror.emulator.certificate import certificate
from openmirror.emulator.events import Sink
from openmirror.emulator.listening import Listening, listen
from openmirror.emulator.onelake.entra import Directory
from openmirror.emulator.onelake.fabric import Fabric, MirroredDatabases
from openmirror.emulator.onelake.front import Front, PlainFront
from openmirror.emulator.onelake.hosts import CERTIFIED, HOSTS, regional
from openmirror.emulator.onelake.identity import ManagedIdentity
from openmirror.emulator.onelake.items import Items
from openmirror.emulator.onelake.naming import OneLakeNaming
from openmirror.emulator.onelake.tokens import KeyOrToken, OneLakeGate, Tokens
from openmirror.emulator.onelake.trust import Trust, trust
from openmirror.emulator.server import FrontOf, Options, Server
from openmirror.errors import CannotStart


@dataclass(frozen=True, kw_only=True)
class OneLake:
    """What answers, and what clients need to find and trust it."""

    items: Items
    host: str
    port: int
    names: tuple[str, ...]
    """All host names that must lead to it."""
    trust: Trust
    identity: ManagedIdentity
    identity_port: int
    """Where tokens of managed identities are given, over http, on 127.0.0.1."""
    folder: Path
    """For files that go with it."""
    server: Server
    _parts: ExitStack

    @property
    def identity_address(self) -> str:
        """The same, as a URL."""
        return f"http://127.0.0.1:{self.identity_port}"

    def answer_on(self, https: socket.socket, *http: socket.socket) -> None:
        """Answer on more sockets, which may listen in another network namespace."""
        self.server.answer_on(https)
        for one in http:
            self._parts.enter_context(Listening(PlainFront(self.identity), one))


@contextmanager
def serving(
    options: Options,
    items: Items,
    mirrors: MirroredDatabases,
    *,
    token_lifetime: int,
    region: str | None,
    env: Mapping[str, str],
    sink: Sink | None = None,
    before: FrontOf | None = None,
) -> Iterator[OneLake]:
    """Answer until the block ends; `token_lifetime` in seconds, of `env` is taken what is trusted.

    `before` puts something before what answers for storage, by whatever names.
    Raises CannotStart where others than this machine would reach it, or it cannot listen.
    """
    require_loopback(options.host)
    folder = options.root / ENDPOINT_FOLDER
    made = certificate(folder, [*CERTIFIED, options.host], name="onelake", is_authority=False)
    tokens = Tokens(token_lifetime)
    gate = OneLakeGate(tokens)

    def storage(account: Account, endpoint: Endpoint) -> ASGIApp:
        return before(account, endpoint) if before is not None else endpoint

    def front(account: Account, endpoint: Endpoint) -> Front:
        onelake = replace(endpoint, gatekeeper=gate, naming=OneLakeNaming(items))
        own, others = storage(account, endpoint), storage(account, onelake)
        return Front(others, own, Directory(tokens), Fabric(items, mirrors, tokens))

    key = Credentials(options.account, options.key, is_https=True)
    chosen = replace(options, certificate=made, front=front, gatekeeper=KeyOrToken(key, gate))
    with ExitStack() as parts:
        server = parts.enter_context(Server(chosen, sink))
        identity = ManagedIdentity(tokens, region)
        listening = listen("127.0.0.1", 0)
        parts.enter_context(Listening(PlainFront(identity), listening))
        yield OneLake(
            items=items,
            host=options.host,
            port=server.port,
            names=HOSTS + (regional(region) if region else ()),
            trust=trust(made[0], env),
            identity=identity,
            identity_port=listening.getsockname()[1],
            folder=folder / "onelake",
            server=server,
            _parts=parts,
        )


def require_loopback(host: str) -> None:
    """Raises CannotStart unless a host is this machine's loopback, and nothing but it."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise CannotStart(f"{host} is no address to listen on: {error}") from error
    addresses = {str(address[4][0]) for address in found}
    if not all(ipaddress.ip_address(one.partition("%")[0]).is_loopback for one in addresses):
        raise CannotStart(
            f"--onelake listens on loopback only, and --host {host} is not: it gives tokens to "
            "whoever asks, and real secrets would reach it. Leave --host away"
        )
