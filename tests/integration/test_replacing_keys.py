"""Upserts into a large table replace rows by their keys, exactly where that is a MERGE's result."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from openmirror.plan.decisions import Idle
from openmirror.plan.transitions.maintained import asked_for, with_maintenance
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.maintaining import maintain_table
from openmirror.reconcile.reconciliation import reconcile
from openmirror.spark import engine, replacing_keys
from openmirror.spark.choosing import Commit
from openmirror.spark.engine import SparkEngine
from tests.integration.test_commit_paths import (
    DELETE,
    INSERT,
    UPDATE,
    UPSERT,
    Patch,
    Watched,
    a_foreign_row,
    changes,
)
from tests.integration.test_policies import log_of, settings
from tests.zone import Mirror, Paths

FAR = 1_000
"""Apart, keys are not beside each other: a batch of few would else be merged by its bounds."""


BY_SPARK, FOLDED_HERE = Paths(0, 0), Paths(small_table=0)


@pytest.fixture
def table(request: pytest.FixtureRequest, mirror: Mirror, monkeypatch: Patch) -> Watched:
    paths = getattr(request, "param", BY_SPARK)
    mirror.engine = paths.engine(mirror.spark, mirror.zone.root, mirror.ports.store)
    settings(mirror.zone, deletionVectors=True)
    return Watched(mirror, monkeypatch)


def upserts(table: Watched, *values: str, step: int = FAR) -> None:
    table.apply(*((UPSERT, at * step, value) for at, value in enumerate(values)))


@pytest.mark.parametrize("table", [BY_SPARK, FOLDED_HERE], indirect=True, ids=str)
def test_upserts_of_unique_keys_need_no_merge_until_a_key_may_be_there_twice(
    table: Watched,
) -> None:
    upserts(table, "a", "b", "c")
    table.apply(
        (UPDATE, FAR, "B"), (UPSERT, 2 * FAR, "x"), (UPDATE, 2 * FAR, "C"), (UPSERT, 7, "new")
    )
    table.apply((DELETE, 0, ""), (UPSERT, 9 * FAR, "d"))
    upserts(table, "A", "BB")
    assert table.chosen == [
        Commit.REPLACE, Commit.REPLACE_KEYS, Commit.MERGE, Commit.REPLACE_KEYS
    ]  # fmt: skip
    rows = [(0, "A"), (7, "new"), (FAR, "BB"), (2 * FAR, "C"), (9 * FAR, "d")]
    assert table.rows == rows
    newest = DeltaTable(str(table.path)).history(1)[0]
    assert newest["operation"] == "WRITE"
    # A row that is only added may be a key's second, and an update then changes both.
    table.apply((INSERT, 0, "twin"))
    upserts(table, "both", "b", "c")
    assert table.chosen[-2:] == [Commit.APPEND, Commit.MERGE]
    assert [row for row in table.rows if row[0] == 0] == [(0, "both"), (0, "both")]
    # Keys that are NULL, or beside each other.
    table.apply((DELETE, 0, ""))
    assert not log_of(table.mirror, "t").has_unique_keys


def test_null_keys_and_keys_beside_each_other_are_merged(table: Watched) -> None:
    upserts(table, "a", "b", "c")
    table.apply((UPSERT, None, "null"), (UPSERT, FAR, "B"))
    table.apply((UPSERT, None, "NULL"), (UPSERT, 5 * FAR, "f"))
    upserts(table, "A", "next", step=1)
    assert table.chosen == [Commit.REPLACE, Commit.MERGE, Commit.MERGE, Commit.MERGE]
    assert table.rows == [
        (0, "A"), (1, "next"), (FAR, "B"), (2 * FAR, "c"), (5 * FAR, "f"), (None, "NULL")
    ]  # fmt: skip
    # The keys of the table may be NULL: those of the batch are not.
    upserts(table, "AA", "BB")
    assert table.chosen[-1] is Commit.REPLACE_KEYS
    assert table.rows[-1] == (None, "NULL")


def test_a_new_column_is_merged_and_a_missing_one_becomes_null(table: Watched) -> None:
    upserts(table, "a", "b")
    more = changes((UPSERT, 0, "A"), (UPSERT, 3 * FAR, "d"))
    for file in (more.append_column("n", pa.array([7, 8], pa.int32())), more):
        table.last += 1
        table.mirror.zone.put("t", table.last, file)
        assert isinstance(table.mirror.reconcile_until_idle("t"), Idle)
    assert table.chosen == [Commit.REPLACE, Commit.MERGE, Commit.REPLACE_KEYS]
    found = sorted((r["id"], r["v"], r["n"]) for r in table.mirror.rows("t"))
    assert found == [(0, "A", None), (FAR, "b", None), (3 * FAR, "d", None)]


def test_rows_that_are_replaced_have_the_place_of_what_replaced_them(table: Watched) -> None:
    settings(table.mirror.zone, deletionVectors=True, lineage=True)
    upserts(table, "a", "b", "c")
    table.apply((UPDATE, FAR, "B"), (UPSERT, 9 * FAR, "d"))
    assert table.chosen == [Commit.REPLACE, Commit.REPLACE_KEYS]
    found = sorted(
        (r["id"], r["_sequence"], r["_row"], r["_operation"]) for r in table.mirror.rows("t")
    )
    assert found == [
        (0, 1, 1, "upsert"), (FAR, 2, 1, "update"), (2 * FAR, 1, 3, "upsert"),
        (9 * FAR, 2, 2, "upsert"),
    ]  # fmt: skip


def when_chosen(patch: Patch, act: Callable[[], None]) -> None:
    """Do something once, between the choice of the commit and its beginning."""
    inner = engine.replace_keys

    def later(*given: Any) -> None:
        patch.setattr(engine, "replace_keys", inner)
        act()
        inner(*given)

    patch.setattr(engine, "replace_keys", later)


def test_a_commit_that_lands_before_keys_are_replaced_is_not_lost(
    table: Watched, monkeypatch: Patch
) -> None:
    upserts(table, "a", "b")
    when_chosen(monkeypatch, lambda: a_foreign_row(table))
    upserts(table, "A", "B", "C")
    assert table.rows == [(0, "A"), (50, "foreign"), (FAR, "B"), (2 * FAR, "C")]
    assert table.chosen[-1] is Commit.REPLACE_KEYS
    # A stranger's row may be a key's second: nothing is known of the keys any more.
    a_foreign_row(table)
    table.apply((UPDATE, 50, "both"), (UPSERT, 9 * FAR, "d"))
    assert table.chosen[-1] is Commit.MERGE
    assert [row for row in table.rows if row[0] == 50] == [(50, "both"), (50, "both")]


def test_a_commit_that_lands_while_keys_are_replaced_is_a_conflict(
    table: Watched, monkeypatch: Patch
) -> None:
    upserts(table, "a", "b")
    inner = engine.replace_keys

    def once(session: Any, rows: Any, *rest: Any) -> None:
        monkeypatch.setattr(engine, "replace_keys", inner)
        from pyspark.sql import functions as F
        from pyspark.sql.types import LongType

        path = str(table.path)

        def land(value: int) -> int:
            from pathlib import Path

            import pyarrow as pa
            from deltalake import write_deltalake

            if not Path(path + ".landed").exists():
                Path(path + ".landed").touch()
                row = pa.table({"id": pa.array([50], pa.int64()), "v": ["foreign"]})
                write_deltalake(path, row, mode="append")
            return value

        landing = F.udf(land, LongType(), useArrow=False)
        # Computed inside the transaction, where the rows are not held before it.
        monkeypatch.setattr(replacing_keys, "held", nullcontext)
        inner(session, rows.withColumn("c0", landing(F.col("c0"))), *rest)

    monkeypatch.setattr(engine, "replace_keys", once)
    upserts(table, "A", "B")
    assert (table.path.parent / "t.landed").exists()
    assert len(table.chosen) > 2, "the first attempt was no conflict"
    assert table.rows == [(0, "A"), (50, "foreign"), (FAR, "B")]


def test_a_table_that_goes_before_its_keys_are_replaced_does_not_come_back(
    table: Watched, monkeypatch: Patch, tmp_path: Path
) -> None:
    upserts(table, "a", "b")
    when_chosen(monkeypatch, lambda: shutil.move(table.path, tmp_path / "gone"))
    table.land((UPSERT, 0, "A"), (UPSERT, FAR, "B"))
    reconcile(table.mirror.ports, table.mirror.engine, table.mirror.table("t"))
    assert not (table.path / "_delta_log").exists()


def test_names_that_sql_would_read_otherwise_are_names(table: Watched) -> None:
    mirror = table.mirror
    mirror.zone.metadata("t", {"keyColumns": ["i`d, x", "s.k"]})
    for value in ("old", "new"):
        table.last += 1
        rows = {
            "__rowMarker__": pa.array([UPSERT, UPSERT], pa.int32()),
            "I`D, x": pa.array([1, FAR], pa.int64()),
            "s.k": ["p", "q"],
            "t.`v`": [value, "other"],
        }
        mirror.zone.put("t", table.last, pa.table(rows))
        assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    assert table.chosen == [Commit.REPLACE, Commit.REPLACE_KEYS]
    assert sorted(tuple(row.values()) for row in mirror.rows("t")) == [
        (1, "p", "new"), (FAR, "q", "other")
    ]  # fmt: skip


def test_maintenance_asks_a_table_whether_its_keys_are_unique(table: Watched) -> None:
    mirror = table.mirror
    table.apply(*((INSERT, at * FAR, "a") for at in range(3)))

    def maintain() -> bool | None:
        documents, folder = Documents(mirror.ports.store), mirror.table("t")
        stored, at = documents.table(folder), mirror.ports.clock()
        asked = with_maintenance(
            stored.value, lambda known: asked_for(known, at, "ann", full=False)
        )
        documents.save_table(folder, asked, stored.etag)
        while maintain_table(mirror.ports, mirror.engine, folder):
            pass
        known = mirror.observed("t").control.maintenance
        assert known is not None
        return known.keys.unique if known.keys else None

    upserts(table, "A", "B")
    assert table.chosen[-1] is Commit.MERGE
    assert maintain() is True
    upserts(table, "AA", "BB")
    upserts(table, "AAA", "BBB")
    assert table.chosen[-2:] == [Commit.REPLACE_KEYS, Commit.REPLACE_KEYS]
    assert table.rows == [(0, "AAA"), (FAR, "BBB"), (2 * FAR, "a")]
    # One key twice, of which NULL may be one.
    table.apply((INSERT, None, "n"), (INSERT, None, "n"))
    upserts(table, "A", "B")
    assert maintain() is False
    assert isinstance(mirror.engine, SparkEngine)
    assert mirror.engine.has_unique_keys(mirror.observed("t").table, ("v",), 0) is None


def test_rows_stay_whatever_interface_delta_is_set_to_and_a_delta_that_knows_no_such_commit_merges(
    table: Watched, monkeypatch: Patch
) -> None:
    upserts(table, "a", "b", "c")
    inner = engine.replace_keys

    def by_the_first_interface(session: SparkSession, *rest: Any) -> None:
        session.conf.set("spark.sql.sources.useV1SourceList", "delta,parquet")
        inner(session, *rest)

    monkeypatch.setattr(engine, "replace_keys", by_the_first_interface)
    upserts(table, "A", "B")
    assert table.rows == [(0, "A"), (FAR, "B"), (2 * FAR, "c")]
    monkeypatch.setattr(replacing_keys, "_COMMAND", "com.example.NoSuchCommand")
    upserts(table, "AA", "BB")
    assert table.chosen == [Commit.REPLACE, Commit.REPLACE_KEYS, Commit.MERGE]
    assert table.rows == [(0, "AA"), (FAR, "BB"), (2 * FAR, "c")]
