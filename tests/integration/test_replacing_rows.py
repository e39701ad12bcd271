"""Changes of a large table mark rows where they lie, exactly where that is a MERGE's result."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame

from openmirror.plan.decisions import Idle
from openmirror.reconcile.reconciliation import reconcile
from openmirror.spark import delta_transaction, engine
from openmirror.spark.altering import set_properties
from openmirror.spark.choosing import Commit
from openmirror.spark.deletion_vectors import FilesRead
from tests.harness.meanwhile import once_before
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
from tests.integration.test_direct_commits import another_log
from tests.integration.test_policies import settings
from tests.zone import Mirror, Paths

BY_SPARK, FOLDED_HERE = Paths(0, 0), Paths(small_table=0)


@pytest.fixture
def table(request: pytest.FixtureRequest, mirror: Mirror, monkeypatch: Patch) -> Watched:
    paths = getattr(request, "param", BY_SPARK)
    mirror.engine = paths.engine(mirror.spark, mirror.zone.root, mirror.ports.store)
    settings(mirror.zone, deletionVectors=True)
    return Watched(mirror, monkeypatch)


def upserts(table: Watched, *values: str) -> None:
    table.apply(*((UPSERT, at, value) for at, value in enumerate(values)))


def newest_actions(table: Watched, kind: str) -> list[dict[str, Any]]:
    newest = max((table.path / "_delta_log").glob("*.json"))
    actions = map(json.loads, newest.read_text().splitlines())
    return [action[kind] for action in actions if kind in action]


@pytest.mark.parametrize("table", [BY_SPARK, FOLDED_HERE], indirect=True, ids=str)
def test_every_kind_of_change_and_key_comes_to_what_a_merge_makes_of_it(table: Watched) -> None:
    table.apply(
        (INSERT, 1, "a"), (INSERT, 1, "b"), (INSERT, 2, "c"), (INSERT, None, "n"), (INSERT, 3, "d"),
        (INSERT, 4, "e"), (INSERT, None, "m"),
    )  # fmt: skip
    [file] = newest_actions(table, "add")
    table.apply(
        (UPDATE, 1, "x"), (UPDATE, 1, "both"), (DELETE, 2, ""), (UPSERT, None, "null"),
        (INSERT, 4, "twin"), (UPSERT, 5, "new"), (DELETE, 8, ""), (INSERT, 9, "y"),
        (UPDATE, 9, "z"), (DELETE, 3, ""), (UPSERT, 3, "again"),
    )  # fmt: skip
    rows = [
        (1, "both"), (1, "both"), (3, "again"), (4, "e"), (4, "twin"), (5, "new"), (9, "z"),
        (None, "null"), (None, "null"),
    ]  # fmt: skip
    assert table.rows == rows
    marked = {one["path"]: one["deletionVector"] for one in newest_actions(table, "add")
              if one.get("deletionVector")}  # fmt: skip
    assert {path: one["cardinality"] for path, one in marked.items()} == {file["path"]: 6}
    # Rows of a file that has a vector already, until none is left of it.
    table.apply((UPDATE, 4, "E"), (DELETE, None, ""), (UPDATE, 7, "nothing"))
    gone = newest_actions(table, "remove")
    assert file["path"] in {one["path"] for one in gone}
    assert file["path"] not in {one["path"] for one in newest_actions(table, "add")}
    after = [(1, "both"), (1, "both"), (3, "again"), (4, "E"), (4, "E"), (5, "new"), (7, "nothing"),
             (9, "z")]  # fmt: skip
    assert table.rows == after
    # Nothing that goes, and nothing that comes.
    table.apply((DELETE, 77, ""))
    table.apply((DELETE, 9, ""))
    assert table.rows == after[:-1]
    assert table.chosen == [Commit.REPLACE, *[Commit.REPLACE_ROWS] * 4]
    assert DeltaTable(str(table.path)).history(1)[0]["operation"] == "WRITE"


def test_files_that_cannot_have_a_key_of_the_batch_are_not_read(
    table: Watched, monkeypatch: Patch
) -> None:
    table.apply((INSERT, 0, "a"), (INSERT, 1, "a"))
    table.apply((INSERT, 1000, "a"), (INSERT, 1001, "a"))
    [late] = newest_actions(table, "add")
    read: list[str] = []
    rows = FilesRead.rows

    def seen(files: FilesRead) -> DataFrame:
        found = rows(files)
        read.extend(Path(uri).name for uri in found.inputFiles())
        return found

    monkeypatch.setattr(FilesRead, "rows", seen)
    table.apply((UPDATE, 1000, "b"), (DELETE, 1001, ""))
    assert table.chosen == [Commit.REPLACE, Commit.APPEND, Commit.REPLACE_ROWS]
    assert read == [late["path"]]
    assert table.rows == [(0, "a"), (1, "a"), (1000, "b")]


def test_a_new_column_is_merged_and_a_missing_one_becomes_null(table: Watched) -> None:
    upserts(table, "a", "b")
    more = changes((UPSERT, 0, "A"), (UPSERT, 3, "d"))
    for file in (more.append_column("n", pa.array([7, 8], pa.int32())), more):
        table.last += 1
        table.mirror.zone.put("t", table.last, file)
        assert isinstance(table.mirror.reconcile_until_idle("t"), Idle)
    assert table.chosen == [Commit.REPLACE, Commit.MERGE, Commit.REPLACE_ROWS]
    found = sorted((r["id"], r["v"], r["n"]) for r in table.mirror.rows("t"))
    assert found == [(0, "A", None), (1, "b", None), (3, "d", None)]


def test_a_merge_that_finds_no_row_of_a_null_key_finds_none(table: Watched) -> None:
    upserts(table, "a", "b")
    more = changes((DELETE, None, ""), (UPSERT, 0, "A"))
    table.last += 1
    table.mirror.zone.put("t", table.last, more.append_column("n", pa.array([7, 8], pa.int32())))
    assert isinstance(table.mirror.reconcile_until_idle("t"), Idle)
    assert table.chosen == [Commit.REPLACE, Commit.MERGE]
    assert table.rows == [(0, "A"), (1, "b")]


def test_rows_that_are_replaced_have_the_place_of_what_replaced_them(table: Watched) -> None:
    settings(table.mirror.zone, deletionVectors=True, lineage=True)
    upserts(table, "a", "b", "c")
    table.apply((UPDATE, 1, "B"), (UPSERT, 9, "d"))
    assert table.chosen == [Commit.REPLACE, Commit.REPLACE_ROWS]
    found = sorted(
        (r["id"], r["_sequence"], r["_row"], r["_operation"]) for r in table.mirror.rows("t")
    )
    assert found == [(0, 1, 1, "upsert"), (1, 2, 1, "update"), (2, 1, 3, "upsert"),
                     (9, 2, 2, "upsert")]  # fmt: skip


def when_chosen(patch: Patch, act: Callable[[], None]) -> None:
    """Do something once, between the choice of the commit and its beginning."""
    once_before(patch, engine, "replace_rows", act)


def test_a_commit_that_lands_before_rows_are_replaced_is_not_lost(
    table: Watched, monkeypatch: Patch
) -> None:
    upserts(table, "a", "b")
    when_chosen(monkeypatch, lambda: a_foreign_row(table))
    table.apply((UPSERT, 0, "A"), (UPSERT, 50, "both"), (UPSERT, 2, "C"))
    assert table.chosen == [Commit.REPLACE, Commit.REPLACE_ROWS]
    assert table.rows == [(0, "A"), (1, "b"), (2, "C"), (50, "both")]
    a_foreign_row(table)
    table.apply((UPDATE, 50, "twice"), (UPSERT, 9, "d"))
    assert [row for row in table.rows if row[0] == 50] == [(50, "twice"), (50, "twice")]


def compaction(table: Watched) -> None:
    table.mirror.spark.newSession().sql(f"OPTIMIZE delta.`{table.path}`").collect()
    old = DeltaTable(str(table.path))
    assert old.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)


@pytest.mark.parametrize("act", [a_foreign_row, pytest.param(compaction, marks=pytest.mark.soak)])
def test_a_commit_that_lands_while_rows_are_replaced_is_a_conflict(
    table: Watched, monkeypatch: Patch, act: Callable[[Watched], None]
) -> None:
    upserts(table, "a", "b")
    table.apply((INSERT, 7, "h"))
    with ThreadPoolExecutor() as others:
        # On a thread of its own: which session is active is an affair of each.
        once_before(monkeypatch, FilesRead, "without", lambda: others.submit(act, table).result())
        table.apply((UPSERT, 0, "A"), (DELETE, 7, ""))
    assert len(table.chosen) == 4, "the first attempt was no conflict"
    foreign = [(50, "foreign")] if act is a_foreign_row else []
    assert table.rows == [(0, "A"), (1, "b"), *foreign]


def test_another_table_that_comes_to_its_place_while_rows_are_replaced_gets_none_of_them(
    table: Watched, monkeypatch: Patch, tmp_path: Path
) -> None:
    monkeypatch.setattr(delta_transaction, "_BRIEFLY", 0.0)
    upserts(table, "a", "b")
    once_before(monkeypatch, FilesRead, "without", lambda: another_log(table, tmp_path / "gone"))
    table.land((UPSERT, 0, "A"))
    reconcile(table.mirror.ports, table.mirror.engine, table.mirror.table("t"))
    assert table.chosen[-1] is Commit.REPLACE_ROWS
    assert set(table.rows) == {(50, "foreign")}


def test_a_table_that_goes_before_its_rows_are_replaced_does_not_come_back(
    table: Watched, monkeypatch: Patch, tmp_path: Path
) -> None:
    upserts(table, "a", "b")
    when_chosen(monkeypatch, lambda: shutil.move(table.path, tmp_path / "gone"))
    table.land((UPSERT, 0, "A"), (UPSERT, 1, "B"))
    reconcile(table.mirror.ports, table.mirror.engine, table.mirror.table("t"))
    assert not (table.path / "_delta_log").exists()


@pytest.mark.parametrize(
    "given",
    [
        {"delta.enableChangeDataFeed": "True"},
        {"delta.enableDeletionVectors": "false"},
        pytest.param({"delta.enableRowTracking": "true"}, marks=pytest.mark.soak),
    ],
    ids=str,
)
def test_a_table_that_becomes_another_one_before_its_rows_are_replaced_is_merged(
    table: Watched, monkeypatch: Patch, given: dict[str, str]
) -> None:
    upserts(table, "a", "b")
    spark, path = table.mirror.spark, str(table.path)
    when_chosen(monkeypatch, lambda: set_properties(spark, path, given))
    table.apply((UPSERT, 0, "A"), (DELETE, 1, ""))
    assert table.rows == [(0, "A")]
    assert DeltaTable(path).history(1)[0]["operation"] == "MERGE"


def test_names_that_sql_would_read_otherwise_or_that_are_ours_are_names(table: Watched) -> None:
    mirror = table.mirror
    mirror.zone.metadata("t", {"keyColumns": ["i`d, x", "s.k"]})
    for ids in ([1, 2], [1]):
        table.last += 1
        texts = [f"{table.last}"] * len(ids)
        rows = {
            "__rowMarker__": pa.array([UPSERT] * len(ids), pa.int32()),
            "I`D, x": pa.array(ids, pa.int64()),
            "s.k": ["p"] * len(ids),
            "t.`v`": texts,
            "number": texts,
            "file": texts,
        }
        mirror.zone.put("t", table.last, pa.table(rows))
        assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    assert table.chosen == [Commit.REPLACE, Commit.REPLACE_ROWS]
    assert sorted(tuple(row.values()) for row in mirror.rows("t")) == [
        (1, "p", "2", "2", "2"), (2, "p", "1", "1", "1")
    ]  # fmt: skip


def test_a_column_that_hides_where_rows_lie_ends_deletion_vectors(table: Watched) -> None:
    upserts(table, "a", "b", "c")
    table.apply((UPSERT, 0, "A"))
    for _ in range(2):
        table.last += 1
        file = changes((UPSERT, 1, "B")).append_column("_metadata", pa.array(["m"]))
        table.mirror.zone.put("t", table.last, file)
        assert isinstance(table.mirror.reconcile_until_idle("t"), Idle)
    assert table.chosen == [
        Commit.REPLACE, Commit.REPLACE_ROWS, Commit.REWRITE, Commit.MERGE
    ]  # fmt: skip
    found = table.mirror.spark.read.format("delta").load(str(table.path)).collect()
    assert sorted(tuple(row) for row in found) == [
        (0, "A", None), (1, "B", "m"), (2, "c", None)
    ]  # fmt: skip


def test_where_delta_is_another_one_rows_are_merged(
    table: Watched, mirror: Mirror, monkeypatch: Patch
) -> None:
    upserts(table, "a", "b", "c")
    monkeypatch.setattr(engine, "is_known", lambda _: False)
    mirror.engine = BY_SPARK.engine(mirror.spark, mirror.zone.root, mirror.ports.store)
    upserts(table, "A", "B")
    assert table.chosen == [Commit.REPLACE, Commit.MERGE]
    assert table.rows == [(0, "A"), (1, "B"), (2, "c")]
