"""The front of a Function App: its status page, for a browser on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qsl, urlsplit

from standins.functions_host import Died, FunctionsHost
from standins.loopback import serving

STATUS = "status"
PATH = f"/api/{STATUS}"


@contextmanager
def status_page(host: FunctionsHost) -> Iterator[str]:
    """The address of the page, on a free port; nothing else of the app is reached there."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            if asked.path != PATH:
                self.send_error(404)
                return
            try:
                result = host.http(STATUS, query=dict(parse_qsl(asked.query)))
            except Died:
                self.send_error(503)
                return
            if result.error is not None:
                self.send_error(500, result.error)
                return
            body = result.value["body"].encode()
            self.send_response(result.value["status"])
            for name, value in result.value["headers"].items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with serving(Handler) as url:
        yield f"{url}{PATH}"
