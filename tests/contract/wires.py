"""A transport of the Azure SDK that counts, and that answers in the service's stead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from azure.core.exceptions import ServiceResponseError
from azure.core.pipeline.transport import RequestsTransport

from standins.loopback import serving


@dataclass(frozen=True)
class Refusal:
    """An answer of a service that does not do what it was asked."""

    status: int
    code: str = ""


class LostAnswer:
    """The service did what it was asked, and nobody heard of it."""


class _Refusing(BaseHTTPRequestHandler):
    """Answers with the status and the code that the path names."""

    protocol_version = "HTTP/1.1"

    def _refuse(self) -> None:
        _, status, code = self.path.partition("?")[0].split("/")[:3]
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(int(status))
        self.send_header("x-ms-error-code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = do_PATCH = _refuse  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def refusing_server() -> Iterator[str]:
    with serving(_Refusing) as url:
        yield url


@dataclass
class Counted:
    """What went over a wire."""

    requests: list[str] = field(default_factory=list)
    received: int = 0
    """Bytes of bodies that came back."""
    slept: list[float] = field(default_factory=list)
    """Seconds that the SDK meant to wait before it tried again."""


class Wire(RequestsTransport):
    """The SDK's own transport, with a counter and with faults that are taken one a request."""

    def __init__(self, counted: Counted, refusing: str = "") -> None:
        super().__init__()
        self.counted = counted
        self.faults: list[Refusal | LostAnswer | Callable[[], None] | None] = []
        self.also: dict[str, str] = {}
        """Headers that every answer has besides its own."""
        self.refused: str | None = None
        """What is answered with 403 wherever it is part of an address."""
        self._refusing = refusing

    def send(self, request: Any, **kwargs: Any) -> Any:
        fault = self.faults.pop(0) if self.faults else None
        url = request.url
        if self.refused is not None and self.refused in url:
            fault = Refusal(403, "AuthorizationPermissionMismatch")
        self.counted.requests.append(f"{request.method} {url}")
        if isinstance(fault, Refusal):
            request.url = f"{self._refusing}/{fault.status}/{fault.code}"
        elif callable(fault):
            fault()
        try:
            response = super().send(request, **kwargs)
        finally:
            request.url = url
        if isinstance(fault, (Refusal, LostAnswer)):
            # Read to its end: the SDK leaves streams of failed tries to the garbage collector.
            assert response.internal_response.content is not None
        if isinstance(fault, LostAnswer):
            raise ServiceResponseError("the connection was reset")
        response.headers.update(self.also)
        if request.method != "HEAD":
            self.counted.received += int(response.headers.get("Content-Length") or 0)
        return response
