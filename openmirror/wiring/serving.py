"""The local ADLS Gen2 endpoint over a root, and where its events go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from openmirror.ports.work_items import EVENTS_QUEUE
from openmirror.runtime.daemon import Daemon
from openmirror.settings import Settings
from openmirror.table.layout import LANDING
from openmirror.wiring.local import local_root
from openmirror.wiring.packages import optional_packages

if TYPE_CHECKING:
    from openmirror.emulator.events import Sink
    from openmirror.emulator.server import FrontOf, Options, Server
    from openmirror.emulator.subscription import QueueSink

_EXTRAS = {
    "azure": "openmirror[azure]",
    **dict.fromkeys(("cryptography", "h11", "starlette", "uvicorn"), "openmirror[cli]"),
}
_SUBJECT = f"/blobServices/default/containers/{LANDING}/blobs/"


@contextmanager
def served(settings: Settings, *sinks: Sink, front: FrontOf | None = None) -> Iterator[Server]:
    """The endpoint over the local root, answering until the block ends.

    `front` puts an application of its own before it.

    Raises CannotStart when it cannot listen, RootLocked when the root is served already.
    """
    options = replace(endpoint_options(settings, local_root(settings)), front=front)
    from openmirror.emulator.server import Server

    with ExitStack() as parts:
        yield parts.enter_context(Server(options, handed_to(settings, sinks, parts)))


def endpoint_options(settings: Settings, root: Path) -> Options:
    """What the settings say about the endpoint; raises CannotStart without its packages."""
    with optional_packages("the endpoint needs", **_EXTRAS):
        from openmirror.emulator.account import ENDPOINT_FOLDER
        from openmirror.emulator.certificate import certificate
        from openmirror.emulator.events import Envelope
        from openmirror.emulator.server import Options

    kept = root / ENDPOINT_FOLDER
    return Options(
        root=root,
        host=settings.serve_host,
        port=settings.serve_port,
        account=settings.serve_account,
        key=settings.serve_key.get_secret_value(),
        most_bytes=int(settings.serve_most_bytes),
        certificate=certificate(kept, [settings.serve_host]) if settings.serve_https else None,
        envelope=Envelope(settings.serve_envelope),
    )


def handed_to(settings: Settings, sinks: Sequence[Sink], parts: ExitStack) -> Sink:
    """A sink that hands each event to all of these, and to the queue of the settings."""
    every = list(sinks)
    if settings.serve_events is not None:
        every.append(parts.enter_context(_queue(settings.serve_events.get_secret_value())))
    return lambda event: _hand_out(every, event)


def waking(running: Daemon, wanted: Callable[[str], bool]) -> Sink:
    """A sink that wakes the table that an event concerns, so that nobody waits for a watch."""
    from openmirror.stores.local.watching import Wide, heard

    def sink(event: dict[str, Any]) -> None:
        subject = str(event["subject"])
        changed = PurePath(subject.removeprefix(_SUBJECT))
        if not subject.startswith(_SUBJECT) or not wanted(changed.parts[0]):
            return
        concerned = heard(changed)
        if concerned is Wide.MIRROR:
            running.sweep()
        elif concerned is not None:
            running.wake(concerned)

    return sink


def _queue(connection: str) -> QueueSink:
    with optional_packages("the endpoint needs", **_EXTRAS):
        from openmirror.emulator.subscription import QueueSink

    return QueueSink(connection, EVENTS_QUEUE)


def _hand_out(sinks: list[Sink], event: dict[str, Any]) -> None:
    for sink in sinks:
        sink(event)
