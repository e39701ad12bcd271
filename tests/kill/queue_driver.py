"""The queue's runner, killing itself at a named step: `python -m tests.kill.queue_driver ROOT STEP
[COUNT]`, with the account and the queue in its environment and a trace left in the folder ROOT.

It is wired as `spark_jobs.run` wires it but for two things: a message stays hidden for seconds, so
that it comes back to whoever is next, and the mirror that is swept is another one, so that nothing
but a message makes it observe a table.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

from openmirror.ports import Step, WorkQueue
from openmirror.runtime.runner import Runner
from openmirror.settings import Settings
from openmirror.stores.azure.queue import StorageWorkQueue, queue_service
from openmirror.table import layout
from openmirror.wiring import root_engine, root_ports
from openmirror.wiring.azure import leases
from openmirror.wiring.runner import working
from tests.kill.driver import SURVIVED, Killer

SWEPT = "swept"
"""A mirror without tables."""
_HIDDEN_FOR = timedelta(seconds=6)
_PATIENCE = 180.0


def short_lived(settings: Settings) -> WorkQueue:
    """The queue whose messages soon come back from the dead."""
    assert settings.queues is not None
    return StorageWorkQueue(queue_service(settings.queues), hidden_for=_HIDDEN_FOR)


def serve_until_idle(runner: Runner) -> None:
    """Work until nothing is left to do, or for minutes."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and not runner.is_idle():
        runner.serve(0.2)


def main(root: Path, step: Step, count: int) -> NoReturn:
    settings = Settings.load(os.environ)
    (root / layout.landing_zone(SWEPT)).mkdir(parents=True, exist_ok=True)
    ports = root_ports(settings, Killer(root, step, count, hold=True))
    with root_engine(settings, os.environ) as engine:
        queue = short_lived(settings)
        runner = working(settings, ports, engine, queue, leases(settings), [SWEPT])
        serve_until_idle(runner)
        runner.stop()
    sys.exit(SURVIVED)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Step(sys.argv[2]), int(sys.argv[3]) if sys.argv[3:] else 1)
