"""Every part of a deployment side by side, and what all of them send."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from unittest.mock import patch

from azure.storage.queue import QueueClient, QueueServiceClient

from openmirror.ports.work_items import EVENTS_QUEUE, WORK_QUEUE
from openmirror.progress.union import ProgressEvent
from openmirror.runtime.runner import Runner
from openmirror.settings import Settings
from openmirror.table import layout
from openmirror.wiring import root_engine, root_ports
from openmirror.wiring.azure import leases, work_queue
from openmirror.wiring.runner import working
from openmirror.wiring.telemetry import emitting
from standins.azurite import Azurite, running
from standins.functions_host import FunctionsHost, host
from standins.functions_pump import Pump
from tests.azure_platform import Platform, platform
from tests.chain.mangling import Mangled
from tests.emulator_server import EndpointServer, account_of_its_own, endpoint_server

Mangling = Callable[[QueueClient], Mangled]
_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass
class Chain:
    """A deployment at work."""

    server: EndpointServer
    azurite: Azurite
    azure: Platform
    app: FunctionsHost
    pump: Pump
    runner: Runner
    events: Mangled
    queues: QueueServiceClient
    emitted: list[ProgressEvent]
    _swept: float = 0.0

    def turn(self) -> None:
        """What all of them would do in a moment."""
        self.pump.turn()
        now = time.monotonic()
        if now > self._swept + 2.0:  # the timer's 30 s, in the pace of a test
            self._swept = now
            self.sweep()
        self.runner.serve(0.05)

    def sweep(self) -> None:
        """What the timer does, whenever it is due."""
        assert self.app.timer("sweep").error is None

    def length(self, queue: str) -> int:
        return self.queues.get_queue_client(queue).get_queue_properties().approximate_message_count


@contextmanager
def chain(
    root: Path,
    folder: Path,
    events: Mangling,
    mirrors: Sequence[str],
    env: Mapping[str, str] = _NONE,
) -> Iterator[Chain]:
    """Start all of it over a root; files of the stand-ins go below the folder.

    When it is left, everything that functions and runner emitted has arrived.
    """
    with (
        running(folder) as azurite,
        endpoint_server(root, account=account_of_its_own()) as server,
        platform(folder) as azure,
        patch.dict(os.environ, {**azure.runner, **env}),
    ):
        queues = QueueServiceClient.from_connection_string(azurite.connection_string)
        for name in (EVENTS_QUEUE, WORK_QUEUE):
            queues.create_queue(name)
        for mirror in mirrors:
            (root / layout.landing_zone(mirror)).mkdir(parents=True)
        mangled = events(queues.get_queue_client(EVENTS_QUEUE))
        server.on_event = mangled
        given = {
            **azure.app,
            "OPENMIRROR_ROOT": f"{server.url}/{server.account}",
            "OPENMIRROR_ACCOUNT_KEY": server.key,
            "OPENMIRROR_QUEUES": azurite.connection_string,
            "OPENMIRROR_DEAD_LETTERS": azurite.connection_string,
            **env,
        }
        emitted: list[ProgressEvent] = []
        settings = Settings.load(given, {"runner_sweep": timedelta(hours=1), "batch_files": 2})
        with (
            emitting(
                root_ports(settings, emit=emitted.append), given, "runner", settings.status_repeat
            ) as ports,
            root_engine(settings, {}) as engine,
            host(given) as app,
        ):
            runner = working(
                settings, ports, engine, work_queue(settings), leases(settings), mirrors
            )
            pump = Pump.of(app, azurite.connection_string)
            try:
                yield Chain(server, azurite, azure, app, pump, runner, mangled, queues, emitted)
            finally:
                runner.stop()
        queues.close()
