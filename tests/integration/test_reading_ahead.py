"""Batches that Spark reads while it commits the ones before them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from openmirror.plan.decisions import Pause
from openmirror.protocol.rules import Code
from openmirror.reconcile.reading_ahead import ReadingAhead
from tests.harness.executors import AtOnce
from tests.zone import Mirror, Paths, Zone

pytestmark = pytest.mark.spark

BY_SPARK = Paths(small_batch=0, small_table=0)


@pytest.fixture(params=[True, False], ids=["beside", "before"])
def threads(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """Beside the commit, as it is; and all of it before the commit begins."""
    if not request.param:
        yield AtOnce()
        return
    with ThreadPoolExecutor(1) as threads:
        yield threads


def reading_ahead(zone: Zone, spark: SparkSession, threads: Executor) -> Mirror:
    mirror = Mirror(zone, spark, paths=BY_SPARK)
    mirror.ports = replace(mirror.ports, limits=replace(mirror.ports.limits, batch_files=1))
    mirror.engine = ReadingAhead(mirror.ports, mirror.engine, 1, threads)
    return mirror


def marked(*markers: int | str, ids: list[int], text: str) -> dict[str, list[object]]:
    return {"id": ids, "text": [text] * len(ids), "__rowMarker__": list(map(str, markers))}


def test_a_partial_update_of_a_row_that_the_batch_before_it_deletes_is_refused(
    tmp_path: Path, spark: SparkSession, threads: Executor
) -> None:
    zone = Zone(tmp_path)
    zone.metadata("t", {"keyColumns": ["id"]})
    zone.put("t", 1, marked(0, 0, ids=[1, 2], text="a"))
    zone.put("t", 2, marked(4, ids=[2], text="b"))
    zone.put("t", 3, marked(2, ids=[1], text=""))
    zone.put("t", 4, marked('101 ["text"]', ids=[1], text=""))
    mirror = reading_ahead(zone, spark, threads)
    paused = mirror.reconcile_until_idle("t")
    assert isinstance(paused, Pause)
    assert paused.problem.code is Code.NO_ROW_TO_UPDATE
    assert mirror.rows("t") == [{"id": 2, "text": "b"}]
    assert mirror.observed("t").applied == 3
