"""A process that starts Spark with its default settings, does one task, and ends."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.alternatives.by_spark import by_default
from bench.alternatives.tasks import decode


def main(line: str) -> None:
    """Do the task."""
    task = decode(line)
    with by_default(Path(task.root)) as alternative:
        alternative.apply(task)


if __name__ == "__main__":
    main(sys.argv[1])
