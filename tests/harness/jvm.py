"""How the JVMs run that tests start.

Most of the time of a process that a test starts is its JVM's start, which compiles what it then
runs a few times. So these compile by C1 alone, and collect garbage with one thread: a cold drain
took 25 s of CPU in place of 44. Neither changes what a program computes. The session of the test
run itself, like the product, keeps the JVM's own choices: it runs long enough to gain from C2.

Spark's own environment variables say it, because each of its starters reads them, prints nothing
about it, and hands them on to the processes which it starts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
_LASTING = "-XX:+UseParallelGC"
DRIVER = "SPARK_SUBMIT_OPTS"
"""Read by each JVM that runs Spark."""
LAUNCHER = "SPARK_LAUNCHER_OPTS"
"""Read by the small JVM that works out the command line of such a one."""


def quick(given: Mapping[str, str]) -> dict[str, str]:
    """The variables for an environment; what `given` says there comes last, so it wins."""
    return {name: f"{_QUICK} {given.get(name, '')}".strip() for name in (DRIVER, LAUNCHER)}


@contextmanager
def unhurried() -> Iterator[None]:
    """A JVM that is started within this block is made to run for long."""
    before = os.environ.get(DRIVER)
    os.environ[DRIVER] = f"{_LASTING} {(before or '').replace(_QUICK, '')}".strip()
    try:
        yield
    finally:
        del os.environ[DRIVER]
        if before is not None:
            os.environ[DRIVER] = before
