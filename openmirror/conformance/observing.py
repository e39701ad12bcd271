"""Stands in front of an account, writes down what is asked, and injects faults.

Nothing that identifies anybody is written down: of headers only conditions and lengths, of bodies
only those of small JSON files.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Protocol

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from openmirror.conformance.exchanges import (
    RETRY_AFTER_SECONDS,
    Exchange,
    InjectedFault,
    read_request,
)
from openmirror.conformance.faults import FaultSchedule, lands
from openmirror.emulator.errors import RefusedCall
from openmirror.emulator.places import Naming
from openmirror.table.layout import StorePath

_MOST_KEPT = 64 << 10
_NOT_DONE = frozenset(
    {
        InjectedFault.BUSY,
        InjectedFault.CONDITION,
        InjectedFault.CUT,
        InjectedFault.RESTART_BEFORE,
    }
)
_ANSWERS = {
    InjectedFault.BUSY: (503, "ServerBusy", "The server is busy."),
    InjectedFault.CONDITION: (412, "ConditionNotMet", "The condition is not met."),
}


class Recorder:
    """All exchanges so far; safe to share between threads."""

    def __init__(self, heard: Callable[[Exchange], None] | None = None) -> None:
        self._lock = threading.Lock()
        self._exchanges: list[Exchange] = []
        self._count = 0
        self._heard = heard

    def number(self) -> int:
        """The number of a request that has just come."""
        with self._lock:
            self._count += 1
            return self._count

    def add(self, exchange: Exchange) -> None:
        """Keep a request whose answer is known."""
        with self._lock:
            self._exchanges.append(exchange)
        if self._heard is not None:
            self._heard(exchange)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """In the order in which requests came."""
        with self._lock:
            return tuple(sorted(self._exchanges, key=lambda one: one.number))


class RowsOf(Protocol):
    """Reads the rows of a file, only to recognise them."""

    def __call__(self, path: StorePath) -> str | None:
        """The same text for the same rows, whatever the file's bytes; None when unknown."""
        ...


def rows_unknown(path: StorePath) -> None:
    """In front of an account that only the publisher may read."""


def nobody_to_restart(fault: InjectedFault) -> None:
    """A publisher that was not started here."""


@dataclass(frozen=True, kw_only=True)
class Observer:
    """The ASGI application in front of another one."""

    inner: ASGIApp
    naming: Naming
    recorder: Recorder
    faults: FaultSchedule = field(default_factory=lambda: FaultSchedule(()))
    rows_of: RowsOf = rows_unknown
    restart: Callable[[InjectedFault], None] = nobody_to_restart
    """Kills the publisher and starts it again; called with no request underway of its own."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on, unless a fault is to happen to it."""
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        request = Request(scope)
        try:
            asked = read_request(
                request.method,
                scope["raw_path"].decode("latin-1").partition("?")[0],
                {name.lower(): value for name, value in request.query_params.multi_items()},
                {name.lower(): value for name, value in request.headers.items()},
                self.naming,
            )
        except RefusedCall:
            await self.inner(scope, receive, send)  # which refuses it, in its own words
            return
        exchange = Exchange(number=self.recorder.number(), at=datetime.now(UTC), asked=asked)
        body = _Body(receive, keeps=asked.path.lower().endswith(".json"))
        fault = self.faults.choose(asked)
        if fault in _NOT_DONE:
            await self._refuse(exchange, fault, body, scope, send)
        else:
            await self._pass_on(exchange, fault, body, scope, send)

    async def _refuse(
        self,
        exchange: Exchange,
        fault: InjectedFault,
        body: _Body,
        scope: Scope,
        send: Send,
    ) -> None:
        staged = None
        if exchange.asked.source is not None:
            staged = await run_in_threadpool(self.rows_of, exchange.asked.source)
        exchange = replace(exchange, fault=fault, done=False, staged_rows=staged)
        if fault in _ANSWERS:
            await body.drain()
            status, code, message = _ANSWERS[fault]
            self.recorder.add(replace(exchange, status=status))
            headers = {"x-ms-error-code": code}
            if fault is InjectedFault.BUSY:
                headers["retry-after"] = str(RETRY_AFTER_SECONDS)
            await Response(message, status, headers)(scope, body, send)
            return
        self.recorder.add(exchange)
        await self._cut(fault, body, send)

    async def _pass_on(
        self,
        exchange: Exchange,
        fault: InjectedFault | None,
        body: _Body,
        scope: Scope,
        send: Send,
    ) -> None:
        status: int | None = None
        kept: list[Message] = []
        # Rows are read before anybody hears that they are there, and may change them.
        holds_back = fault is not None or lands(exchange.asked)

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            if holds_back:
                kept.append(message)
            else:
                await send(message)

        await self.inner(scope, body, note)
        done = status is not None and 200 <= status < 300
        rows = None
        if done and lands(exchange.asked):
            rows = await run_in_threadpool(self.rows_of, exchange.asked.path)
        exchange = replace(
            exchange,
            status=None if fault is not None else status,
            done=done,
            fault=fault,
            size=body.size,
            body=body.kept,
            body_hash=body.hash,
            rows_hash=rows,
        )
        self.recorder.add(exchange)
        if fault is not None:
            await self._cut(fault, body, send)
            return
        for message in kept:
            await send(message)

    async def _cut(self, fault: InjectedFault, body: _Body, send: Send) -> None:
        if fault.is_restart:
            await run_in_threadpool(self.restart, fault)
        cut(send)
        # Until the server has noticed, it would take the missing answer for a mistake of ours.
        while (await body())["type"] != "http.disconnect":
            continue


def cut(send: Send) -> None:
    """Break the connection that an answer would be sent on.

    uvicorn has no words for that: its `send` is a method of what holds the connection.
    """
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if transport is None:
        raise RuntimeError("the connection cannot be cut: this server does not show it")
    transport.abort()


class _Body:
    """A request's body on its way: counted, and kept where it is small and wanted."""

    def __init__(self, receive: Receive, *, keeps: bool) -> None:
        self._receive = receive
        self._keeps = keeps
        self._parts: list[bytes] = []
        self._hash = hashlib.sha256()
        self.size = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            part = message.get("body", b"")
            self.size += len(part)
            self._hash.update(part)
            if self._keeps and self.size <= _MOST_KEPT:
                self._parts.append(part)
        return message

    async def drain(self) -> None:
        """Take all of it, so that the answer is heard."""
        while True:
            message = await self()
            if message["type"] != "http.request" or not message.get("more_body"):
                return

    @property
    def kept(self) -> bytes | None:
        return b"".join(self._parts) if self._keeps and self.size <= _MOST_KEPT else None

    @property
    def hash(self) -> str:
        return self._hash.hexdigest()
