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
from openmirror.progress import ProgressEvent
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.services.draining import drain
from openmirror.services.mirrors import open_mirror
from openmirror.services.parts import Parts
from openmirror.services.visiting import settle
from openmirror.settings import Settings


class Mirrored:
    """Change files applied by openmirror."""

    def __init__(self, parts: Parts, engine: TableEngine, lanes: int) -> None:
        self._parts = parts
        self._engine = engine
        self._lanes = lanes

    def apply(self, table: str, _sequence: int, /) -> float:
        """Visit one table until nothing is left, all checks and the decided batch included."""
        open_mirror(self._parts.store, MIRROR)
        settle(self._parts, self._engine, TableFolder(MIRROR, TablePath.parse(table)))
        return time.monotonic()

    def apply_all(self, _tables: list[str], _first: int, _last: int, /) -> None:
        """Drain the whole root."""
        drain(self._parts, self._engine, [MIRROR], self._lanes)


def main(plan: Plan) -> None:
    """Measure, and report on standard output."""
    settings = Settings.load({}, {"root": Path(plan.root), "driver_memory": "3g"})
    parts = wiring.local_parts(settings, emit=_print)
    with wiring.locked(settings), wiring.local_engine(settings) as engine:
        report(measure(Mirrored(parts, engine, plan.lanes), plan))


def _print(event: ProgressEvent) -> None:
    print(event, file=sys.stderr)


if __name__ == "__main__":
    main(Plan(**json.loads(sys.argv[1])))
