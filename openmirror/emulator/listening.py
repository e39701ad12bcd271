"""An application that answers on a socket, from a thread of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from pathlib import Path
from typing import Any, Self

import uvicorn
from h11 import SEND_BODY, SEND_RESPONSE
from starlette.types import ASGIApp
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.h11_impl import H11Protocol

from openmirror.errors import CannotStart

_BACKLOG = 512
_KEEP_ALIVE_SECONDS = 75
"""Longer than clients keep an idle connection, or they would run into its end."""
_STOP_SECONDS = 5
_MOST_HEADER_BYTES = 64 << 10
_PIECE = 1 << 20
"""Bytes that are received at once, at most."""


class _LargePieces(H11Protocol):
    """HTTP that takes large bodies in large pieces, with few copies of each."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if hasattr(transport, "max_size"):
            transport.max_size = _PIECE
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Pass a body on as it came: h11 would copy it four times to count its bytes."""
        if not self._is_within_body(len(data)):
            super().data_received(data)
            return
        reader: Any = self.conn._reader
        reader._remaining -= len(data)
        self.cycle.body += data
        if len(self.cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        self.cycle.message_event.set()

    def _is_within_body(self, size: int) -> bool:
        """Whether so many bytes are all of a body whose length was announced, and not its last.

        Of h11's insides this knows the counter and the buffer; where they are not what they are
        today, everything goes through it.
        """
        reader, buffer = (getattr(self.conn, name, None) for name in ("_reader", "_receive_buffer"))
        return (
            type(reader).__name__ == "ContentLengthReader"
            and size < getattr(reader, "_remaining", 0)
            and buffer is not None
            and not len(buffer)
            and self.conn.their_state is SEND_BODY
            and self.conn.our_state is SEND_RESPONSE
            and not self.conn.they_are_waiting_for_100_continue
        )


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
        self._server = uvicorn.Server(
            uvicorn.Config(
                application,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,  # its own would be up to a second late
                ws="none",
                http=_LargePieces,
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
