"""How the JVMs run that tests start.

Much of the time of a JVM in the tests is the compiler that makes code fast which then runs a few
times: a third of a session that makes four hundred commits. So all but the session of a whole run
compile by C1 alone, and they collect garbage with one thread: a cold drain took 25 s of CPU in
place of 44. Neither changes what a program computes.

Spark's own environment variables say it, because each of its starters reads them, prints nothing
about it, and hands them on to the processes which it starts.
"""

from __future__ import annotations

from collections.abc import Mapping

_QUICK = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData "
    # With C1 alone there are 48 MB for code, which a session of hundreds of tables fills: it would
    # then throw code away and compile it anew until it ends.
    "-XX:ReservedCodeCacheSize=256m"
)
LASTING = (
    "-XX:TieredStopAtLevel=4 "
    "-XX:Tier4InvocationThreshold=75000 -XX:Tier4MinInvocationThreshold=9000 "
    "-XX:Tier4CompileThreshold=225000 -XX:Tier4BackEdgeThreshold=600000 "
    # Or a heap that begins small is searched for garbage again and again.
    "-Xmn1g"
)
"""For the one session of a whole run, which runs long enough for C2 as well; but only of what is
called fifteen times as often as C2 asks by itself, or it is a quarter of all CPU."""
DRIVER = "SPARK_SUBMIT_OPTS"
"""Read by each JVM that runs Spark."""
LAUNCHER = "SPARK_LAUNCHER_OPTS"
"""Read by the small JVM that works out the command line of such a one."""


def quick(given: Mapping[str, str]) -> dict[str, str]:
    """The variables for an environment; what `given` says there comes last, so it wins."""
    return {name: f"{_QUICK} {given.get(name, '')}".strip() for name in (DRIVER, LAUNCHER)}
