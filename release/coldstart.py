"""How long an instance of the app needs before it can take its first message."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from release.refusals import Refused

# The checkout is installed in place, so it is taken off the path: what the package lacks must fail.
# Requirements are this environment's: those in the package may be for another Python.
_SCRIPT = """
import sys, time
app, checkout = sys.argv[1:]
sys.path[:] = [app] + [place for place in sys.path if place not in ("", checkout)]
began = time.perf_counter()
import function_app
functions = function_app.app.get_functions()
print(time.perf_counter() - began, len(functions))
"""


@dataclass(frozen=True)
class ColdStart:
    """Seconds from an interpreter that has loaded nothing to all functions indexed."""

    seconds: float
    runs: int
    functions: int

    @property
    def machine(self) -> str:
        """Where that was."""
        return (
            f"Python {platform.python_version()} on {platform.machine()} with {os.cpu_count()} CPUs"
        )


def measure(app: Path, checkout: Path, runs: int) -> ColdStart:
    """The median of several fresh processes; raises Refused if the app cannot be imported.

    Bytecode of the app is neither written nor found, as on Azure, where its folder is read-only.
    """
    measured = [_once(app, checkout) for _ in range(runs)]
    return ColdStart(median(seconds for seconds, _ in measured), runs, measured[0][1])


def _once(app: Path, checkout: Path) -> tuple[float, int]:
    done = subprocess.run(
        [sys.executable, "-I", "-B", "-c", _SCRIPT, str(app), str(checkout)],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise Refused(f"the packed app cannot be imported:\n{done.stderr.strip()}")
    seconds, functions = done.stdout.split()
    return float(seconds), int(functions)
