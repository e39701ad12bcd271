"""What the demo runs through: `up` on this machine, or something that offers the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from rich.console import Console

from openmirror import wiring
from openmirror.demo import report
from openmirror.demo.publisher import MIRROR
from openmirror.ports import TableEngine
from openmirror.progress.union import EventSink
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.daemon import Daemon
from openmirror.settings import Settings

Engine = Callable[[Settings], AbstractContextManager[TableEngine]]


class AtWork(Protocol):
    """Everything that mirrors, until it is stopped."""

    def serve(self, seconds: float) -> None:
        """What the main thread has to do; raises what nothing can go on after."""

    def stop(self) -> bool:
        """End after the batches underway; whether some of them had to be abandoned."""


@dataclass(frozen=True)
class Opened:
    """A root that publishers can write to."""

    root: str
    """What a publisher is given: the path of a folder, or an account's URL."""
    ports: RootPorts
    start: Callable[[], AbstractContextManager[AtWork]]
    """Starts Spark and all that mirrors."""
    key: str | None = None
    """The account's key."""


class Form(Protocol):
    """The form of the product that a demo shows."""

    how: Sequence[str]
    """Lines that say through what the change files go."""

    def open(self, root: Path, emit: EventSink, console: Console) -> AbstractContextManager[Opened]:
        """Offer an emptied local root, which is held already, to publishers."""

    def passed(self, console: Console) -> None:
        """Say in the end what all of it went through."""

    def next_steps(self, console: Console, root: Path) -> None:
        """Where everything lies, and commands that work as they stand."""


class OnThisMachine:
    """As `openmirror up` does it."""

    how: Sequence[str] = ("openmirror mirrors them as `up` does.",)

    def __init__(self, engine: Engine = wiring.local_engine) -> None:
        self._engine = engine

    @contextmanager
    def open(self, root: Path, emit: EventSink, console: Console) -> Iterator[Opened]:
        """See Form."""
        del console
        settings = Settings.load(
            os.environ, {"root": root, "status_interval": timedelta(seconds=1)}
        )
        ports = replace(wiring.local_ports(settings), emit=emit)
        yield Opened(str(root), ports, lambda: self._at_work(settings, ports))

    @contextmanager
    def _at_work(self, settings: Settings, ports: RootPorts) -> Iterator[AtWork]:
        with (
            self._engine(settings) as engine,
            wiring.up(
                settings,
                ports,
                engine,
                mirrors=lambda: [MIRROR],
                wanted=lambda name: name == MIRROR,
            ) as running,
        ):
            yield _Up(running)

    def passed(self, console: Console) -> None:
        """See Form: there is nothing between the publisher and what mirrors."""

    def next_steps(self, console: Console, root: Path) -> None:
        """See Form."""
        report.next_steps(console, root, MIRROR)


class _Up:
    def __init__(self, running: Daemon) -> None:
        self._running = running

    def serve(self, seconds: float) -> None:
        self._running.serve(seconds)

    def stop(self) -> bool:
        return bool(self._running.stop())
