"""Storage that is busy, refuses or forgets to answer costs tries, and neither files nor order."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from azure.core.pipeline.transport import HttpTransport

from openmirror.deltalog import LogReplay
from openmirror.errors import NotThere, OpenmirrorError
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.plan import Limits
from openmirror.ports import FileStore
from openmirror.protocol.names import TableFolder, table_name
from openmirror.reconcile import reconciliation
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime import draining
from openmirror.runtime.sweeping import clean
from openmirror.stores.azure.store import AzureStore
from openmirror.table import layout
from tests.contract.azure_stores import azure_clients, azure_store
from tests.contract.wires import Counted, LostAnswer, Refusal, Wire, refusing_server
from tests.emulator_server import EndpointServer, endpoint_server
from tests.harness.paper import PaperEngine
from tests.harness.publishing import land, table

TABLES = [table("m", "A"), table("m", "S.schema/B")]
FILES = 6
MOST_ROUNDS = 60


class Weather:
    """What becomes of each request, by a seed: most are answered."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.bad = 0

    def __call__(self) -> Refusal | LostAnswer | None:
        chance = self._random.random()
        if chance > 0.25:
            return None
        self.bad += 1
        if chance < 0.10:
            return Refusal(503, "ServerBusy")
        if chance < 0.13:
            return Refusal(500, "OperationTimedOut")
        if chance < 0.16:
            return Refusal(412, "ConditionNotMet")
        if chance < 0.19:
            return Refusal(409, "SourcePathIsBeingDeleted")
        return LostAnswer()


class StormyWire(Wire):
    """Its faults come from the weather instead of from a list."""

    def __init__(self, refusing: str, weather: Weather) -> None:
        super().__init__(Counted(), refusing)
        self._weather = weather

    def send(self, request: Any, **kwargs: Any) -> Any:
        self.faults = [self._weather()]
        return super().send(request, **kwargs)


@contextmanager
def stormy_ports(server: EndpointServer, refusing: str, weather: Weather) -> Iterator[RootPorts]:
    with azure_clients(server, transport=StormyWire(refusing, weather)) as clients:
        store = AzureStore(clients)
        yield ports_over(store)


def ports_over(store: FileStore) -> RootPorts:
    return RootPorts(
        store=store,
        inspector=ChangeFileInspector(store),
        logs=LogReplay(store),
        clock=lambda: datetime.now(UTC),
        limits=Limits(metadata_grace=timedelta(0), batch_files=3),
    )


def applied(store: FileStore, folder: TableFolder) -> list[tuple[int, int]]:
    """From which number to which each commit of a table went, in the log's own order."""
    path = layout.delta_table(folder.mirror, table_name(folder.path, "dbo"))
    batch_records = LogReplay(store).history(path, 1000)
    return [(batch_record.first, batch_record.last) for batch_record in reversed(batch_records)]


def repeat(until: Callable[[], bool], act: Callable[[], object]) -> None:
    for _ in range(MOST_ROUNDS):
        with suppress(OpenmirrorError):
            act()
        if until():
            return
    raise AssertionError("the weather was never good enough")


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.soak) for n in range(1, 20))]
)
def test_a_storm_costs_tries_and_no_file_is_lost_or_applied_twice(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HttpTransport, "sleep", lambda *_: None)
    for module in (reconciliation, draining):
        monkeypatch.setattr(module, "FIRST_DELAY", timedelta(milliseconds=1))
    weather = Weather(seed)
    with (
        endpoint_server(tmp_path) as server,
        refusing_server() as refusing,
        azure_store(server) as (calm, _),
        stormy_ports(server, refusing, weather) as ports,
    ):
        for folder in TABLES:
            land(calm, folder, *range(1, FILES + 1))
        engine = PaperEngine(ports.store)

        def all_applied() -> bool:
            return all(commits and commits[-1][1] == FILES for commits in map(history, TABLES))

        def history(folder: TableFolder) -> list[tuple[int, int]]:
            return applied(calm, folder)

        repeat(all_applied, lambda: draining.drain(ports, engine, ["m"], workers=2))
        for folder in TABLES:
            commits = history(folder)
            numbers = [n for first, last in commits for n in range(first, last + 1)]
            assert numbers == list(range(1, FILES + 1)), f"seed {seed}: {commits}"
            assert Documents(calm).table(folder).value.problem is None

        def all_archived() -> bool:
            return all(len(landed(calm, folder)) == 1 for folder in TABLES)

        repeat(all_archived, lambda: clean(ports, ["m"]))
        for folder in TABLES:
            there = [*landed(calm, folder), *archived(calm, folder)]
            assert sorted(there) == [f"{n:020d}.parquet" for n in range(1, FILES + 1)]
        assert weather.bad > 25


def landed(store: FileStore, folder: TableFolder) -> list[str]:
    entries = store.list_folder(layout.table_folder(folder)).entries
    return [e.name for e in entries if e.name.endswith(".parquet")]


def archived(store: FileStore, folder: TableFolder) -> list[str]:
    with suppress(NotThere):
        return [e.name for e in store.list_folder(layout.archive_folder(folder)).entries]
    return []
