"""The event filter over a storage account by the real SDKs: what it records is what is observed."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from azure.storage.filedatalake import DataLakeServiceClient

from openmirror.deltalog import LogReplay
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.ingress.event_filter import Answer, Found, Ignored, Woken
from openmirror.ingress.queue_wake_up import QueueWaker
from openmirror.ingress.receiving import receive
from openmirror.ingress.start_runner import Starter
from openmirror.ports.storage_account import AccountUrl
from openmirror.protocol.rules import Code
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.sweeping import sweep
from openmirror.stores.azure.event_grid import read_events
from openmirror.stores.azure.store import AzureStore
from openmirror.stores.memory.work import MemoryWorkQueue
from openmirror.table import layout
from openmirror.wiring.local import utc_now
from tests.emulator_server import EndpointServer, endpoint_server
from tests.harness.paper import PaperEngine
from tests.harness.publishing import table

ORDERS = table("m", "Sales.schema/Orders 100% [1]#")


class World:
    """A publisher with the real SDK, and the event filter behind the account's events."""

    def __init__(self, server: EndpointServer) -> None:
        self.server = server
        account = AccountUrl.parse(f"{server.url}/{server.account}")
        self.store = AzureStore.connect(account, server.key)
        self.ports = RootPorts(
            store=self.store,
            inspector=ChangeFileInspector(self.store),
            logs=LogReplay(self.store),
            clock=utc_now,
        )
        self.work = MemoryWorkQueue(utc_now)
        self.service = DataLakeServiceClient(str(account), credential=server.credential)
        self.landing = self.service.get_file_system_client("landing")
        self.seen = 0

    def write(self, name: str, data: bytes) -> list[Answer]:
        path = layout.join(layout.table_folder(ORDERS), name).partition("/")[2]
        self.landing.get_file_client(path).upload_data(data, overwrite=True)
        return self.answers()

    def land(self, number: int, **columns: object) -> list[Answer]:
        buffer = io.BytesIO()
        pq.write_table(pa.table(columns or {"id": [1]}), buffer)
        return self.write(f"{number:020d}.parquet", buffer.getvalue())

    def answers(self) -> list[Answer]:
        """What the event filter decides on the events since the last call."""
        reported, self.seen = self.server.events[self.seen :], len(self.server.events)

        starter = Starter(self.work, None, utc_now)
        found = [
            receive(self.ports, self.work, starter, read_events(json.dumps(event)))
            for event in reported
        ]
        return [answer for received in found for _, answer in received.answers]

    def apply(self) -> None:
        reconcile_until_idle(self.ports, PaperEngine(self.store), ORDERS)
        self.seen = len(self.server.events)

    def swept(self) -> bool:
        return bool(sweep(self.ports, ["m"], QueueWaker(self.work, "sweep")).woken)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    (tmp_path / "landing" / "m" / "Files" / "LandingZone").mkdir(parents=True)
    with endpoint_server(tmp_path) as server:
        made = World(server)
        yield made
        made.store.close()
        made.service.close()


def test_an_upload_wakes_once_it_is_closed(world: World) -> None:
    world.write("_metadata.json", b'{"keyColumns": ["id"]}')
    answers = world.land(1)
    assert isinstance(answers[0], Ignored)  # the file is created first, and still empty
    assert answers[-1] == Woken((ORDERS,))
    world.apply()
    assert world.land(2)[-1] == Woken((ORDERS,))


def test_a_bad_file_pauses_by_its_event_and_the_sweep_has_nothing_to_add(world: World) -> None:
    world.write("_metadata.json", b'{"keyColumns": ["id"]}')
    world.land(1)
    world.apply()
    found = world.land(2, other=[1])[-1]
    assert isinstance(found, Found)
    assert found.problem.code is Code.KEY_COLUMN_MISSING
    assert not world.swept()
    assert not any(isinstance(answer, Woken) for answer in world.land(3))
    assert world.land(2)[-1] == Woken((ORDERS,))


def test_a_file_that_is_moved_in_and_a_folder_that_is_moved_in_wake_up(world: World) -> None:
    staged = "m/Files/LandingZone/_staging"
    buffer = io.BytesIO()
    pq.write_table(pa.table({"id": [1]}), buffer)
    for name, data in (("_metadata.json", b"{}"), (f"{1:020d}.parquet", buffer.getvalue())):
        world.landing.get_file_client(f"{staged}/T/{name}").upload_data(data, overwrite=True)
    world.landing.get_directory_client("m/Files/LandingZone/Sales.schema").create_directory()
    world.answers()
    target = layout.table_folder(ORDERS).partition("/")[2]
    world.landing.get_directory_client(f"{staged}/T").rename_directory(f"landing/{target}")
    assert world.answers()[-1] == Woken((ORDERS,))
    world.apply()
    world.landing.get_file_client(f"{staged}/x").upload_data(buffer.getvalue(), overwrite=True)
    world.landing.get_file_client(f"{staged}/x").rename_file(f"landing/{target}/{2:020d}.parquet")
    assert world.answers()[-1] == Woken((ORDERS,))


def test_a_deleted_table_folder_wakes(world: World) -> None:
    world.write("_metadata.json", b'{"keyColumns": ["id"]}')
    world.land(1)
    world.apply()
    target = layout.table_folder(ORDERS).partition("/")[2]
    world.landing.get_directory_client(target).delete_directory()
    assert world.answers()[-1] == Woken((ORDERS,))
