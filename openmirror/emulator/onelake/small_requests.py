"""Small requests, held in memory and never written anywhere: they carry secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class SmallRequest:
    """One request; names of headers and query parameters are in lower case."""

    method: str
    parts: tuple[str, ...]
    """Of the path, decoded."""
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def form(self) -> dict[str, str]:
        """The body, as a form."""
        text = self.body.decode("utf-8", "replace")
        return dict(parse_qsl(text, keep_blank_values=True))


@dataclass(frozen=True)
class SmallAnswer:
    """An answer: JSON, or nothing."""

    status: int
    value: object | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


async def receive_request(scope: Scope, receive: Receive) -> SmallRequest | None:
    """The request; None where it is too large to be one of these, or was given up."""
    request = Request(scope, receive)
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > _MOST_BYTES:
                return None
    except ClientDisconnect:
        return None
    raw = scope["raw_path"].decode("latin-1").partition("?")[0]
    return SmallRequest(
        request.method,
        tuple(unquote(part) for part in raw.split("/") if part),
        {name.lower(): value for name, value in request.query_params.multi_items()},
        {name.lower(): value for name, value in request.headers.items()},
        bytes(body),
    )


async def send_answer(answered: SmallAnswer, scope: Scope, receive: Receive, send: Send) -> None:
    """Send an answer."""
    headers = {"cache-control": "no-store", **answered.headers}
    response: Response
    if answered.value is None:
        response = Response(status_code=answered.status, headers=headers)
    else:
        response = JSONResponse(answered.value, answered.status, headers)
    await response(scope, receive, send)
