"""What all Leases keep."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import pytest
from azure.core.credentials import AzureNamedKeyCredential

from openmirror.errors import NotThere
from openmirror.ports import Lease, Leases
from openmirror.ports.storage_account import AccountUrl
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.stores.azure.clients import Clients
from openmirror.stores.azure.leases import BlobLeases
from openmirror.stores.memory.work import MemoryLeases
from standins.azurite import Azurite
from tests.contract.azure_stores import azure_clients
from tests.contract.stores import together
from tests.contract.waiting import real_time, until
from tests.emulator_server import endpoint_server
from tests.harness.clock import Clock

LASTING = timedelta(seconds=15)
"""The shortest that the service gives."""


@dataclass
class Rig:
    """Leases as two processes see them, and the passing of time."""

    ours: Leases
    theirs: Leases
    after: Callable[[timedelta], None]
    folder: TableFolder


def clients(emulator: Azurite) -> Clients:
    credential = AzureNamedKeyCredential(emulator.account, emulator.key)
    return Clients(AccountUrl.parse(emulator.blob_url), credential)


@contextmanager
def two_processes(over: str, request: pytest.FixtureRequest) -> Iterator[tuple[Clients, Clients]]:
    """Two sets of clients, as two processes have them."""
    if over == "endpoint":
        folder = request.getfixturevalue("tmp_path")
        with (
            endpoint_server(folder) as server,
            azure_clients(server) as ours,
            azure_clients(server) as theirs,
        ):
            yield ours, theirs
        return
    emulator: Azurite = request.getfixturevalue("azurite")
    ours, theirs = clients(emulator), clients(emulator)
    try:
        lake = ours.blobs.get_container_client("lake")
        if not lake.exists():
            lake.create_container()
        yield ours, theirs
    finally:
        ours.close()
        theirs.close()


@pytest.fixture(params=["memory", "azurite", "endpoint"])
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    folder = TableFolder(f"m-{uuid.uuid4()}", TablePath("Sales", "Orders 日本語 %20"))
    if request.param == "memory":
        clock = Clock()
        memory = MemoryLeases(clock, LASTING)
        yield Rig(memory, memory, clock.turn, folder)
        return
    seconds = int(LASTING.total_seconds())
    with two_processes(request.param, request) as (ours, theirs):
        yield Rig(BlobLeases(ours, seconds), BlobLeases(theirs, seconds), real_time, folder)


def taken(leases: Leases, folder: TableFolder) -> Lease:
    lease = leases.take(folder)
    assert lease is not None
    return lease


def test_a_lease_is_had_by_one_until_it_is_released(rig: Rig) -> None:
    lease = taken(rig.ours, rig.folder)
    assert rig.theirs.take(rig.folder) is None
    assert lease.renew()
    lease.release()
    other = taken(rig.theirs, rig.folder)
    assert rig.ours.take(rig.folder) is None
    other.release()


def test_tables_have_leases_of_their_own(rig: Rig) -> None:
    taken(rig.ours, rig.folder).release()
    first = taken(rig.ours, rig.folder)
    second = taken(rig.theirs, TableFolder(rig.folder.mirror, TablePath("", "Orders")))
    assert first.renew()
    assert second.renew()


def test_the_sweep_of_a_root_has_a_lease_of_its_own(rig: Rig) -> None:
    table = taken(rig.ours, rig.folder)
    lease = rig.ours.take_sweep()
    assert lease is not None
    assert rig.theirs.take_sweep() is None
    assert lease.renew()
    lease.release()
    other = rig.theirs.take_sweep()
    assert other is not None
    other.release()
    assert table.renew()


def test_of_eight_who_ask_at_once_one_has_it(rig: Rig) -> None:
    for number in range(5):
        folder = TableFolder(rig.folder.mirror, TablePath("", f"t{number}"))
        answers = together(
            [partial(leases.take, folder) for leases in (rig.ours, rig.theirs) for _ in range(4)]
        )
        assert sum(answer is not None for answer in answers) == 1


def test_a_released_lease_is_lost_to_who_had_it(rig: Rig) -> None:
    lease = taken(rig.ours, rig.folder)
    lease.release()
    lease.release()
    assert not lease.renew()
    taken(rig.theirs, rig.folder)
    assert not lease.renew()
    lease.release()
    assert rig.ours.take(rig.folder) is None


# The endpoint counts time as Azurite does; its own tests turn its clock.
@pytest.mark.parametrize("rig", ["memory", "azurite"], indirect=True)
def test_the_lease_of_a_holder_that_died_is_free_after_its_time(rig: Rig) -> None:
    dead = taken(rig.ours, rig.folder)
    assert dead.renew()
    assert rig.theirs.take(rig.folder) is None
    rig.after(LASTING)
    other = until(lambda: rig.theirs.take(rig.folder))
    assert other is not None
    assert not dead.renew()
    dead.release()
    assert other.renew()


def test_a_lease_that_ran_out_is_kept_by_its_holder_if_nobody_took_it() -> None:
    clock = Clock()
    lease = taken(MemoryLeases(clock, LASTING), TableFolder("m", TablePath("", "Orders")))
    clock.turn(LASTING * 2)
    assert lease.renew()


def test_a_missing_container_is_named(azurite: Azurite) -> None:
    leases = BlobLeases(clients(azurite.empty))
    with pytest.raises(NotThere, match="ContainerNotFound"):
        leases.take(TableFolder("m", TablePath("", "Orders")))
    leases.close()
