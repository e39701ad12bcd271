"""What all Leases keep."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import pytest

from openmirror.errors import NotThere
from openmirror.ports import Lease, Leases
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.stores.azure.clients import Clients
from openmirror.stores.azure.leases import BlobLeases
from openmirror.stores.memory.work import MemoryLeases
from standins.azurite import Azurite
from tests.contract.azure_stores import azure_clients
from tests.contract.blob_leases import LASTING, Abandoned, clients, make_lake, taken
from tests.contract.stores import together
from tests.contract.waiting import until
from tests.emulator_server import endpoint_server
from tests.harness.clock import Clock


@dataclass
class Rig:
    """Leases as two processes see them."""

    ours: Leases
    theirs: Leases
    folder: TableFolder


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
        make_lake(ours)
        yield ours, theirs
    finally:
        ours.close()
        theirs.close()


@pytest.fixture(params=["memory", "azurite", "endpoint"])
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    folder = TableFolder(f"m-{uuid.uuid4()}", TablePath("Sales", "Orders 日本語 %20"))
    if request.param == "memory":
        memory = MemoryLeases(Clock(), LASTING)
        yield Rig(memory, memory, folder)
        return
    seconds = int(LASTING.total_seconds())
    with two_processes(request.param, request) as (ours, theirs):
        yield Rig(BlobLeases(ours, seconds), BlobLeases(theirs, seconds), folder)


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


def test_the_lease_of_a_holder_that_died_is_free_after_its_time() -> None:
    clock, folder = Clock(), TableFolder("m", TablePath("Sales", "Orders"))
    leases = MemoryLeases(clock, LASTING)
    dead = taken(leases, folder)
    assert dead.renew()
    assert leases.take(folder) is None
    clock.turn(LASTING)
    assert_others_have(leases.take(folder), dead)


# The endpoint counts time as Azurite does; its own tests turn its clock.
def test_so_is_the_lease_that_a_service_gave(abandoned_lease: Abandoned) -> None:
    abandoned_lease.wait()
    other = until(lambda: abandoned_lease.theirs.take(abandoned_lease.folder))
    assert_others_have(other, abandoned_lease.dead)


def assert_others_have(other: Lease | None, dead: Lease) -> None:
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
