"""Stands in front of a service on loopback, hands every request on, and keeps what was asked."""

from __future__ import annotations

import http.client
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit

from standins.loopback import serving

_NOT_HANDED_ON = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})


@dataclass(frozen=True)
class Request:
    """One request as it came; names of headers and query parameters are in small letters."""

    method: str
    path: str
    """Decoded, with the account as its first part."""
    query: Mapping[str, str]
    headers: Mapping[str, str]
    status: int
    """Of the answer."""


@dataclass(frozen=True)
class Recorded:
    """A service under another address."""

    url: str
    requests: list[Request] = field(default_factory=list)


@contextmanager
def recording(service: str) -> Iterator[Recorded]:
    """Another address for a service `http://host:port/…`, until the block ends."""
    upstream = urlsplit(service)
    kept: list[Request] = []

    class Handler(_Handler):
        to = upstream.netloc
        requests = kept

    with serving(Handler) as url:
        yield Recorded(f"{url}{upstream.path}", kept)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Answers are small and come in two writes, which would wait for each other.
    disable_nagle_algorithm = True
    to: ClassVar[str]
    requests: ClassVar[list[Request]]

    def setup(self) -> None:
        super().setup()
        self._service = http.client.HTTPConnection(self.to, timeout=60)

    def finish(self) -> None:
        self._service.close()
        super().finish()

    def _hand_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        # What was expected has come already.
        headers = {name: value for name, value in self.headers.items() if name.lower() != "expect"}
        self._service.request(self.command, self.path, body or None, headers)
        answer = self._service.getresponse()
        content = answer.read()
        self._keep(answer.status)
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in _NOT_HANDED_ON:
                self.send_header(name, value)
        length = answer.getheader("content-length") if self.command == "HEAD" else None
        self.send_header("content-length", length or str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _keep(self, status: int) -> None:
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.requests.append(
            Request(
                self.headers.get("x-http-method-override", self.command).upper(),
                unquote(parts.path),
                {name.lower(): value for name, value in query.items()},
                {name.lower(): value for name, value in self.headers.items()},
                status,
            )
        )

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = do_PATCH = _hand_on  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
