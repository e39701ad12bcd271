"""What figures depend on: the machine, the versions, and what else runs."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

WARM_UP = 8
"""Commits of a kind before those that count.

The first three of a process take two to five times as long as later ones, because the JVM loads and
compiles what they need; after eight they differ by what the machine does meanwhile. It is the same
number for everybody.
"""
PAUSE = 0.5
"""Seconds of rest before what counts, for everybody.

A publisher of a file a second leaves as much between commits. openmirror computes the table's next
state in it; a process that has just compiled what it ran does so too.
"""


def machine() -> dict[str, str]:
    """What the numbers depend on."""
    java = subprocess.run(
        [_java(), "-version"], capture_output=True, text=True, check=False
    ).stderr.splitlines()
    return {
        "cpu": f"{os.cpu_count()} x {_cpu()}",
        "memory": f"{_memory_gib():.0f} GiB",
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "java": java[0] if java else "not found",
        "pyspark": version("pyspark"),
        "delta-spark": version("delta-spark"),
        "deltalake": version("deltalake"),
        "openmirror": version("openmirror"),
    }


def load() -> float:
    """How many processes want a processor, over the last minute."""
    return os.getloadavg()[0]


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
