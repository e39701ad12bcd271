"""The Leases port: blob leases on a small file for each table, so that documents stay writable."""

from __future__ import annotations

from contextlib import suppress

from azure.core.credentials import TokenCredential
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.blob import BlobClient, BlobLeaseClient

from openmirror.ports.storage_account import AccountUrl
from openmirror.protocol.names import TableFolder
from openmirror.stores.azure.clients import Clients
from openmirror.stores.azure.failures import code_of, in_our_words
from openmirror.stores.azure.paths import container_path
from openmirror.table import layout
from openmirror.table.layout import StorePath

SECONDS = 60
"""The longest that the service gives without giving it for ever."""

_TAKEN = frozenset(
    {
        "LeaseAlreadyPresent",
        "LeaseIdMismatchWithLeaseOperation",
        "LeaseIsBreakingAndCannotBeAcquired",
        "LeaseIsBreakingAndCannotBeChanged",
        "LeaseIsBrokenAndCannotBeRenewed",
        "LeaseLost",
        "LeaseNotPresentWithLeaseOperation",
    }
)


class BlobLeases:
    """Leases of 60 seconds: one whose holder has died is free after that."""

    def __init__(self, clients: Clients, seconds: int = SECONDS) -> None:
        self._clients = clients
        self._seconds = seconds

    @classmethod
    def connect(
        cls, account: AccountUrl, key: str | None, given: TokenCredential | None = None
    ) -> BlobLeases:
        """Leases on an account; raises CannotStart when no token may be sent there."""
        return cls(Clients.of(account, key, given))

    def close(self) -> None:
        """Let go of the connections."""
        self._clients.close()

    def take(self, folder: TableFolder) -> BlobLease | None:
        """The lease of this table, None while another process holds it.

        Raises AccessDenied, or Unavailable when the account cannot be reached.
        """
        return self._take(layout.lock_file(folder))

    def take_sweep(self) -> BlobLease | None:
        """The lease of the root's sweep, None while another process sweeps; raises as `take`."""
        return self._take(layout.sweep_lock())

    def _take(self, path: StorePath) -> BlobLease | None:
        blob = self._clients.blobs.get_blob_client(*container_path(path))
        with in_our_words(path):
            # It chooses its identity here, so that a repeated request takes no second lease.
            lease = BlobLeaseClient(blob)
            try:
                return BlobLease(path, self._acquired(lease, blob))
            except HttpResponseError as error:
                if code_of(error) in _TAKEN:
                    return None
                raise

    def _acquired(self, lease: BlobLeaseClient, blob: BlobClient) -> BlobLeaseClient:
        try:
            lease.acquire(self._seconds)
        except ResourceNotFoundError as error:
            if code_of(error) == "ContainerNotFound":
                raise
            # Somebody else may make it at the same moment, and take its lease at once.
            with suppress(ResourceExistsError):
                blob.upload_blob(b"", overwrite=False)
            lease.acquire(self._seconds)
        return lease


class BlobLease:
    """The lease of one file."""

    def __init__(self, path: str, lease: BlobLeaseClient) -> None:
        self._path = path
        self._lease = lease
        self._released = False

    def renew(self) -> bool:
        """Keep it for another 60 seconds; False when it was lost.

        Raises AccessDenied, or Unavailable when the account cannot be reached.
        """
        if self._released:
            return False
        with in_our_words(self._path):
            try:
                self._lease.renew()
            except ResourceNotFoundError:
                return False
            except HttpResponseError as error:
                if code_of(error) in _TAKEN:
                    return False
                raise
        return True

    def release(self) -> None:
        """Let others have it at once; harmless when it was lost."""
        if self._released:
            return
        self._released = True
        with in_our_words(self._path):
            try:
                self._lease.release()
            except ResourceNotFoundError:
                return
            except HttpResponseError as error:
                if code_of(error) not in _TAKEN:
                    raise
