"""The ASGI application: from HTTP to verbs and back."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from uuid import uuid4

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from openmirror.emulator.access import Gatekeeper
from openmirror.emulator.account import Account
from openmirror.emulator.appending import reserve
from openmirror.emulator.batches import answer_batch, is_batch
from openmirror.emulator.bodies import Body
from openmirror.emulator.calls import Call, FilePart, Reply
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.large_bodies import take_rest
from openmirror.emulator.places import Naming
from openmirror.emulator.refusals import log_refusal, refusal
from openmirror.emulator.routing import speaks_dfs, verb_of
from openmirror.emulator.ticks import http_date

_log = logging.getLogger(__name__)

_VERSION = "2025-11-05"
"""Of the storage API, where a client does not say."""
_PIECE = 1 << 20
_SMALL = 1 << 18
_LARGE = 100_000
"""Bodies of more bytes than this are written where they belong as they come."""
_MOST_DIGITS = 18
"""Of a length: more are no number that anything here could have."""
_METHODS = ("GET", "HEAD", "PUT", "POST", "PATCH", "DELETE")


@dataclass(frozen=True)
class Endpoint:
    """One account, served to whoever has its credentials."""

    account: Account
    gatekeeper: Gatekeeper
    naming: Naming
    most_bytes: int
    """Of one request's body."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        request_id = str(uuid4())
        headers = _headers(request)
        query = {name.lower(): value for name, value in request.query_params.multi_items()}
        dfs = speaks_dfs(query, headers)
        body = Body(self.account.staging.folder)
        try:
            reply = await self._reply(request, request_id, headers, query, body, dfs=dfs)
        except RefusedCall as refused:
            log_refusal(request.method, request.url.path, refused, dfs=dfs)
            await _drain(request)
            reply = refusal(request.method, refused, request_id, dfs=dfs)
        except ClientDisconnect:
            return
        except Exception:  # noqa: BLE001 - one request's surprise must not end the server
            _log.exception("%s %s failed", request.method, request.url.path)
            surprise = RefusedCall(Fault.INTERNAL)
            reply = refusal(request.method, surprise, request_id, dfs=dfs)
        finally:
            body.close()
        try:
            response = _response(reply, request.method)
            for name, value in _common(request_id, headers).items():
                response.headers[name] = value
            await response(scope, receive, send)
        finally:
            if isinstance(reply.content, FilePart):
                os.close(reply.content.fd)

    async def _reply(
        self,
        request: Request,
        request_id: str,
        headers: Mapping[str, str],
        query: Mapping[str, str],
        body: Body,
        *,
        dfs: bool,
    ) -> Reply:
        raw_path = request.scope["raw_path"].decode("latin-1").partition("?")[0]
        method = headers.get("x-http-method-override", request.method).upper()
        if request.method not in _METHODS or method not in _METHODS:
            raise RefusedCall(Fault.VERB)
        self.gatekeeper.check(request.method, raw_path, request.query_params.multi_items(), headers)
        place = self.naming.place(raw_path, query)
        call = Call(
            method=method,
            address=place.address,
            query=place.query,
            headers=headers,
            body=body,
            dfs=dfs,
            request_id=request_id,
            naming=self.naming,
            spelling=place.spelling,
        )
        if _is_large_append(call):
            reserved = await run_in_threadpool(reserve, self.account, call)
            if reserved is not None:
                body.go_to(reserved)
        await self._receive(request, headers, body)
        if is_batch(call):
            return await run_in_threadpool(answer_batch, self.account, self.gatekeeper, call)
        verb = place.answer or verb_of(call)
        _check_md5(call)
        return await run_in_threadpool(verb, self.account, call)

    async def _receive(self, request: Request, headers: Mapping[str, str], body: Body) -> None:
        length = _length(headers)
        if length is None or length > self.most_bytes:
            raise RefusedCall(Fault.TOO_LARGE, f"a request has at most {self.most_bytes} bytes")
        async for piece in request.stream():
            if body.size + len(piece) > self.most_bytes:
                raise RefusedCall(Fault.TOO_LARGE, f"a request has at most {self.most_bytes} bytes")
            body.add(piece)
            await take_rest(request.receive, body.add)


def _is_large_append(call: Call) -> bool:
    is_append = (call.method, call.query.get("action")) == ("PATCH", "append")
    return call.dfs and is_append and (_length(call.headers) or 0) > _LARGE


def _length(headers: Mapping[str, str]) -> int | None:
    """Of the body, as it was announced; 0 where it was not, and None where that is no number."""
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


def _headers(request: Request) -> dict[str, str]:
    """By name in lower case; those that come several times joined as HTTP allows."""
    found: dict[str, str] = {}
    for name, value in request.headers.items():
        found[name] = f"{found[name]},{value}" if name in found else value
    return found


def _check_md5(call: Call) -> None:
    sent = call.header("content-md5")
    if sent and sent != call.body.md5():
        raise RefusedCall(Fault.MD5_MISMATCH)


async def _drain(request: Request) -> None:
    """Let a client finish what it is sending, or it never hears why it was refused."""
    left = 8 << 20
    if request.headers.get("expect"):
        return
    try:
        async for piece in request.stream():
            left -= len(piece)
            if left < 0:
                return
    except (ClientDisconnect, RuntimeError):
        # It is gone, or everything was read already.
        return


def _common(request_id: str, headers: Mapping[str, str]) -> dict[str, str]:
    found = {
        "date": http_date(time.time_ns()),
        "x-ms-request-id": request_id,
        "x-ms-version": headers.get("x-ms-version", _VERSION),
    }
    if "x-ms-client-request-id" in headers:
        found["x-ms-client-request-id"] = headers["x-ms-client-request-id"]
    return found


def _response(reply: Reply, method: str) -> Response:
    headers = dict(reply.headers)
    content = reply.content
    if isinstance(content, FilePart):
        headers["content-length"] = str(content.length)
        if content.length > _SMALL:
            return StreamingResponse(_pieces(content), reply.status, headers)
        data = os.pread(content.fd, content.length, content.start)
        headers["content-length"] = str(len(data))
        return Response(data, reply.status, headers)
    if method == "HEAD":
        # The length is the file's, though nothing of it is sent.
        response = Response(status_code=reply.status)
        if "content-length" in headers:
            del response.headers["content-length"]
        response.headers.update(headers)
        return response
    headers["content-length"] = str(len(content))
    return Response(content, reply.status, headers)


async def _pieces(part: FilePart) -> AsyncIterator[bytes]:
    start, left = part.start, part.length
    while left:
        piece = await run_in_threadpool(os.pread, part.fd, min(left, _PIECE), start)
        if not piece:
            # Somebody has cut the file short in place; the client must not take it for whole.
            raise EOFError("a file became shorter while it was sent")
        yield piece
        start, left = start + len(piece), left - len(piece)
