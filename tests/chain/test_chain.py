"""The whole way: SDK → endpoint → events → queue → functions → queue → runner → Delta → status."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from azure.storage.queue import QueueServiceClient

from openmirror import layout
from openmirror.doorbells import EVENTS_QUEUE, POISON_SUFFIX, WORK_QUEUE
from openmirror.ports import Progress
from openmirror.protocol.names import TableFolder, TablePath, table_name
from openmirror.services.working import Working
from openmirror.settings import Settings
from openmirror.wiring import root_engine, root_parts
from openmirror.wiring.azure import leases, work_queue
from openmirror.wiring.runner import working
from standins.azurite import running
from standins.functions_host import FunctionsHost, host
from standins.functions_pump import Pump
from tests.chain.mangling import Mangled
from tests.chain.publishing import Publisher
from tests.endpoint_server import EndpointServer, account_of_its_own, endpoint_server
from tests.property.histories import History, random_history
from tests.zone import bag, read_delta

MIRROR = "chain"
TABLES = ("orders", "Sales.schema/Orders", "Sales.schema/Zürich 1", "a.b", "two words")
PATIENCE = 300.0


@dataclass
class Chain:
    """Every part of a deployment, side by side."""

    server: EndpointServer
    app: FunctionsHost
    pump: Pump
    runner: Working
    events: Mangled
    queues: QueueServiceClient
    heard: list[Progress]
    _swept: float = 0.0

    def turn(self) -> None:
        """What all of them would do in a moment."""
        self.pump.turn()
        now = time.monotonic()
        if now > self._swept + 2.0:  # the timer's 30 s, in the pace of a test
            self._swept = now
            assert self.app.timer("sweep").error is None
        self.runner.serve(0.05)

    def length(self, queue: str) -> int:
        return self.queues.get_queue_client(queue).get_queue_properties().approximate_message_count


@contextmanager
def chain(root: Path, folder: Path, draw: random.Random) -> Iterator[Chain]:
    with (
        running(folder) as azurite,
        endpoint_server(root, account=account_of_its_own()) as server,
    ):
        queues = QueueServiceClient.from_connection_string(azurite.connection_string)
        for name in (EVENTS_QUEUE, WORK_QUEUE):
            queues.create_queue(name)
        (root / layout.landing_zone(MIRROR)).mkdir(parents=True)
        events = Mangled(queues.get_queue_client(EVENTS_QUEUE), draw)
        server.on_event = events
        env = {
            "OPENMIRROR_ROOT": f"{server.url}/{server.account}",
            "OPENMIRROR_ACCOUNT_KEY": server.key,
            "OPENMIRROR_QUEUES": azurite.connection_string,
            "OPENMIRROR_LETTERS": azurite.connection_string,
        }
        heard: list[Progress] = []
        settings = Settings.load(env, {"runner_sweep": timedelta(hours=1), "batch_files": 2})
        parts = root_parts(settings, watch=heard.append)
        with root_engine(settings, {}) as engine, host(env) as app:
            runner = working(
                settings, parts, engine, work_queue(settings), leases(settings), [MIRROR]
            )
            pump = Pump.of(app, azurite.connection_string)
            try:
                yield Chain(server, app, pump, runner, events, queues, heard)
            finally:
                runner.stop()
        queues.close()


def folders() -> list[TableFolder]:
    return [TableFolder(MIRROR, TablePath.parse(path)) for path in TABLES]


def histories(draw: random.Random) -> dict[TableFolder, History]:
    """A history for each table, all with columns, so that there is a table to compare."""
    found = {}
    for folder in folders():
        history = random_history(draw.randrange(10**6), rows=60)
        while not history.expected().columns:
            history = random_history(draw.randrange(10**6), rows=60)
        found[folder] = history
    return found


def delta_path(root: Path, folder: TableFolder) -> Path:
    return root / layout.delta_table(MIRROR, table_name(folder.path, "dbo"))


def monitored(root: Path) -> dict[str, dict[str, Any]]:
    tables = json.loads((root / layout.monitoring(MIRROR) / "tables.json").read_bytes())["tables"]
    return {t["normalizedTableName"]: t for t in tables}


@pytest.mark.usefixtures("spark")
def test_what_an_sdk_writes_is_mirrored_through_every_part_whatever_happens_to_its_events(
    tmp_path: Path,
) -> None:
    seed = int(os.environ.get("OPENMIRROR_SEED", "1"))
    sys.stdout.write(f"OPENMIRROR_SEED={seed}\n")
    draw = random.Random(seed)
    sent = histories(draw)
    root = tmp_path / "account"
    (tmp_path / "azurite").mkdir()
    with chain(root, tmp_path / "azurite", draw) as parts:
        publisher = Publisher(parts.server, draw)
        for folder, history in sent.items():
            publisher.begin(folder, history.metadata)
        rounds = max(len(history.files) for history in sent.values())
        for number in range(1, rounds + 1):
            for folder, history in sent.items():
                if number <= len(history.files):
                    publisher.publish(folder, number, history.files[number - 1])
            parts.turn()
        parts.events.flush()

        until = time.monotonic() + PATIENCE
        lengths = {folder: len(history.files) for folder, history in sent.items()}
        while applied(parts) != lengths or parts.length(WORK_QUEUE) or parts.length(EVENTS_QUEUE):
            assert time.monotonic() < until, f"applied {applied(parts)} of {lengths}"
            parts.turn()

        for folder, history in sent.items():
            got = bag(read_delta(delta_path(root, folder)))
            assert got == bag(history.expected_rows()), f"{folder}, seed {history.seed}"
        # Each file exactly once, and in order.
        for folder, last in lengths.items():
            assert commits(parts, folder) == list(range(1, last + 1))
        assert all(parts.events.counts[kind] for kind in ("raised", "lost", "twice"))
        assert parts.events.counts["lost"] > 0.15 * parts.events.counts["raised"]

        failed = [(name, result.error) for name, result in parts.pump.results if result.error]
        assert not failed
        for name in (EVENTS_QUEUE, WORK_QUEUE):
            assert not list(parts.queues.list_queues(name + POISON_SUFFIX))

        assert parts.app.timer("cleanup").error is None
        for folder, last in lengths.items():
            landing = root / layout.table_folder(folder)
            left = sorted(p.name for p in landing.iterdir() if not p.name.startswith("_"))
            archive = root / layout.archive_folder(folder)
            moved = sorted(p.name for p in archive.iterdir()) if archive.exists() else []
            assert left == [f"{last:020d}.parquet"]
            assert moved == [f"{number:020d}.parquet" for number in range(1, last)]
        parts.runner.stop()
    status = monitored(root)
    assert len(status) == len(TABLES)
    assert {table["status"] for table in status.values()} == {"Replicating"}


def applied(parts: Chain) -> dict[TableFolder, int]:
    return {folder: len(commits(parts, folder)) for folder in folders()}


def commits(parts: Chain, folder: TableFolder) -> list[int]:
    """The numbers that the runner told to have committed, in order."""
    return [
        number
        for progress in parts.heard
        if progress.folder == folder and progress.event == "committed"
        for number in range(
            int(str(progress.detail["first"])), int(str(progress.detail["last"])) + 1
        )
    ]
