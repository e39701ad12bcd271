"""Passes requests on to a remote account, as they are, and its answers back."""

from __future__ import annotations

import http.client
import tempfile
from collections.abc import Iterator
from typing import IO
from urllib.parse import urlsplit

from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from openmirror.emulator.routing import speaks_dfs
from openmirror.ports.storage_account import AccountUrl

_SECONDS = 300
_IN_MEMORY = 1 << 20
_PIECE = 1 << 20
_OF_ONE_CONNECTION = frozenset(
    {
        "host",
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "expect",
        "content-length",
    }
)


class Forwarder:
    """The ASGI application that is a remote account, of which nothing is changed or kept."""

    def __init__(self, account: AccountUrl) -> None:
        self._account = account

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask the account the same, and answer what it answers; 502 when it cannot be reached."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as body:
            size = 0
            async for piece in request.stream():
                size += len(piece)
                await run_in_threadpool(body.write, piece)
            body.seek(0)
            try:
                answer = await run_in_threadpool(self._ask, request, body, size)
            except (OSError, http.client.HTTPException) as error:
                await Response(f"{self._account} cannot be reached: {error}", 502)(
                    scope, receive, send
                )
                return
        await _as_response(answer, request.method)(scope, receive, send)

    def _ask(self, request: Request, body: IO[bytes], size: int) -> http.client.HTTPResponse:
        names = {name.lower(): value for name, value in request.headers.items()}
        query = {name.lower(): value for name, value in request.query_params.multi_items()}
        url = str(self._account) if speaks_dfs(query, names) else self._account.blob_url
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        connect = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = connect(parts.netloc, timeout=_SECONDS)
        path = request.scope["raw_path"].decode("latin-1").partition("?")[0]
        asked = request.scope["query_string"].decode("latin-1")
        connection.putrequest(
            request.method,
            f"{path}?{asked}" if asked else path,
            skip_accept_encoding=True,
        )
        for name, value in request.headers.items():
            if name.lower() not in _OF_ONE_CONNECTION:
                connection.putheader(name, value)
        if size or "content-length" in names:
            connection.putheader("Content-Length", str(size))
        # The answer then ends with its connection, which nobody has to keep.
        connection.putheader("Connection", "close")
        try:
            connection.endheaders()
            while piece := body.read(_PIECE):
                connection.send(piece)
            return connection.getresponse()
        except (OSError, http.client.HTTPException):
            connection.close()
            raise


def _as_response(answer: http.client.HTTPResponse, method: str) -> Response:
    headers = {
        name: value for name, value in answer.getheaders() if name.lower() not in _HOP_OF_ANSWERS
    }
    if method == "HEAD" or answer.status in (204, 304):
        answer.close()
        response = Response(status_code=answer.status)
        if "content-length" in response.headers:
            del response.headers["content-length"]
        response.headers.update(headers)
        return response
    return StreamingResponse(iterate_in_threadpool(_pieces(answer)), answer.status, headers)


_HOP_OF_ANSWERS = frozenset({"connection", "keep-alive", "transfer-encoding", "upgrade"})


def _pieces(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    with answer:
        while piece := answer.read(_PIECE):
            yield piece
