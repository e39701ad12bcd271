"""The quicker commits change what their batches say, and nothing else, whatever comes between."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import PrimitiveType
from pyspark.sql import SparkSession

from openmirror.plan.decisions import Idle
from openmirror.reconcile.reconciliation import reconcile
from openmirror.spark import committing, delta_log, engine, state_ahead
from openmirror.spark.choosing import Commit, choose
from openmirror.spark.delta_log import listed_snapshot
from openmirror.spark.engine import SparkEngine
from openmirror.spark.state_ahead import StateAhead
from openmirror.spark.transacting import fresh_session
from tests.harness.meanwhile import once_before
from tests.integration.test_policies import log_of, settings
from tests.zone import EVERY_PATH, Mirror, Paths, Zone

KEYED = {"keyColumns": ["id"]}
Patch = pytest.MonkeyPatch
BY_SPARK = Paths(direct=False)
INSERT, UPDATE, DELETE, UPSERT = 0, 1, 2, 4


def changes(*rows: tuple[int, Any, str]) -> pa.Table:
    markers, ids, values = zip(*rows, strict=True)
    return pa.table(
        {
            "__rowMarker__": pa.array(markers, pa.int32()),
            "id": pa.array(ids, pa.int64()),
            "v": list(values),
        }
    )


class Watched:
    """One table whose next commits are seen; its state is known before each."""

    def __init__(self, mirror: Mirror, patch: Patch) -> None:
        self.mirror = mirror
        self.chosen: list[Commit] = []
        self.last = 0
        patch.setattr(engine, "choose", self._choose)
        mirror.zone.metadata("t", KEYED)

    def _choose(self, *shape: Any) -> Commit:
        self.chosen.append(choose(*shape))
        return self.chosen[-1]

    def apply(self, *rows: tuple[int, Any, str]) -> None:
        self.land(*rows)
        assert isinstance(self.mirror.reconcile_until_idle("t"), Idle)

    def land(self, *rows: tuple[int, Any, str]) -> None:
        self.last += 1
        self.mirror.zone.put("t", self.last, changes(*rows))

    @property
    def path(self) -> Path:
        return self.mirror.delta_path("t")

    @property
    def rows(self) -> list[tuple[Any, str]]:
        found = [(row["id"], row["v"]) for row in self.mirror.rows("t")]
        return sorted(found, key=lambda row: (row[0] is None, row))


@pytest.fixture
def table(mirror: Mirror, monkeypatch: Patch) -> Watched:
    return Watched(mirror, monkeypatch)


@pytest.fixture
def by_spark(zone: Zone, spark: SparkSession, monkeypatch: Patch) -> Watched:
    """A table whose small batches Spark commits as well."""
    return Watched(Mirror(zone, spark, paths=BY_SPARK), monkeypatch)


@pytest.mark.parametrize("paths", [EVERY_PATH, BY_SPARK])
def test_a_small_table_is_written_whole_with_every_copy_of_a_key_and_null_keys(
    zone: Zone, spark: SparkSession, monkeypatch: Patch, paths: Paths
) -> None:
    table = Watched(Mirror(zone, spark, paths=paths), monkeypatch)
    table.apply((INSERT, 1, "a"), (INSERT, 1, "b"), (INSERT, 2, "c"), (INSERT, None, "n"))
    table.apply(
        (UPDATE, 1, "both"), (DELETE, 2, ""), (UPSERT, None, "null"), (INSERT, 9, "new"),
        (UPSERT, 7, "none there"), (DELETE, 8, ""), (INSERT, 9, "again"),
    )  # fmt: skip
    assert table.chosen == [Commit.REPLACE, Commit.OVERWRITE]
    assert table.rows == [
        (1, "both"), (1, "both"), (7, "none there"), (9, "again"), (9, "new"), (None, "null")
    ]  # fmt: skip
    [_] = DeltaTable(str(table.path)).file_uris()
    table.apply((DELETE, 1, ""))
    assert table.chosen[-1] is Commit.OVERWRITE
    assert [key for key, _ in table.rows] == [7, 9, 9, None]


def a_foreign_row(table: Watched) -> None:
    row = pa.table({"id": pa.array([50], pa.int64()), "v": ["foreign"]})
    write_deltalake(str(table.path), row, mode="append")


def when_written(patch: Patch, act: Callable[[], None]) -> None:
    """Do something once, when the table that is to be written again has been looked up."""
    once_before(patch, committing, "writer", act)


def test_a_commit_that_lands_before_a_whole_table_is_written_is_in_what_is_written(
    by_spark: Watched, monkeypatch: Patch
) -> None:
    by_spark.apply((INSERT, 1, "a"), (INSERT, 2, "b"))
    when_written(monkeypatch, lambda: a_foreign_row(by_spark))
    by_spark.apply((UPDATE, 1, "A"))
    assert Commit.OVERWRITE in by_spark.chosen
    assert by_spark.rows == [(1, "A"), (2, "b"), (50, "foreign")]


def test_a_column_that_another_tool_adds_and_fills_before_a_table_is_written_again_stays_filled(
    by_spark: Watched, monkeypatch: Patch
) -> None:
    by_spark.apply((INSERT, 1, "a"), (INSERT, 2, "b"))

    def added() -> None:
        there = DeltaTable(str(by_spark.path))
        there.alter.add_columns([Field("more", PrimitiveType("string"))])
        there.update(updates={"more": "'filled'"})

    once_before(monkeypatch, committing, "present_rows", added)
    by_spark.apply((UPDATE, 1, "A"))
    assert by_spark.chosen[1] is Commit.OVERWRITE
    assert by_spark.rows == [(1, "A"), (2, "b")]
    more = {row["id"]: row["more"] for row in by_spark.mirror.rows("t")}
    assert more == {1: None, 2: "filled"}, "an update is a whole row"


def test_a_small_table_of_which_nothing_may_be_taken_out_gets_new_rows(by_spark: Watched) -> None:
    by_spark.apply((INSERT, 1, "a"))
    DeltaTable(str(by_spark.path)).alter.set_table_properties({"delta.appendOnly": "true"})
    by_spark.apply((UPSERT, 2, "b"))
    assert by_spark.chosen[-1] is Commit.MERGE
    assert by_spark.rows == [(1, "a"), (2, "b")]


def test_a_commit_that_lands_while_a_whole_table_is_written_is_a_conflict_and_not_lost(
    by_spark: Watched, monkeypatch: Patch
) -> None:
    by_spark.apply((INSERT, 1, "a"), (INSERT, 2, "b"))
    overwrite = committing.overwrite

    def once(session: SparkSession, rows: Any, *rest: Any) -> None:
        monkeypatch.setattr(committing, "overwrite", overwrite)
        # A row of the commit itself lands the other one: rows are computed inside the transaction.
        from pyspark.sql import functions as F
        from pyspark.sql.types import LongType

        path = str(by_spark.path)

        def land(value: int) -> int:
            from pathlib import Path

            import pyarrow as pa
            from deltalake import write_deltalake

            if Path(path + ".landed").exists():
                return value
            Path(path + ".landed").touch()
            row = pa.table({"id": pa.array([50], pa.int64()), "v": ["foreign"]})
            write_deltalake(path, row, mode="append")
            return value

        landing = F.udf(land, LongType(), useArrow=False).asNondeterministic()
        overwrite(session, rows.withColumn("c0", landing(F.col("c0"))), *rest)

    monkeypatch.setattr(committing, "overwrite", once)
    by_spark.apply((UPDATE, 1, "A"))
    assert by_spark.chosen[1] is Commit.OVERWRITE
    assert len(by_spark.chosen) > 2, "the first attempt was no conflict"
    assert by_spark.rows == [(1, "A"), (2, "b"), (50, "foreign")]


def test_a_whole_table_that_goes_before_it_is_written_does_not_come_back(
    by_spark: Watched, monkeypatch: Patch, tmp_path: Path
) -> None:
    by_spark.apply((INSERT, 1, "a"))
    found: list[bool] = []

    def go() -> None:
        shutil.move(by_spark.path, tmp_path / "gone")
        found.append(by_spark.path.exists())

    when_written(monkeypatch, go)
    by_spark.land((UPDATE, 1, "A"))
    reconcile(by_spark.mirror.ports, by_spark.mirror.engine, by_spark.mirror.table("t"))
    assert found == [False]
    assert not (by_spark.path / "_delta_log").exists()


def test_a_whole_table_keeps_its_properties_and_its_clustering_and_gets_new_columns(
    table: Watched,
) -> None:
    settings(table.mirror.zone, clustering=["id"], deletionVectors=True)
    table.apply((INSERT, 1, "a"), (INSERT, 2, "b"))
    before = log_of(table.mirror, "t")
    table.land((UPDATE, 1, "A"))
    more = changes((UPSERT, 3, "c")).append_column("n", pa.array([7], pa.int32()))
    table.last += 1
    table.mirror.zone.put("t", table.last, more)
    assert isinstance(table.mirror.reconcile_until_idle("t"), Idle)
    after = log_of(table.mirror, "t")
    assert table.chosen[-1] is Commit.OVERWRITE
    assert (after.properties, after.clustering) == (before.properties, before.clustering)
    assert after.table_id == before.table_id
    assert sorted((r["id"], r["v"], r["n"]) for r in table.mirror.rows("t")) == [
        (1, "A", None), (2, "b", None), (3, "c", 7)
    ]  # fmt: skip


def test_a_table_with_a_change_feed_is_merged_into_so_that_the_feed_has_changes_alone(
    table: Watched,
) -> None:
    settings(table.mirror.zone, feed=True)
    table.apply((INSERT, 1, "a"), (INSERT, 2, "b"))
    table.apply((UPDATE, 1, "A"))
    assert table.chosen == [Commit.REPLACE, Commit.MERGE]
    assert table.rows == [(1, "A"), (2, "b")]


def test_a_merge_within_the_bounds_of_its_keys_reads_no_file_beyond_them(
    by_spark: Watched, monkeypatch: Patch
) -> None:
    for first in (0, 100, 200):
        by_spark.apply(*((INSERT, first + at, "old") for at in range(3)))
    by_spark.apply((UPDATE, 101, "new"), (DELETE, 100, ""), (UPSERT, 150, "added"))
    assert by_spark.chosen == [Commit.REPLACE, Commit.APPEND, Commit.APPEND, Commit.MERGE]
    assert by_spark.rows == sorted(
        [(at, "old") for at in (0, 1, 2, 102, 200, 201, 202)] + [(101, "new"), (150, "added")]
    )
    newest = DeltaTable(str(by_spark.path)).history(1)[0]
    assert newest["operation"] == "MERGE"
    assert int(newest["operationMetrics"]["numTargetFilesRemoved"]) == 1
    # The condition alone says so: the other files were not even read.
    assert "BETWEEN" in str(newest["operationParameters"]).upper() or ">= 100" in str(
        newest["operationParameters"]
    )


def test_the_state_of_a_table_is_computed_once_whoever_wants_it(
    table: Watched, monkeypatch: Patch
) -> None:
    table.apply((INSERT, 1, "a"))
    path, spark = str(table.path), table.mirror.spark
    of_mirror = table.mirror.engine
    assert isinstance(of_mirror, SparkEngine)
    # What the first batch has left to be done is none of what is counted.
    of_mirror._ahead._states[path].result()
    computed: list[str] = []

    def snapshot(session: SparkSession, log: Any) -> Any:
        computed.append(threading.current_thread().name)
        return listed_snapshot(session, log)

    monkeypatch.setattr(state_ahead, "listed_snapshot", snapshot)
    ahead = StateAhead(lambda: fresh_session(spark))
    # Nobody wanted it: the commit does it itself.
    size = ahead.current(spark, path)
    assert size is not None
    assert (size.files, size.has_change_data_feed) == (1, False)
    assert size.bytes > 0
    # After a commit it is computed while nothing waits, and the next commit finds it.
    ahead.committing(path)
    ahead.want(path)
    ahead.committed(path)
    ahead.want(path)
    ahead._states[path].result()
    assert ahead.current(spark, path) == size
    assert ahead.current(spark, path) == size
    assert [name.partition("_")[0] for name in computed] == ["MainThread", "state-ahead"]
    # While others commit, cores are theirs.
    ahead.committing(path)
    ahead.committing("another")
    ahead.committed(path)
    assert len(computed) == 2
    assert ahead.current(spark, path) == size
    assert computed[2:] == ["MainThread"]


def test_without_deltas_own_classes_no_state_is_computed_and_every_batch_is_merged(
    table: Watched, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(delta_log, "_DELTA_LOG", "com.example.NoSuchLog")
    assert delta_log.delta_log(table.mirror.spark, str(table.path)) is None
    table.apply((INSERT, 1, "a"))
    table.apply((UPDATE, 1, "A"))
    assert table.chosen == [Commit.REPLACE, Commit.MERGE]
    assert table.rows == [(1, "A")]


def test_a_state_that_cannot_be_computed_is_no_failure(table: Watched) -> None:
    table.apply((INSERT, 1, "a"))
    log = table.path / "_delta_log" / f"{0:020d}.json"
    whole, ahead = log.read_bytes(), StateAhead(lambda: fresh_session(table.mirror.spark))
    for broken in (b"", b"no json"):
        log.write_bytes(broken)
        assert ahead.current(table.mirror.spark, f"{table.path}/../t") is None
    log.write_bytes(whole)
    table.apply((UPDATE, 1, "A"))
    assert table.rows == [(1, "A")]


def test_a_truncate_beside_a_type_that_grows_leaves_a_table_that_every_reader_reads(
    mirror: Mirror,
) -> None:
    mirror.zone.metadata("t", {"keyColumns": ["id"]})
    mirror.zone.put("t", 1, {"id": [1], "n": pa.array([1], pa.int32())})
    mirror.reconcile_until_idle("t")
    mirror.zone.put("t", 2, {"id": [0], "n": [0], "__rowMarker__": [100]})
    mirror.zone.put("t", 3, {"id": [2], "n": [1 << 40], "__rowMarker__": [4]})
    mirror.reconcile_until_idle("t")
    assert mirror.rows("t") == [{"id": 2, "n": 1 << 40}]
    assert "delta.enableTypeWidening" not in log_of(mirror, "t").properties


def test_a_truncate_takes_the_rows_and_leaves_what_people_say_of_the_table(mirror: Mirror) -> None:
    mirror.zone.metadata("t", {"keyColumns": ["id"]})
    # A name that needs column mapping, under which Delta may not replace a table with a feed.
    mirror.zone.put("t", 1, {"id": [1], "a v": ["a"]})
    mirror.reconcile_until_idle("t")
    path, before = f"delta.`{mirror.delta_path('t')}`", log_of(mirror, "t")
    for statement in (
        f"ALTER TABLE {path} ALTER COLUMN `a v` COMMENT 'in words'",
        f"ALTER TABLE {path} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
        f"ALTER TABLE {path} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
        f"ALTER TABLE {path} CLUSTER BY (id)",
        f"COMMENT ON TABLE {path} IS 'all of them'",
        f"ALTER TABLE {path} ADD CONSTRAINT positive CHECK (id > 0)",
    ):
        mirror.spark.sql(statement)
    mirror.zone.put("t", 2, {"id": [0], "a v": ["-"], "__rowMarker__": [100]})
    mirror.zone.put("t", 3, {"id": [2], "a v": ["b"], "__rowMarker__": [4]})
    assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    assert mirror.rows("t") == [{"id": 2, "a v": "b"}]
    after = log_of(mirror, "t")
    assert after.table_id == before.table_id, "whoever reads it as a stream goes on"
    assert after.clustering == ("id",)
    found = DeltaTable(str(mirror.delta_path("t")))
    assert found.metadata().description == "all of them"
    [_, column] = found.schema().fields
    assert column.metadata["comment"] == "in words"
    assert after.properties["delta.constraints.positive"] == "id > 0"
    reader = mirror.spark.read.format("delta").option("readChangeFeed", "true")
    feed = reader.option("startingVersion", after.version).load(str(mirror.delta_path("t")))
    changes = {(row["_change_type"], row["id"]) for row in feed.collect()}
    assert changes == {("delete", 1), ("insert", 2)}
    mirror.zone.put("t", 4, {"id": [0], "a v": ["-"], "__rowMarker__": [100]})
    assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    assert mirror.rows("t") == [], "of no rows too"


@pytest.mark.parametrize("on", ["true", pytest.param("false", marks=pytest.mark.soak)])
def test_a_table_whose_rows_were_tracked_begins_anew(mirror: Mirror, on: str) -> None:
    mirror.zone.metadata("t", {"keyColumns": ["id"]})
    mirror.zone.put("t", 1, {"id": [1]})
    mirror.reconcile_until_idle("t")
    of_another_engine = {"delta.parquet.vorder.enabled": "true"}
    table = DeltaTable(str(mirror.delta_path("t")))
    table.alter.set_table_properties(of_another_engine, raise_if_not_exists=False)
    for value in ("true", on):
        mirror.spark.sql(
            f"ALTER TABLE delta.`{mirror.delta_path('t')}` "
            f"SET TBLPROPERTIES ('delta.enableRowTracking' = '{value}')"
        )
    mirror.zone.put("t", 2, {"id": [0], "__rowMarker__": [100]})
    # A column that comes with it has the whole table replaced.
    mirror.zone.put("t", 3, {"id": [2], "n": [3], "__rowMarker__": [4]})
    assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    assert mirror.rows("t") == [{"id": 2, "n": 3}]
    properties = log_of(mirror, "t").properties
    assert properties["delta.enableRowTracking"] == on
    assert properties.items() >= of_another_engine.items()


@pytest.mark.parametrize(
    "property",
    [
        "enableChangeDataCapture",
        pytest.param("enableChangeDataFeed", marks=pytest.mark.soak),
        "enableRowTracking",
    ],
)
def test_what_says_of_each_row_whether_it_changed_has_changes_alone(
    by_spark: Watched, property: str
) -> None:
    """From the next commit on, although the table's state was computed before."""
    table = by_spark
    table.apply((INSERT, 1, "a"), (INSERT, 2, "b"))
    of_spark = table.mirror.engine
    assert isinstance(of_spark, SparkEngine)
    of_spark._ahead._states[str(table.path)].result()
    table.mirror.spark.sql(
        f"ALTER TABLE delta.`{table.path}` SET TBLPROPERTIES ('delta.{property}' = 'true')"
    )
    table.apply((UPDATE, 1, "A"))
    assert table.chosen[-1] is Commit.MERGE
    assert table.rows == [(1, "A"), (2, "b")]


def test_a_column_comes_with_deletes_alone(by_spark: Watched) -> None:
    table = by_spark
    for start in (0, 100, 200):
        table.apply(*((INSERT, start + at, "a") for at in range(2)))
    table.last += 1
    file = changes((DELETE, 1, "")).append_column("n", pa.array([7], pa.int32()))
    table.mirror.zone.put("t", table.last, file)
    assert isinstance(table.mirror.reconcile_until_idle("t"), Idle)
    assert table.chosen[-1] is Commit.MERGE
    assert {tuple(row) for row in table.mirror.rows("t")} == {("id", "v", "n")}
    assert len(table.rows) == 5


@pytest.mark.parametrize(
    "kind", [pytest.param(pa.int64(), marks=pytest.mark.soak), pa.string()], ids=str
)
def test_a_key_that_comes_with_its_batch_is_null_in_every_row_before_it(
    zone: Zone, spark: SparkSession, kind: pa.DataType
) -> None:
    mirror = Mirror(zone, spark, paths=Paths(direct=False, small_table=0))
    zone.put("t", 1, {"v": ["a", "b"]})
    assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    settings(zone, history="scd2")
    zone.metadata("t", KEYED)
    nulls = [(None, "a"), (None, "b")]
    for number, key, marker, expected in (
        (2, 7, UPSERT, [(7, "2"), *nulls]),
        (3, 7, DELETE, nulls),
        # As any rows of one key, they all become what the change says.
        (4, None, UPSERT, [(None, "4"), (None, "4")]),
        (5, None, DELETE, []),
    ):
        ids = pa.array([key], pa.int64()).cast(kind)
        zone.put("t", number, pa.table({"__rowMarker__": [marker], "id": ids, "v": [str(number)]}))
        for path in ("t", "_history/t"):
            assert isinstance(mirror.reconcile_until_idle(path), Idle)
        rows = [(row["id"], row["v"]) for row in mirror.rows("t")]
        assert sorted(rows, key=str) == sorted(
            ((k and ids[0].as_py(), v) for k, v in expected), key=str
        )
        open_rows = [row for row in mirror.rows("_history/t") if row["_is_current"]]
        assert sorted(((row["id"], row["v"]) for row in open_rows), key=str) == sorted(
            rows, key=str
        )


def with_history(zone: Zone, spark: SparkSession, paths: Paths = EVERY_PATH, **more: Any) -> Mirror:
    mirror = Mirror(zone, spark, paths=paths)
    settings(zone, history="scd2", **more)
    zone.metadata("t", KEYED)
    return mirror


def apply_both(mirror: Mirror) -> None:
    for path in ("t", "_history/t"):
        assert isinstance(mirror.reconcile_until_idle(path), Idle), path


def test_a_type_grows_in_place_by_inserts_alone(zone: Zone, spark: SparkSession) -> None:
    mirror = with_history(zone, spark, BY_SPARK, typeChange="feature")
    for number, kind in enumerate((pa.int32(), pa.int64()), start=1):
        zone.put("t", number, {"id": [number], "n": pa.array([number], kind)})
        apply_both(mirror)
    for path in ("t", "_history/t"):
        found = mirror.spark.read.format("delta").load(str(mirror.delta_path(path)))
        assert sorted(row["n"] for row in found.collect()) == [1, 2]
        assert dict(found.dtypes)["n"] == "bigint"
        assert log_of(mirror, path).properties["delta.enableTypeWidening"] == "true"


def test_a_history_goes_on_where_its_folder_comes_again_with_the_first_times_without_a_zone(
    zone: Zone, spark: SparkSession
) -> None:
    mirror = with_history(zone, spark, zonelessTimestamps="ntz")
    zone.put("t", 1, {"id": [1]})
    apply_both(mirror)
    shutil.rmtree(zone.folder("t"))
    zone.metadata("t", KEYED)
    zone.put("t", 1, {"id": [2], "at": [datetime(2026, 1, 2)]})  # noqa: DTZ001 - without a zone
    apply_both(mirror)
    kept = {row["id"]: (row["at"], row["_is_current"]) for row in mirror.rows("_history/t")}
    assert kept == {1: (None, False), 2: (datetime(2026, 1, 2), True)}  # noqa: DTZ001


@pytest.mark.parametrize(
    "small_batch", [pytest.param(0, marks=pytest.mark.soak), EVERY_PATH.small_batch]
)
def test_files_without_rows_need_no_key_column_though_none_has_had_it(
    zone: Zone, spark: SparkSession, small_batch: int
) -> None:
    mirror = with_history(zone, spark, Paths(small_batch=small_batch))
    nothing = pa.array([], pa.string())
    zone.put("t", 1, {"v": nothing})
    apply_both(mirror)
    zone.put("t", 2, {"__rowMarker__": pa.array([], pa.int32()), "w": nothing})
    apply_both(mirror)
    assert log_of(mirror, "t").schema.names == ("v", "w")
    zone.put("t", 3, {"__rowMarker__": [4], "id": [1], "v": ["a"]})
    apply_both(mirror)
    assert mirror.rows("t") == [{"id": 1, "v": "a", "w": None}]
