"""What `spark-submit` runs in a test: draining a zone on disk, in the application it was given."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from openmirror.plan.decisions import Idle
from openmirror.settings import Settings
from openmirror.wiring import root_engine
from tests.zone import Mirror, Zone


def one_by_one(mirror: Mirror) -> Mirror:
    """The same mirror, with a commit for each file."""
    return Mirror(mirror.zone, mirror.spark, replace(mirror.ports.limits, batch_files=1))


def main(root: Path) -> None:
    with root_engine(Settings(root=root), {}) as engine:
        spark = SparkSession.getActiveSession()
        assert spark is not None
        mirror = one_by_one(Mirror(Zone(root), spark))
        mirror.engine = engine
        for path, decision in mirror.reconcile_all().items():
            assert isinstance(decision, Idle), (path, decision)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
