"""Our side: the product, wired as the command line does; started by `python -m bench`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from bench.measuring import Plan, measure, report
from bench.workload import MIRROR
from openmirror import wiring
from openmirror.ports import TableEngine
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.reconcile.mirrors import open_mirror
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.draining import drain
from openmirror.settings import Settings


class Mirrored:
    """Change files applied by openmirror."""

    def __init__(self, ports: RootPorts, engine: TableEngine, workers: int) -> None:
        self._ports = ports
        self._engine = engine
        self._workers = workers

    def apply(self, table: str, _sequence: int, /) -> float:
        """Reconcile one table until nothing is left, all checks and the decided batch included."""
        open_mirror(self._ports.store, MIRROR)
        reconcile_until_idle(self._ports, self._engine, TableFolder(MIRROR, TablePath.parse(table)))
        return time.monotonic()

    def apply_all(self, _tables: list[str], _first: int, _last: int, /) -> None:
        """Drain the whole root."""
        drain(self._ports, self._engine, [MIRROR], self._workers)


def main(plan: Plan) -> None:
    """Measure, and report on standard output."""
    settings = Settings.load({}, {"root": Path(plan.root), "driver_memory": "3g"})
    ports = wiring.local_ports(settings, emit=_print)
    with wiring.locked(settings), wiring.local_engine(settings) as engine:
        report(measure(Mirrored(ports, engine, plan.workers), plan))


def _print(event: ProgressEvent) -> None:
    print(event, file=sys.stderr)


if __name__ == "__main__":
    main(Plan(**json.loads(sys.argv[1])))
