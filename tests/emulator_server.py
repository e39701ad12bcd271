"""The local ADLS Gen2 endpoint, run beside a test over a folder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from openmirror.emulator.access import DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY
from openmirror.emulator.events import Envelope
from openmirror.emulator.server import Options, Server

Event = dict[str, Any]

MOST_BYTES = 64 << 20


@dataclass
class EndpointServer:
    """A running endpoint; `landing` and `lake` are there from the start."""

    root: Path
    url: str
    """Without the account: `http://127.0.0.1:PORT`."""
    port: int
    account: str
    key: str
    events: list[Event] = field(default_factory=list)
    """All events so far; each is here before the request that raised it is answered."""
    on_event: Callable[[Event], None] | None = None
    """Is handed each event as well, in the thread of the request."""

    @property
    def credential(self) -> dict[str, str]:
        """As the storage SDKs take it."""
        return {"account_name": self.account, "account_key": self.key}


def account_of_its_own() -> str:
    """A name that no account had before, for clients that remember accounts by name."""
    return f"test{uuid4().hex[:20]}"


@contextmanager
def endpoint_server(
    root: Path,
    *,
    account: str = DEVELOPMENT_ACCOUNT,
    key: str | None = DEVELOPMENT_KEY,
    envelope: Envelope = Envelope.EVENT_GRID,
    certificate: tuple[Path, Path] | None = None,
    most_bytes: int = MOST_BYTES,
) -> Iterator[EndpointServer]:
    """Serve a root on a free port of loopback, in a thread, until the block ends."""
    root.mkdir(parents=True, exist_ok=True)
    made: list[EndpointServer] = []
    lock = threading.Lock()

    def sink(event: Event) -> None:
        with lock:
            made[0].events.append(event)
        if made[0].on_event is not None:
            made[0].on_event(event)

    options = Options(
        root=root,
        host="127.0.0.1",
        port=0,
        account=account,
        key=key,
        most_bytes=most_bytes,
        certificate=certificate,
        envelope=envelope,
    )
    with Server(options, sink) as server:
        made.append(EndpointServer(root, server.url, server.port, account, key or ""))
        yield made[0]
