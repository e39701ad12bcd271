"""The process of an alternative: `python -m bench.alternatives.worker NAME ROOT`.

A task comes as a line on standard input; how many seconds it took goes out as one.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path

from bench.alternatives.tasks import Applies, decode

ANSWER = "RESULT "
"""What its lines begin with: the JVM may write others."""
OPENERS = {
    "openmirror": ("bench.alternatives.mirrored", "openmirror"),
    "spark-default": ("bench.alternatives.by_spark", "by_default"),
    "spark-tuned": ("bench.alternatives.by_spark", "tuned"),
    "delta-rs": ("bench.alternatives.by_delta_rs", "delta_rs"),
}
"""Modules are imported where they are used: only one of them needs what it imports."""


def main(name: str, root: Path) -> None:
    """Do tasks until standard input ends."""
    module, opener = OPENERS[name]
    opened: AbstractContextManager[Applies] = getattr(import_module(module), opener)(root)
    with opened as alternative:
        _answer({"ready": True})
        for line in sys.stdin:
            task = decode(line)
            before = time.monotonic()
            alternative.apply(task)
            _answer({"seconds": time.monotonic() - before})


def _answer(value: dict[str, float | bool]) -> None:
    print(ANSWER + json.dumps(value), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
