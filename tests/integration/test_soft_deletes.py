"""Soft deletes in Delta tables: the time that stays, rows that go in the end, and the way back."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from openmirror.operate.requests import Operator, confirm_hard_deletes
from openmirror.plan.decisions import Idle
from openmirror.plan.soft_deletes import MARKS
from openmirror.ports import Step
from openmirror.reconcile.maintaining import maintain_table
from openmirror.table import layout
from openmirror.table.log import TableLog
from tests.harness.dying import Killed, dies_at
from tests.zone import EVERY_PATH, MIRROR, Mirror, Paths, Zone

_MARKED = datetime(2020, 1, 1, tzinfo=UTC)


def settings(zone: Zone, **switches: Any) -> None:
    path = zone.root / layout.mirror_settings(MIRROR)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"openmirror": switches}))


def changes(*rows: tuple[int, int]) -> pa.Table:
    """Each marker and key, and a time that is later for every key."""
    markers, keys = zip(*rows, strict=True)
    return pa.table(
        {
            "__rowMarker__": pa.array(markers, pa.int8()),
            "id": pa.array(keys, pa.int32()),
            "at": pa.array([_MARKED + timedelta(days=key) for key in keys]),
        }
    )


def deleted(mirror: Mirror) -> dict[int, Any]:
    return {row["id"]: row["_deleted_at"] for row in mirror.rows("t")}


@pytest.mark.parametrize("paths", [EVERY_PATH, Paths(small_batch=0)])
def test_rows_have_the_time_of_the_decision_whoever_commits_them_and_when(
    mirror: Mirror, paths: Paths
) -> None:
    settings(mirror.zone, delete="soft", lineage=True)
    mirror.zone.metadata("t", {"keyColumns": ["id"]})
    worker = Mirror(mirror.zone, mirror.spark, paths=paths)
    worker.zone.put("t", 1, changes((0, 1), (0, 2)))
    worker.reconcile_until_idle("t")
    worker.zone.put("t", 2, changes((2, 1), (4, 3)))
    dying = Mirror(mirror.zone, mirror.spark, steps=dies_at(Step.BEFORE_COMMIT), paths=paths)
    with pytest.raises(Killed):
        dying.reconcile_until_idle("t")
    decided = worker.control("t").decided
    assert decided is not None
    worker.clock.turn(timedelta(hours=1))
    worker.reconcile_until_idle("t")
    assert deleted(worker) == {1: decided.at, 2: None, 3: None}
    of_lineage = {row["id"]: row["_decided_at"] for row in worker.rows("t")}
    assert (of_lineage[1], of_lineage[3]) == (decided.at, decided.at)
    assert of_lineage[2] < decided.at


def test_what_was_marked_long_ago_is_removed_and_removed_once(
    mirror: Mirror, spark: SparkSession
) -> None:
    settings(mirror.zone, delete="soft", deletedAt="at", maintenance="off")
    mirror.zone.metadata("t", {"keyColumns": ["id"]})
    mirror.zone.put("t", 1, changes((0, 1), (0, 2), (0, 3), (2, 1), (2, 2)))
    mirror.reconcile_until_idle("t")
    days = (mirror.clock() - _MARKED).days
    settings(
        mirror.zone, delete="soft", deletedAt="at", maintenance="off", purgeAfter=f"{days - 1}d"
    )
    assert maintain_table(mirror.ports, mirror.engine, mirror.table("t"))
    assert deleted(mirror) == {2: _MARKED + timedelta(days=2), 3: None}
    before = mirror.versions("t")
    known = mirror.control("t").maintenance
    assert known is not None
    assert known.removed_through is not None
    mirror.clock.turn(timedelta(hours=30))
    mirror.zone.put("t", 2, changes((4, 3)))
    mirror.reconcile_until_idle("t")
    assert maintain_table(mirror.ports, mirror.engine, mirror.table("t"))
    assert deleted(mirror) == {3: None}
    mirror.clock.turn(timedelta(hours=30))
    assert maintain_table(mirror.ports, mirror.engine, mirror.table("t"))
    assert mirror.versions("t") == before + 2, "where nothing is left to remove there is no commit"
    assert mirror.observed("t").applied == 2


@pytest.mark.parametrize("row", [(0, 4), pytest.param((4, 1), marks=pytest.mark.soak)])
def test_hard_deletes_come_back_in_one_commit_of_the_next_batch(
    mirror: Mirror, row: tuple[int, int]
) -> None:
    settings(mirror.zone, delete="soft", clustering=["id"])
    mirror.zone.metadata("t", {"keyColumns": ["id"]})
    mirror.zone.put("t", 1, changes((0, 1), (0, 2), (0, 3), (2, 1), (0, 1), (2, 1), (2, 2)))
    mirror.reconcile_until_idle("t")
    settings(mirror.zone)
    confirm_hard_deletes(mirror.ports, mirror.table("t"), Operator("ann"))
    assert maintain_table(mirror.ports, mirror.engine, mirror.table("t"))
    assert deleted(mirror) == {3: None}
    mirror.zone.put("t", 2, changes(row))
    mirror.reconcile_until_idle("t")
    log = mirror.observed("t").log
    assert isinstance(log, TableLog)
    assert (log.schema.names, log.clustering) == (("id", "at"), ("id",))
    assert MARKS.property not in log.properties
    assert mirror.versions("t") == 3
    mirror.zone.put("t", 3, changes((2, 3)))
    mirror.reconcile_until_idle("t")
    assert [row["id"] for row in mirror.rows("t")] == [row[1]]


def test_a_publisher_may_have_a_column_of_our_name_once_hard_deletes_come_back(
    mirror: Mirror,
) -> None:
    settings(mirror.zone, delete="soft")
    mirror.zone.metadata("t", {"keyColumns": ["id"]})
    mirror.zone.put("t", 1, changes((0, 1), (0, 2), (2, 1)))
    mirror.reconcile_until_idle("t")
    settings(mirror.zone)
    confirm_hard_deletes(mirror.ports, mirror.table("t"), Operator("ann"))
    own = changes((0, 3)).append_column("_deleted_at", pa.array([True]))
    mirror.zone.put("t", 2, own)
    assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    assert {row["id"]: row["_deleted_at"] for row in mirror.rows("t")} == {2: None, 3: True}


def test_each_key_that_first_comes_after_a_truncate_of_a_versioned_table_fares_by_itself(
    mirror: Mirror,
) -> None:
    settings(mirror.zone, delete="soft")
    versioned = {"keyColumns": ["id"], "ConditionalUpdateColumn": "at"}
    mirror.zone.metadata("t", versioned)
    mirror.zone.put("t", 1, changes((0, 1), (0, 2)))
    mirror.reconcile_until_idle("t")
    mirror.zone.put("t", 2, changes((100, 0), (4, 1), (4, 2), (4, 3)))
    mirror.reconcile_until_idle("t")
    assert sorted(row["id"] for row in mirror.rows("t") if row["_deleted_at"] is None) == [1, 2, 3]
