"""Free ports of loopback, and a small HTTP server on one for as long as a block lasts."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_POLL_SECONDS = 0.02
"""How long the end may wait for the server to notice it."""


def free_port() -> int:
    """A port of loopback that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(
    handler: type[BaseHTTPRequestHandler], certificate: tuple[Path, Path] | None = None
) -> Iterator[str]:
    """Answer requests by this handler, in threads of their own; gives `http://127.0.0.1:PORT`.

    With a certificate and its key it speaks https, which clients that send tokens want.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(
        target=server.serve_forever, args=(_POLL_SECONDS,), name="loopback", daemon=True
    )
    thread.start()
    try:
        yield f"http{'s' if certificate else ''}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
