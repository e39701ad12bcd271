"""A client that asks for much and reads nothing neither holds up a stop nor leaves a connection."""

from __future__ import annotations

import gc
import socket
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from starlette.types import Receive, Scope, Send

from openmirror.emulator.listening import Listening, listen
from openmirror.emulator.onelake.proxy import Proxy

_ANSWER = b"o" * (32 << 20)  # more than the buffers of two sockets


async def _much(scope: Scope, receive: Receive, send: Send) -> None:
    length = str(len(_ANSWER)).encode()
    headers = [(b"content-length", length)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": _ANSWER})


def _connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10)


@contextmanager
def _nothing_left_open() -> Iterator[None]:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield
        gc.collect()
    assert [str(each.message) for each in warned if each.category is ResourceWarning] == []


def test_a_client_that_reads_nothing_is_cut_off_when_the_endpoint_or_the_proxy_stops() -> None:
    listening = listen("127.0.0.1", 0)
    port = int(listening.getsockname()[1])
    with (
        _nothing_left_open(),
        ExitStack() as clients,
        Listening(_much, listening),
        Proxy(("127.0.0.1", 9)) as proxy,
    ):
        direct = clients.enter_context(_connected(port))
        direct.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        through = clients.enter_context(_connected(proxy.port))
        through.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
        assert through.recv(100).startswith(b"HTTP/1.1 200")
        through.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        assert through.recv(4) == b"HTTP"
        time.sleep(0.1)  # until the buffers are full
