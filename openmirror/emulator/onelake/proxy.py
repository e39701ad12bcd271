"""A proxy on loopback that leads OneLake's names here, and all other hosts where they lead."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Self

from openmirror.emulator.onelake.hosts import HostPart, part_of

_PIECE = 1 << 16
_QUIET_TURNS = 4
_MOST_HEAD = 1 << 14
_DIRECT = "localhost,127.0.0.1,::1,169.254.169.254"
JAVA_OPTIONS = "JAVA_TOOL_OPTIONS"


class Proxy:
    """A context manager: it answers CONNECT from the moment it is entered until it is left."""

    def __init__(self, endpoint: tuple[str, int]) -> None:
        self._endpoint = endpoint
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        # The loop refers to tasks weakly: one whose two connections wait for each other would
        # be collected as garbage, with both of them open.
        self._serving: set[asyncio.Task[None] | None] = set()
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        started = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_MOST_HEAD), self._loop
        )
        self._server = started.result()
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        # What began while the loop was stopping, which nobody would end.
        for task in (left := asyncio.all_tasks(self._loop)):
            task.cancel()
        if left:
            self._loop.run_until_complete(asyncio.wait(left))
        self._loop.close()

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """What makes clients ask it, for a process that has these variables already."""
        url = f"http://127.0.0.1:{self.port}"
        options = {"proxyHost": "127.0.0.1", "proxyPort": str(self.port)}
        java = " ".join(f"-Dhttps.{name}={value}" for name, value in options.items())
        return {
            "HTTPS_PROXY": url,
            "https_proxy": url,
            "NO_PROXY": _DIRECT,
            "no_proxy": _DIRECT,
            "NODE_USE_ENV_PROXY": "1",
            JAVA_OPTIONS: f"{env.get(JAVA_OPTIONS, '')} {java} -Dhttp.nonProxyHosts="
            f"{_DIRECT.replace(',', '|')}".strip(),
        }

    async def _stop(self) -> None:
        self._server.close()
        # What was accepted just before becomes a task some turns of the loop later.
        quiet = 0
        while quiet < _QUIET_TURNS:
            await asyncio.sleep(0)
            others = asyncio.all_tasks() - {asyncio.current_task()}
            quiet = 0 if others else quiet + 1
            for task in others:
                task.cancel()
            if others:
                await asyncio.wait(others)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving.add(task := asyncio.current_task())
        try:
            # Cancelled by our own stop; the loop would log it as nobody's.
            with suppress(asyncio.CancelledError):
                async with _closed_behind(writer):
                    await self._answer(reader, writer)
        finally:
            self._serving.discard(task)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            target = await self._asked(reader)
            if target is None:
                writer.write(b"HTTP/1.1 405 Only CONNECT\r\nConnection: close\r\n\r\n")
                return
            there, onward = await asyncio.open_connection(*target)
            async with _closed_behind(onward):
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await asyncio.gather(_pass_on(reader, onward), _pass_on(there, writer))
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            with suppress(OSError):
                writer.write(b"HTTP/1.1 502 Unreachable\r\nConnection: close\r\n\r\n")

    async def _asked(self, reader: asyncio.StreamReader) -> tuple[str, int] | None:
        head = await reader.readuntil(b"\r\n\r\n")
        words = head.split(b"\r\n", 1)[0].decode("latin-1").split()
        if len(words) != 3 or words[0] != "CONNECT":
            return None
        host, _, port = words[1].rpartition(":")
        if not (host and port.isdigit()):
            return None
        is_ours = port == "443" and part_of(host) not in (None, HostPart.HERE)
        return self._endpoint if is_ours else (host.strip("[]"), int(port))


@asynccontextmanager
async def _closed_behind(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    """What was written goes out first, but a stop does not wait for a client that does not read."""
    try:
        yield
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    finally:
        writer.transport.abort()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
    with suppress(OSError):
        if writer.can_write_eof():
            writer.write_eof()
