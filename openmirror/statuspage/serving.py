"""The status page served to browsers of this machine, and of no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from openmirror.errors import CannotStart, Malformed, OpenmirrorError, UnknownName
from openmirror.statuspage.page import HtmlPage

LOOPBACK = "127.0.0.1"
_NAMES = frozenset({LOOPBACK, "localhost"})

PageOf = Callable[[Mapping[str, str]], HtmlPage]
"""The page, by the parameters of its address."""


@contextmanager
def served(answer: PageOf, port: int) -> Iterator[str]:
    """Serve the page until the block ends; gives its address.

    `answer` is called by several threads at once. Raises CannotStart when the port is taken.
    """
    try:
        server = _Server((LOOPBACK, port), answer)
    except OSError as error:
        raise CannotStart(
            f"the status page cannot listen on {LOOPBACK}:{port}: {error.strerror}. Name another "
            "port in OPENMIRROR_PAGE_PORT; 0 takes any that is free"
        ) from error
    thread = Thread(target=server.serve_forever, name="status page", daemon=True)
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingMixIn, TCPServer):
    # Not HTTPServer, which asks DNS for the name of its address before it answers anybody.
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, place: tuple[str, int], answer: PageOf) -> None:
        self.answer = answer
        super().__init__(place, _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 30

    def do_GET(self) -> None:
        """The page; nothing else is here."""
        address = urlsplit(self.path)
        # A name that somebody has pointed at this machine would let their pages read this one.
        if (self.headers.get("Host") or "").partition(":")[0] not in _NAMES:
            self.send_error(HTTPStatus.FORBIDDEN)
        elif address.path != "/":
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            self._send({name: values[0] for name, values in parse_qs(address.query).items()})

    def _send(self, asked: Mapping[str, str]) -> None:
        try:
            page = self.server.answer(asked)
        except OpenmirrorError as error:
            self.send_error(_status_of(error), explain=str(error))
            return
        body = page.html.encode()
        self.send_response(HTTPStatus.OK)
        for name, value in page.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except ConnectionError:
            self.close_connection = True  # the browser has gone on to something else

    def log_message(self, format: str, *args: object) -> None:
        """Browsers ask every few seconds; nobody wants a line for each."""


def _status_of(error: OpenmirrorError) -> HTTPStatus:
    match error:
        case UnknownName():
            return HTTPStatus.NOT_FOUND
        case Malformed():
            return HTTPStatus.BAD_REQUEST
    return HTTPStatus.SERVICE_UNAVAILABLE
