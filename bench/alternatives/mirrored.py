"""Our side: the product, wired as the command line does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.alternatives.settings import HEAP
from bench.alternatives.tasks import WORKERS, Task
from openmirror import wiring
from openmirror.operate.requests import Operator
from openmirror.operate.requests import maintain as request_maintenance
from openmirror.ports import TableEngine
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.reconcile.maintaining import maintain_table
from openmirror.reconcile.mirrors import open_mirror
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.draining import drain
from openmirror.settings import Settings


class Mirrored:
    """Change files applied by openmirror."""

    def __init__(self, ports: RootPorts, engine: TableEngine) -> None:
        self._ports = ports
        self._engine = engine

    def apply(self, task: Task, /) -> None:
        """Drain the mirror; one file of one table is reconciled alone, until nothing is left."""
        if task.how == "maintain":
            for table in task.tables:
                self._maintain(TableFolder(task.mirror, TablePath.parse(table)))
            return
        if task.how == "drain" or len(task.tables) > 1 or task.last > task.first:
            done = drain(self._ports, self._engine, [task.mirror], WORKERS)
            if done.has_failed or done.stopped:
                raise RuntimeError(f"the drain left {done.outcomes}")
            return
        self.commit(task.mirror, task.tables[0])

    def commit(self, mirror: str, table: str) -> None:
        """Reconcile one table, all checks and the decided batch included."""
        open_mirror(self._ports.store, mirror)
        reconcile_until_idle(self._ports, self._engine, TableFolder(mirror, TablePath.parse(table)))

    def _maintain(self, table: TableFolder) -> None:
        request_maintenance(self._ports, table, Operator("the bench"), full=False)
        while maintain_table(self._ports, self._engine, table):
            pass


@contextmanager
def openmirror(root: Path) -> Iterator[Mirrored]:
    """The product over a root, which it holds meanwhile."""
    settings = Settings.load({}, {"root": root, "driver_memory": HEAP})
    ports = wiring.local_ports(settings, emit=_print)
    with wiring.locked(settings), wiring.local_engine(settings) as engine:
        yield Mirrored(ports, wiring.reading_ahead(settings, ports, engine))


def _print(event: ProgressEvent) -> None:
    print(event, file=sys.stderr)
