"""What maintenance does to real tables: their rows stay, and what a reader needs stays."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from openmirror.deltalog import DataFilesReplay
from openmirror.formats.conversion import FileConverter
from openmirror.plan.maintenance import plan_maintenance
from openmirror.plan.maintenance_steps import (
    Compact,
    MaintenancePolicy,
    MaintenanceStep,
    Nothing,
    Purge,
    TableFiles,
    Vacuum,
)
from openmirror.plan.transitions.maintained import asked_for
from openmirror.ports import CommitResult, Step
from openmirror.reconcile.maintaining import maintain_table
from openmirror.runtime.isolation import Reconciler
from openmirror.spark import committing
from openmirror.spark.engine import SparkEngine
from openmirror.spark.frames import MergeRows
from openmirror.spark.places import local_spark_paths
from openmirror.stores.local.store import LocalStore
from openmirror.table.control import Maintenance
from openmirror.table.layout import StorePath
from openmirror.table.log import TableLog
from tests.contract.engines import _comes, _until
from tests.integration.test_policies import change, settings
from tests.zone import Mirror, Paths, StopAt, Zone, bag, forget_logs, read_delta, stop_at

pytestmark = pytest.mark.spark

WEEK = timedelta(days=7)
ASKED = asked_for(None, datetime.now(UTC), "ann", full=False)


class AtPlace:
    """A table at a path below a root, as the engine sees it, without a mirror around it."""

    def __init__(self, spark: SparkSession, root: Path, table: str = "t") -> None:
        store = LocalStore(root)
        self.name = StorePath(table)
        self.path = root / table
        self.engine = SparkEngine(spark, local_spark_paths(str(root)), FileConverter(store))
        self._files = DataFilesReplay(store)

    def files(self) -> TableFiles:
        found = self._files.data_files(self.name)
        assert isinstance(found, TableFiles)
        return found

    def step(
        self, known: Maintenance = ASKED, policy: MaintenancePolicy | None = None
    ) -> MaintenanceStep:
        step = plan_maintenance(
            self.files(), known, policy or MaintenancePolicy(), WEEK, datetime.now(UTC)
        )
        assert isinstance(step, Compact | Purge | Vacuum), step
        return step

    def do(self, step: MaintenanceStep) -> None:
        assert self.engine.maintain(self.name, step) is CommitResult.DONE

    def swept(self, step: Vacuum) -> None:
        self._files.swept(self.name, step.through)

    def names(self) -> set[str]:
        """Data files that lie there, live or dead."""
        return {path.name for path in self.path.glob("*.parquet")}

    def sizes(self) -> list[int]:
        return sorted(file.size for file in self.files().live)


def make_older(path: Path, days: float) -> None:
    """Have all that lies there been done so many days ago; a table without a checkpoint."""
    millis = int(days * 86_400_000)
    log = path / "_delta_log"
    for checksum in [*log.glob("*.crc"), *log.glob(".*.crc")]:
        checksum.unlink()
    assert not list(log.glob("*.checkpoint*"))
    for commit in log.glob("*.json"):
        lines = [json.loads(line) for line in commit.read_text().splitlines()]
        for line in lines:
            for action in line.values():
                for key in ("timestamp", "deletionTimestamp", "modificationTime"):
                    if key in action:
                        action[key] -= millis
        commit.write_text("\n".join(map(json.dumps, lines)))
    for file in path.rglob("*"):
        then = file.stat().st_mtime - days * 86_400
        os.utime(file, (then, then))


@pytest.fixture
def mirror(tmp_path: Path, spark: SparkSession) -> Mirror:
    zone = Zone(tmp_path / "root")
    zone.landing.mkdir(parents=True)
    (zone.root / "lake").mkdir()
    mirror = Mirror(zone, spark)
    bounds = {"everyCommits": 4, "smallFiles": 2}
    settings(zone, maintenanceBounds=bounds)
    zone.metadata("t", {"keyColumns": ["id"]})
    return mirror


def test_a_table_is_compacted_between_its_batches_and_has_the_same_rows(
    mirror: Mirror, tmp_path: Path, spark: SparkSession
) -> None:
    turn = Reconciler(mirror.ports, mirror.engine)
    folder = mirror.table("t")
    for number in range(1, 5):
        mirror.zone.put("t", number, change(0, number * 10, number * 10 + 1))
        while turn(folder) is not None:
            pass
    path = mirror.delta_path("t")
    known = mirror.control("t").maintenance
    assert known is not None
    assert known.compacted is not None
    assert known.found is not None
    assert (known.compacted.files, known.found.files, known.found.dead_files) == (4, 1, 4)
    assert sorted(row["id"] for row in mirror.rows("t")) == [
        n * 10 + m for n in range(1, 5) for m in (0, 1)
    ]
    log = mirror.observed("t").log
    assert isinstance(log, TableLog)
    assert log.live is not None
    assert log.live[1] == 4
    # Another tool's OPTIMIZE meanwhile is nobody's problem.
    mirror.zone.put("t", 5, change(4, 10, 99))
    DeltaTable(path).optimize.compact()
    mirror.reconcile_until_idle("t")
    before = mirror.rows("t")
    assert len(before) == 9

    # The same table, nine days later.
    shutil.copytree(path, tmp_path / "later" / "t")
    make_older(tmp_path / "later" / "t", 9)
    later = AtPlace(spark, tmp_path / "later")
    DeltaTable(later.path).delete("id = 99")
    rows = read_delta(later.path)
    assert bag(rows) == bag([row for row in before if row["id"] != 99])
    killed, writing = later.path / "part-killed.parquet", later.path / "part-now.parquet"
    for left in (killed, writing):
        left.write_bytes(b"rows of a writer that never committed them")
    os.utime(killed, (0, 0))
    files = later.files()
    recent = [file for file in files.dead if file.removed_at > datetime.now(UTC) - WEEK]
    assert 0 < len(recent) < len(files.dead)
    there = later.names()
    step = later.step(replace(ASKED, asked=None))
    assert isinstance(step, Vacuum)
    assert not step.full
    later.do(step)
    assert len(there - later.names()) == len(files.dead) - len(recent) == step.files
    assert read_delta(later.path) == rows
    assert killed.exists(), "what no version names is not looked for by itself"
    previous = DeltaTable(later.path)
    previous.load_as_version(files.version - 1)
    assert bag(previous.to_pyarrow_table().to_pylist()) == bag(before), "a version goes back"

    full = replace(ASKED, asked=replace(_asked(ASKED), full=True))
    step = later.step(full)
    assert isinstance(step, Vacuum)
    assert step.full
    later.do(step)
    assert (killed.exists(), writing.exists()) == (False, True)
    assert read_delta(later.path) == rows


def _asked(known: Maintenance) -> Any:
    assert known.asked is not None
    return known.asked


def with_files(spark: SparkSession, path: Path, *rows: int, **properties: str) -> None:
    """A table with a file of so many rows for each, whose ids are its number and a count."""
    for number, count in enumerate(rows):
        frame = spark.range(count).select(
            F.col("id"), F.lit(number).alias("file"), F.rand(1).cast("string").alias("text")
        )
        frame.coalesce(1).write.format("delta").mode("append").save(str(path))
        if properties and not number:
            pairs = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
            spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ({pairs})")


def test_a_vacuum_that_lists_the_folder_lets_the_next_go_by_the_log(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Although the log's first commits are gone, and Delta forgets how far it had come."""
    table = AtPlace(spark, tmp_path)
    with_files(spark, table.path, 10, 10, 10)
    spark.sql(f"DELETE FROM delta.`{table.path}` WHERE file = 1")
    make_older(table.path, 10)
    DeltaTable(table.path).create_checkpoint()
    for version in (0, 1):
        (table.path / "_delta_log" / f"{version:020d}.json").unlink()
    forget_logs(spark)
    dead = table.names()
    full = table.step(Maintenance())
    assert isinstance(full, Vacuum)
    assert full.full
    table.do(full)
    assert table.names() < dead
    by_the_log = replace(full, full=False)
    with pytest.raises(Py4JJavaError, match="DELTA_CANNOT_VACUUM_LITE"):
        table.do(by_the_log)
    table.swept(full)
    table.do(by_the_log)
    assert table.files().names_all_dead


def test_a_step_takes_the_files_that_it_was_planned_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = AtPlace(spark, tmp_path)
    with_files(spark, table.path, 2_000, 10, 10, 10, **{"delta.enableDeletionVectors": "true"})
    large = max(table.sizes())
    rows = read_delta(table.path)
    step = table.step(policy=MaintenancePolicy(small_bytes=large))
    table.do(step)
    assert isinstance(step, Compact)
    assert step.files == 3
    assert len(table.sizes()) == 2
    assert max(table.sizes()) == large
    assert bag(read_delta(table.path)) == bag(rows)

    # A file alone that has deleted rows.
    spark.sql(f"DELETE FROM delta.`{table.path}` WHERE file = 0 AND id >= 500")
    rows = read_delta(table.path)
    [marked] = [file for file in table.files().live if file.deleted]
    assert (marked.rows, marked.deleted) == (2_000, 1_500)
    policy = MaintenancePolicy(small_files=9)
    step = table.step(Maintenance(), policy)
    assert isinstance(step, Purge)
    table.do(step)
    assert not any(file.deleted for file in table.files().live)
    assert bag(read_delta(table.path)) == bag(rows)

    # Of many such files, the worst.
    with_files(spark, table.path, 2_000, 2_000, 2_000)
    for number, left in enumerate((500, 1_000, 1_900)):
        spark.sql(
            f"DELETE FROM delta.`{table.path}` WHERE file = {number} AND id >= {left} AND text > ''"
        )
    rows = read_delta(table.path)
    policy = MaintenancePolicy(small_files=9, step_bytes=large * 2 + large // 2)
    step = table.step(Maintenance(), policy)
    assert isinstance(step, Compact)
    assert step.below == 0
    before = sorted(file.deleted for file in table.files().live)
    table.do(step)
    after = [file.deleted for file in table.files().live if file.deleted]
    assert len(after) == len([n for n in before if n]) - step.files
    assert bag(read_delta(table.path)) == bag(rows)


def test_a_merge_that_overlaps_a_compaction_is_observed_again(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    merging = Paths(small_table=0)
    mirror.engine = merging.engine(mirror.spark, mirror.zone.root, mirror.ports.store)
    for number in range(1, 4):
        mirror.zone.put("t", number, change(0, number))
        mirror.reconcile_until_idle("t")
    merge, begun, go = committing.merge, tmp_path / "begun", tmp_path / "go"
    table = mirror.observed("t").table
    results: list[CommitResult] = []

    def compacted() -> None:
        assert _comes(begun)
        step = Compact(below=1 << 20, written=1 << 21, files=3, bytes=1)
        results.append(mirror.engine.maintain(table, step))
        go.touch()

    def waiting(session: SparkSession, rows: MergeRows, *rest: Any) -> None:
        monkeypatch.setattr(committing, "merge", merge)
        thread = threading.Thread(target=compacted)
        thread.start()
        waits: Callable[[Any], Any] = _until(str(begun), str(go))
        try:
            frame = rows.frame.withColumn("c0", waits(F.col("c0")))
            merge(session, replace(rows, frame=frame), *rest)
        finally:
            thread.join()

    monkeypatch.setattr(committing, "merge", waiting)
    mirror.zone.put("t", 4, change(4, 2, 7))
    mirror.reconcile_until_idle("t")
    assert results == [CommitResult.DONE]
    assert sorted(row["id"] for row in mirror.rows("t")) == [1, 2, 3, 7]
    assert mirror.observed("t").applied == 4


def test_the_retention_of_a_table_is_its_property_and_none_makes_it_forget(
    mirror: Mirror, spark: SparkSession
) -> None:
    mirror.zone.put("t", 1, change(0, 1))
    mirror.reconcile_until_idle("t")
    path = mirror.delta_path("t")
    forgets = "delta.setTransactionRetentionDuration"
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('{forgets}' = 'interval 1 hours')")
    settings(mirror.zone, table="dbo.t", retentionInDays=30)
    mirror.zone.put("t", 2, change(4, 1, 2))
    mirror.reconcile_until_idle("t")
    log = mirror.observed("t").log
    assert isinstance(log, TableLog)
    assert log.properties["delta.deletedFileRetentionDuration"] == "interval 30 days"
    assert forgets not in log.properties
    assert len(mirror.rows("t")) == 2


@pytest.mark.parametrize("step", [Step.MAINTAINING, Step.MAINTAINED])
def test_a_runner_that_dies_at_a_step_of_maintenance_leaves_a_table_that_goes_on(
    mirror: Mirror, step: Step
) -> None:
    for number in range(1, 5):
        mirror.zone.put("t", number, change(0, number))
        mirror.reconcile_until_idle("t")
    with pytest.raises(StopAt):
        maintain_table(mirror.with_steps(stop_at(step)).ports, mirror.engine, mirror.table("t"))
    known = mirror.control("t").maintenance
    assert known is not None
    assert known.begun is not None
    mirror.zone.put("t", 5, change(4, 1, 5))
    turn = Reconciler(mirror.ports, mirror.engine)
    while turn(mirror.table("t")) is not None:
        pass
    assert sorted(row["id"] for row in mirror.rows("t")) == [1, 2, 3, 4, 5]
    assert mirror.observed("t").applied == 5


def test_a_clustered_table_is_laid_out_by_and_by_and_what_is_laid_out_stays(
    spark: SparkSession, tmp_path: Path
) -> None:
    policy = MaintenancePolicy(small_files=2, small_bytes=50_000, step_bytes=400_000)
    at = AtPlace(spark, tmp_path)
    spark.sql(f"CREATE TABLE delta.`{at.path}` (id LONG, v STRING) USING delta CLUSTER BY (id)")

    def add(files: int) -> None:
        for _ in range(files):
            rows = spark.range(1000).select(
                (F.rand() * 1_000_000).cast("long").alias("id"),
                F.sha2(F.rand().cast("string"), 512).alias("v"),
            )
            rows.coalesce(1).write.format("delta").mode("append").save(str(at.path))

    def planned() -> MaintenanceStep | Nothing:
        files = replace(at.files(), clustering=("id",))
        return plan_maintenance(files, ASKED, policy, WEEK, datetime.now(UTC))

    def paths() -> set[str]:
        return set(DeltaTable(str(at.path)).file_uris())

    add(16)
    rows, first = bag(read_delta(at.path)), planned()
    assert isinstance(first, Compact)
    assert first.files == 16
    at.do(first)
    laid_out = paths()
    assert planned() == Nothing(), "all that is there is laid out"
    add(3)
    second = planned()
    assert isinstance(second, Compact)
    assert second.files < 3 + len(laid_out) / 2, "full cubes are left alone"
    at.do(second)
    assert len(paths() & laid_out) > len(laid_out) / 2
    assert len(bag(read_delta(at.path))) == len(rows) + 3000
    spark.sql(
        f"ALTER TABLE delta.`{at.path}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    )
    spark.sql(f"DELETE FROM delta.`{at.path}` WHERE id % 3 = 0")
    left = bag(read_delta(at.path))
    assert {file.deleted > 0 for file in at.files().live} == {True}
    purge = planned()
    assert isinstance(purge, Purge)
    at.do(purge)
    after = at.files().live
    assert sum(file.deleted for file in after) == 0
    assert {file.cube is None for file in after} == {False}, "what is written anew is laid out"
    assert bag(read_delta(at.path)) == left
    assert planned() == Nothing()
