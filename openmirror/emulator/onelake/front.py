"""One address for all of OneLake's names: each request goes to the part that its host means."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from openmirror.emulator.onelake.entra import Directory
from openmirror.emulator.onelake.fabric import Fabric
from openmirror.emulator.onelake.hosts import HOSTS, HostPart, part_of
from openmirror.emulator.onelake.identity import ManagedIdentity
from openmirror.emulator.onelake.small_requests import (
    SmallAnswer,
    SmallRequest,
    receive_request,
    send_answer,
)

_log = logging.getLogger("openmirror.emulator.onelake")
_OF_FABRIC = b"/v1/workspaces"


@dataclass(frozen=True)
class Front:
    """What answers over https."""

    onelake: ASGIApp
    account: ASGIApp
    """For this machine's own names."""
    directory: Directory
    fabric: Fabric

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        host = _host(scope)
        match part_of(host):
            case HostPart.STORAGE:
                await self.onelake(scope, receive, send)
            case HostPart.LOGIN:
                await _answer(self.directory.answer, scope, receive, send)
            case HostPart.FABRIC:
                await _answer(self.fabric.answer, scope, receive, send)
            case HostPart.HERE if scope["raw_path"].startswith(_OF_FABRIC):
                await _answer(self.fabric.answer, scope, receive, send)
            case HostPart.HERE:
                await self.account(scope, receive, send)
            case _:
                _log.info("%s for %s: 421: nobody here stands for this host", scope["method"], host)
                words = f"nobody here stands for {host!r}, but for {', '.join(HOSTS)}"
                answered = SmallAnswer(421, {"error": {"code": "InvalidUri", "message": words}})
                await send_answer(answered, scope, receive, send)


@dataclass(frozen=True)
class PlainFront:
    """What answers over http: managed identity, which clients never ask over https."""

    identity: ManagedIdentity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http":
            await _answer(self.identity.answer, scope, receive, send)


async def _answer(
    answer: Callable[[SmallRequest], SmallAnswer], scope: Scope, receive: Receive, send: Send
) -> None:
    asked = await receive_request(scope, receive)
    if asked is None:
        answered = SmallAnswer(
            413, {"error": "invalid_request", "error_description": "this is too large"}
        )
    else:
        answered = await run_in_threadpool(answer, asked)
    await send_answer(answered, scope, receive, send)


def _host(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"host":
            return str(value.decode("latin-1"))
    return ""
