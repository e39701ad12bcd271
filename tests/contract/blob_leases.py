"""Leases of Azurite, and one whose holder died when the tests began."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta

from azure.core.credentials import AzureNamedKeyCredential

from openmirror.ports import Lease, Leases
from openmirror.ports.storage_account import AccountUrl
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.stores.azure.clients import Clients
from openmirror.stores.azure.leases import BlobLeases
from standins.azurite import Azurite

LASTING = timedelta(seconds=15)
"""The shortest that the service gives."""


@dataclass(frozen=True)
class Abandoned:
    """A lease whose holder does not renew it any more, and others who ask for it."""

    dead: Lease
    theirs: Leases
    folder: TableFolder
    renewed: float
    """When it was renewed for the last time, by `time.monotonic`."""

    def wait(self) -> None:
        """Until its time is over, if that is not so already."""
        # A little more, for the rounding of the service's clock.
        over = self.renewed + LASTING.total_seconds() + 0.2
        time.sleep(max(0.0, over - time.monotonic()))


def clients(emulator: Azurite) -> Clients:
    credential = AzureNamedKeyCredential(emulator.account, emulator.key)
    return Clients(AccountUrl.parse(emulator.blob_url), credential)


def make_lake(own: Clients) -> None:
    """The container that leases are in."""
    lake = own.blobs.get_container_client("lake")
    if not lake.exists():
        lake.create_container()


def taken(leases: Leases, folder: TableFolder) -> Lease:
    """A lease that is free."""
    lease = leases.take(folder)
    assert lease is not None
    return lease


@contextmanager
def abandoned(emulator: Azurite) -> Iterator[Abandoned]:
    """One that was taken, renewed and refused to others, and then left alone."""
    with closing(clients(emulator)) as ours, closing(clients(emulator)) as theirs:
        make_lake(ours)
        seconds = int(LASTING.total_seconds())
        others = BlobLeases(theirs, seconds)
        folder = TableFolder(f"m-{uuid.uuid4()}", TablePath("Sales", "Orders"))
        dead = taken(BlobLeases(ours, seconds), folder)
        assert dead.renew()
        renewed = time.monotonic()
        assert others.take(folder) is None
        yield Abandoned(dead, others, folder, renewed)
