"""What runs against a storage account. The SDKs are imported only when they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmirror.deltalog import DataFilesReplay, LogReplay
from openmirror.errors import CannotStart
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.ports import FileStore, Leases, Steps, WorkQueue, no_steps
from openmirror.ports.storage_account import AccountUrl
from openmirror.progress.union import EventSink, discard
from openmirror.reconcile.root_ports import RootPorts
from openmirror.settings import Settings, limits
from openmirror.wiring.local import utc_now
from openmirror.wiring.packages import optional_packages

if TYPE_CHECKING:
    from openmirror.databricks.service_credential import ServiceCredential
    from openmirror.stores.azure.store import AzureStore


def azure_ports(
    settings: Settings, steps: Steps = no_steps, emit: EventSink = discard
) -> RootPorts:
    """A storage account seen through its ports; raises CannotStart when it cannot be used."""
    return account_ports(settings, account_store(settings), steps, emit)


def account_ports(
    settings: Settings,
    store: FileStore,
    steps: Steps = no_steps,
    emit: EventSink = discard,
) -> RootPorts:
    """The same over a store that is there already, which its maker closes."""
    return RootPorts(
        store=store,
        inspector=ChangeFileInspector(store),
        logs=LogReplay(store),
        data_files=DataFilesReplay(store),
        clock=utc_now,
        limits=limits(settings),
        steps=steps,
        emit=emit,
        concurrent_observations=settings.concurrent_observations,
    )


def account_store(settings: Settings) -> AzureStore:
    """The files of a storage account; raises CannotStart when it cannot be used."""
    with optional_packages("a storage account needs", azure="openmirror[azure]"):
        from openmirror.stores.azure.store import AzureStore

        return AzureStore.connect(_account(settings), _key(settings), given_identity(settings))


def work_queue(settings: Settings) -> WorkQueue:
    """The queue of work items; raises CannotStart when none is set."""
    if settings.queues is None:
        raise CannotStart(
            "no queues were given: set OPENMIRROR_QUEUES__queueServiceUri to the URL of the "
            "storage account's queues, such as https://contoso.queue.core.windows.net"
        )
    with optional_packages("a storage account needs", azure="openmirror[azure]"):
        from openmirror.stores.azure.queue import StorageWorkQueue

        return StorageWorkQueue.connect(settings.queues, given_identity(settings))


def leases(settings: Settings) -> Leases:
    """Leases of tables: blob leases on an account; within this process on a local root."""
    root = settings.root_given()
    if not isinstance(root, AccountUrl):
        from openmirror.stores.memory.work import MemoryLeases

        return MemoryLeases(utc_now)
    with optional_packages("a storage account needs", azure="openmirror[azure]"):
        from openmirror.stores.azure.leases import BlobLeases

        return BlobLeases.connect(root, _key(settings), given_identity(settings))


def given_identity(settings: Settings) -> ServiceCredential | None:
    """The credential that every client asks with; None leaves it to the environment.

    Raises CannotStart when it cannot be had.
    """
    if settings.service_credential is None:
        return None
    with optional_packages("a storage account needs", azure="openmirror[azure]"):
        from openmirror.databricks.service_credential import service_credential

        return service_credential(settings.service_credential)


def _account(settings: Settings) -> AccountUrl:
    root = settings.root_given()
    if not isinstance(root, AccountUrl):
        raise CannotStart(f"{root} is a local folder, not the URL of a storage account")
    return root


def _key(settings: Settings) -> str | None:
    return settings.account_key.get_secret_value() if settings.account_key else None
