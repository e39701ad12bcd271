"""How the JVMs of tests run: the session's own, and that of every process which a test starts.

Most of such a JVM's time is its start, which compiles what it then runs a few times. So tests
compile by C1 alone, and collect garbage with one thread: a cold drain took 25 s of CPU in place of
44. Neither changes what a program computes. The product keeps the JVM's own choices: its runners
live long enough to gain from C2.

Spark's own environment variables say it, because each of its starters reads them, prints nothing
about it, and hands them on to the processes which it starts.
"""

from __future__ import annotations

from collections.abc import Mapping

_QUICK = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData "
    # With C1 alone the code cache has 48 MB, a fifth of what it has with both compilers: a session
    # of hundreds of tables fills it, and then sweeps and compiles anew until it ends.
    "-XX:ReservedCodeCacheSize=256m"
)
DRIVER = "SPARK_SUBMIT_OPTS"
"""Read by each JVM that runs Spark."""
LAUNCHER = "SPARK_LAUNCHER_OPTS"
"""Read by the small JVM that works out the command line of such a one."""


def quick(given: Mapping[str, str]) -> dict[str, str]:
    """The variables for an environment; what `given` says there comes last, so it wins."""
    return {name: f"{_QUICK} {given.get(name, '')}".strip() for name in (DRIVER, LAUNCHER)}
