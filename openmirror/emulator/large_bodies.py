"""Takes large bodies off their connections without the copies that HTTP's parser makes of them.

uvicorn hands a body on as messages, each of which was copied several times by then, and stops and
starts reading for each. It has no words for another way: what holds the request is found as the
object that `receive` is a method of. Of h11 this knows the counter of a body's bytes and the buffer
before it. Where any of that is not what it is today, nothing is taken, and bodies come as ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from h11 import SEND_BODY
from starlette.types import Receive
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

_PIECE = 1 << 20
"""Bytes that are received at once, at most."""
_WORTH_IT = 1 << 18


async def take_rest(receive: Receive, add: Callable[[memoryview], None]) -> None:
    """Hand on what has not come yet of a body whose length was announced, where that is much.

    To be called between two messages of `receive`, which afterwards says how the body ended. A
    piece is only valid until `add` returns; what that raises is raised here.
    """
    cycle = getattr(receive, "__self__", None)
    if not isinstance(cycle, RequestResponseCycle):
        return
    http = cycle.transport.get_protocol()
    if not isinstance(http, H11Protocol) or http.cycle is not cycle or cycle.body:
        return
    reader = _reader(http)
    if reader is None or reader._remaining < _WORTH_IT or cycle.transport.is_closing():
        return
    taking = _Taking(http, reader._remaining, add)
    cycle.transport.set_protocol(taking)
    http.flow.resume_reading()
    try:
        await taking.ended
    finally:
        reader._remaining = taking.left
        cycle.transport.set_protocol(http)
    if not taking.left:
        http.handle_events()


def _reader(http: H11Protocol) -> Any | None:
    """What counts the bytes of the body underway, when all of it that came was handed on."""
    conn = http.conn
    reader, buffer = (getattr(conn, name, None) for name in ("_reader", "_receive_buffer"))
    is_known = type(reader).__name__ == "ContentLengthReader" and hasattr(reader, "_remaining")
    is_underway = conn.their_state is SEND_BODY and not conn.they_are_waiting_for_100_continue
    return reader if is_known and is_underway and buffer is not None and not len(buffer) else None


class _Taking(asyncio.BufferedProtocol):
    """Has a connection as long as a body comes, and takes nothing of what follows it."""

    def __init__(self, http: H11Protocol, left: int, add: Callable[[memoryview], None]) -> None:
        self.left = left
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when nothing is left, or nothing will come."""
        self._http = http
        self._add = add
        self._buffer = memoryview(bytearray(min(left, _PIECE)))

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        return self._buffer[: self.left]

    def buffer_updated(self, nbytes: int) -> None:
        self.left -= nbytes
        try:
            self._add(self._buffer[:nbytes])
        except Exception as error:  # noqa: BLE001 - it belongs to the request, not to the connection
            self._end(error)
        if not self.left:
            self._end()

    def eof_received(self) -> None:
        self._http.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._http.connection_lost(exc)
        self._end()

    def pause_writing(self) -> None:
        self._http.pause_writing()

    def resume_writing(self) -> None:
        self._http.resume_writing()

    def _end(self, error: Exception | None = None) -> None:
        # Until the request has heard of it, what comes is to stay in the connection.
        self._http.flow.pause_reading()
        if self.ended.done():
            return
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)
