"""A runner that kills itself at a named step: `python -m tests.kill.driver ROOT STEP [COUNT]`.

It wires the product as the command line does, drains (or cleans, for a step of cleanup), and dies
by SIGKILL when the step has been reached COUNT times. Of that step it leaves a trace, so that
whoever started it knows where it died.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import NoReturn

from openmirror import wiring
from openmirror.ports import Step
from openmirror.runtime.draining import drain
from openmirror.runtime.sweeping import clean
from openmirror.settings import Settings

TRACE = "died-at"
"""A file in the root that names the step."""
SURVIVED = 9
"""Exit code when there was nothing more to do and the step was not reached often enough."""
OF_CLEANUP = (Step.LINKED, Step.MOVED)
MOST_WORKERS = 4
OBSERVATIONS_OF_A_DROP = 2
"""A folder must be missing in two observations; each drain observes it once."""
_PATIENCE = 300.0


class Killer:
    """Steps that kill the process at one of them.

    With `hold` whoever comes earlier than the last stands still there, so that the process dies
    with that many tables at the very same step.
    """

    def __init__(self, root: Path, at: Step, count: int, *, hold: bool) -> None:
        self._root = root
        self._at = at
        self._left = count
        self._hold = hold
        self._lock = threading.Lock()

    def __call__(self, step: Step) -> None:
        if step is not self._at:
            return
        with self._lock:
            self._left -= 1
            if self._left == 0:
                (self._root / TRACE).write_text(step.value)
                os.kill(os.getpid(), signal.SIGKILL)
        if self._hold:
            threading.Event().wait(_PATIENCE)
            os._exit(SURVIVED)


def main(root: Path, step: Step, count: int) -> NoReturn:
    settings = Settings.load(os.environ, {"root": root})
    cleans = step in OF_CLEANUP
    ports = wiring.local_ports(settings, steps=Killer(root, step, count, hold=not cleans))
    mirrors = sorted(place.name for place in (root / "landing").iterdir())
    with wiring.locked(settings):
        if cleans:
            clean(ports, mirrors)
        else:
            with wiring.local_engine(settings) as engine:
                for _ in range(OBSERVATIONS_OF_A_DROP):
                    drain(ports, engine, mirrors, MOST_WORKERS)
    sys.exit(SURVIVED)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Step(sys.argv[2]), int(sys.argv[3]) if sys.argv[3:] else 1)
