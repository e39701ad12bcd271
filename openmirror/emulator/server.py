"""The endpoint on a port, served from a thread of its own."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import uvicorn

from openmirror.emulator.access import Credentials
from openmirror.emulator.account import Account, open_account
from openmirror.emulator.app import Endpoint
from openmirror.emulator.events import Envelope, Sink
from openmirror.errors import CannotStart

_BACKLOG = 512
_KEEP_ALIVE_SECONDS = 75
"""Longer than clients keep an idle connection, or they would run into its end."""
_STOP_SECONDS = 5
_MOST_HEADER_BYTES = 64 << 10


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


class Server:
    """A context manager: it answers from the moment it is entered until it is left."""

    def __init__(self, options: Options, sink: Sink | None = None) -> None:
        self._options = options
        self._sink = sink
        self.url = ""
        """Without the account; known once it is entered."""
        self.certificate = options.certificate[0] if options.certificate else None

    def __enter__(self) -> Self:
        options = self._options
        listening = _listen(options.host, options.port)
        try:
            self._account: Account = open_account(
                options.root, options.account, self._sink, options.envelope
            )
        except BaseException:
            listening.close()
            raise
        scheme = "https" if options.certificate else "http"
        host = f"[{options.host}]" if ":" in options.host else options.host
        self.port: int = listening.getsockname()[1]
        self.url = f"{scheme}://{host}:{self.port}"
        credentials = Credentials(options.account, options.key, scheme == "https")
        application = Endpoint(self._account, credentials, options.most_bytes)
        certificate, key = options.certificate or (None, None)
        self._server = uvicorn.Server(
            uvicorn.Config(
                application,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,  # its own would be up to a second late
                ws="none",
                http="h11",
                loop="asyncio",
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=_STOP_SECONDS,
                h11_max_incomplete_event_size=_MOST_HEADER_BYTES,
                ssl_certfile=certificate,
                ssl_keyfile=key,
            )
        )
        self._thread = threading.Thread(
            target=self._server.run, args=([listening],), name="endpoint", daemon=True
        )
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise CannotStart(f"the endpoint on {self.url} did not start")
            time.sleep(0.005)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.should_exit = True
        self._thread.join(2 * _STOP_SECONDS)
        self._account.close()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CannotStart(f"{host} is no address to listen on: {error}") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise CannotStart(
            f"cannot listen on {host} port {port}: {error.strerror}. Choose another with --port"
        ) from error
    return listening
