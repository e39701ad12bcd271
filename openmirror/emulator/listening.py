"""An application that answers on a socket, from a thread of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from pathlib import Path
from typing import Self

import uvicorn
from starlette.types import ASGIApp

from openmirror.errors import CannotStart

_BACKLOG = 512
_KEEP_ALIVE_SECONDS = 75
"""Longer than clients keep an idle connection, or they would run into its end."""
_STOP_SECONDS = 5
_MOST_HEADER_BYTES = 64 << 10


class Listening:
    """A context manager: it answers from the moment it is entered until it is left."""

    def __init__(
        self,
        application: ASGIApp,
        socket: socket.socket,
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        """With a certificate and its key it speaks https. The socket listens already."""
        self._socket = socket
        made, key = certificate or (None, None)
        self._server = _Server(
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
                ssl_certfile=made,
                ssl_keyfile=key,
            )
        )
        self._thread = threading.Thread(
            target=self._server.run, args=([socket],), name="endpoint", daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise CannotStart(f"the endpoint on {self._socket.getsockname()} did not start")
            time.sleep(0.005)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(2 * _STOP_SECONDS)


class _Server(uvicorn.Server):
    """Leaves no connection behind; uvicorn would forget that of a client which does not read."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        while left := list(self.server_state.connections):
            for connection in left:
                connection.transport.abort()
            await asyncio.sleep(0)  # for asyncio to close them


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on this address; port 0 takes any that is free. Raises CannotStart."""
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
        remedy = "Choose another with --port"
        if isinstance(error, PermissionError):
            remedy = (
                f"Ports below 1024 need root (sudo), or the right CAP_NET_BIND_SERVICE. {remedy}, "
                "such as --port 10443; or let `--run -- COMMAND` do without"
            )
        raise CannotStart(
            f"cannot listen on {host} port {port}: {error.strerror}. {remedy}"
        ) from error
    return listening
