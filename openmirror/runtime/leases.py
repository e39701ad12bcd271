"""The leases of the tables that a runner is at work on."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from openmirror.errors import is_of_one_place, words_of
from openmirror.ports import Lease, Leases
from openmirror.progress.runner import LeaseLost, LeaseOperation, LeaseOperationFailed
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.root_ports import RootPorts


class TableLeases:
    """Leases that are kept until their table is idle; safe to share between threads.

    They save work and nothing else. So a lease that cannot be had, because the store of leases
    fails, stops no table: two runners on one table are harmless (ARCHITECTURE §3).
    """

    def __init__(self, ports: RootPorts, leases: Leases) -> None:
        self._ports = ports
        self._leases = leases
        self._lock = threading.Lock()
        self._ours: dict[TableFolder, Lease] = {}

    def hold(self, folder: TableFolder) -> bool:
        """Have the lease of this table; False while another runner has it."""
        with self._lock:
            if folder in self._ours:
                return True
        try:
            lease = self._leases.take(folder)
        except Exception as error:  # noqa: BLE001 - _report raises it again if it is fatal
            self._report(folder, LeaseOperation.ACQUIRE, error)
            return True
        if lease is None:
            return False
        with self._lock:
            self._ours[folder] = lease
        return True

    def renew(self) -> None:
        """Renew every lease; one that was lost is taken again by the table's next reconciliation.

        A reconciliation underway goes on: its commit lands once, or not at all.
        """
        with self._lock:
            ours = list(self._ours.items())
        for folder, lease in ours:
            try:
                kept = lease.renew()
            except Exception as error:  # noqa: BLE001 - _report raises it again if it is fatal
                self._report(folder, LeaseOperation.RENEW, error)
                continue
            if not kept:
                with self._lock:
                    was_ours = self._ours.get(folder) is lease
                    if was_ours:
                        del self._ours[folder]
                if was_ours:
                    self._ports.emit(LeaseLost(folder))

    def release(self, folders: Iterable[TableFolder]) -> None:
        """Let others have these tables at once."""
        for folder in folders:
            with self._lock:
                lease = self._ours.pop(folder, None)
            if lease is not None:
                try:
                    lease.release()
                except Exception as error:  # noqa: BLE001 - _report raises it again if it is fatal
                    self._report(folder, LeaseOperation.RELEASE, error)

    def release_all(self) -> None:
        """Let others have every table at once."""
        with self._lock:
            folders = list(self._ours)
        self.release(folders)

    def _report(self, folder: TableFolder, operation: LeaseOperation, error: Exception) -> None:
        if not is_of_one_place(error):
            raise error
        self._ports.emit(LeaseOperationFailed(folder, operation, words_of(error)))
