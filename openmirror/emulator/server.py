"""The endpoint on a port: an ordinary account, or one that is OneLake as well."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from starlette.types import ASGIApp

from openmirror.emulator.access import Credentials, Gatekeeper
from openmirror.emulator.account import Account, open_account
from openmirror.emulator.app import Endpoint
from openmirror.emulator.events import Envelope, Sink
from openmirror.emulator.listening import Listening, listen
from openmirror.emulator.places import AccountNaming

FrontOf = Callable[[Account, Endpoint], ASGIApp]
"""Puts something before an account's endpoint that answers other hosts."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What can be chosen about a server."""

    root: Path
    host: str
    port: int
    """0 takes any that is free."""
    account: str
    key: str | None
    most_bytes: int
    certificate: tuple[Path, Path] | None = None
    """Certificate and key, for https."""
    envelope: Envelope = Envelope.EVENT_GRID
    gatekeeper: Gatekeeper | None = None
    """In place of the account's own credentials."""
    front: FrontOf | None = None


class Server:
    """A context manager: it answers from the moment it is entered until it is left."""

    def __init__(self, options: Options, sink: Sink | None = None) -> None:
        self._options = options
        self._sink = sink
        self._running = ExitStack()
        self.url = ""
        """Without the account; known once it is entered."""
        self.certificate = options.certificate[0] if options.certificate else None

    def __enter__(self) -> Self:
        options = self._options
        listening = listen(options.host, options.port)
        try:
            account = open_account(options.root, options.account, self._sink, options.envelope)
        except BaseException:
            listening.close()
            raise
        self._running.callback(account.close)
        scheme = "https" if options.certificate else "http"
        host = f"[{options.host}]" if ":" in options.host else options.host
        self.port: int = listening.getsockname()[1]
        self.url = f"{scheme}://{host}:{self.port}"
        endpoint = Endpoint(
            account,
            options.gatekeeper or Credentials(options.account, options.key, scheme == "https"),
            AccountNaming(options.account),
            options.most_bytes,
        )
        self._application = options.front(account, endpoint) if options.front else endpoint
        try:
            self.answer_on(listening)
        except BaseException:
            self._running.close()
            raise
        return self

    def answer_on(self, listening: socket.socket) -> None:
        """Answer on one more socket, which may listen in another network namespace."""
        self._running.enter_context(
            Listening(self._application, listening, self._options.certificate)
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._running.close()
