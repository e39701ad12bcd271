"""Processes of the product that are started to be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from openmirror.ports import Step
from tests.kill.driver import TRACE
from tests.zone import Zone

CHECKOUT = Path(__file__).parents[2]
ENVIRONMENT = os.environ | {
    "OPENMIRROR_METADATA_GRACE": "0",
    "OPENMIRROR_DROP_GRACE": "0",
    "OPENMIRROR_DRIVER_MEMORY": "1g",
    "PYTHONPATH": str(CHECKOUT),
}
_PATIENCE = 480.0
"""Seconds; a JVM starts slowly on a machine that does other things."""


@contextmanager
def runner(
    zone: Zone, *words: str, env: Mapping[str, str] = ENVIRONMENT
) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a group of its own, with its JVM; none of it is left at the end."""
    with (zone.root / "output").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            env=env,
            cwd=zone.root,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        kill_group(process)
        process.wait()


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a runner, and its JVM, which otherwise goes on for a moment."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def output_of(zone: Zone) -> str:
    """The last words of the last runner."""
    return (zone.root / "output").read_text(errors="replace")[-3000:]


def killed_at(
    zone: Zone,
    step: Step,
    count: int = 1,
    *,
    driver: str = "tests.kill.driver",
    env: Mapping[str, str] = ENVIRONMENT,
) -> None:
    """Run a process that dies at this step; it must have died there, and by SIGKILL."""
    trace = zone.root / TRACE
    trace.unlink(missing_ok=True)
    with runner(zone, driver, str(zone.root), step.value, str(count), env=env) as process:
        process.wait(_PATIENCE)
    assert process.returncode == -signal.SIGKILL, output_of(zone)
    assert trace.read_text() == step.value


def run_to_end(zone: Zone, *words: str) -> int:
    """The exit code of a runner that nobody kills."""
    with runner(zone, *words) as process:
        return process.wait(_PATIENCE)
