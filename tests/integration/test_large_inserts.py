"""Large batches of inserts are written by this process, and land once or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from openmirror.columnar import large_inserts
from openmirror.plan.decisions import Idle
from openmirror.ports import CommitResult, Transaction
from openmirror.protocol.names import TablePath, table_name
from openmirror.protocol.sequence import FENCED
from openmirror.reconcile.reconciliation import reconcile
from openmirror.spark import direct_commits
from openmirror.spark.altering import set_properties
from openmirror.spark.delta_transaction import DeltaTransaction
from openmirror.spark.engine import SparkEngine
from openmirror.spark.new_data_files import DataFolder
from openmirror.spark.transacting import fresh_session
from openmirror.table import layout
from tests.harness.meanwhile import once_before
from tests.integration.test_commit_paths import DELETE, INSERT, Patch
from tests.integration.test_direct_commits import Direct
from tests.integration.test_policies import log_of
from tests.zone import MIRROR, Mirror

DONE = CommitResult.DONE
Moment = Callable[[Patch, Callable[[], None]], None]


@pytest.fixture
def table(mirror: Mirror, monkeypatch: Patch) -> Direct:
    """A table that is too large to be written whole, and whose batches are too large to be held."""
    found = Direct(mirror, monkeypatch)
    found.most_bytes, found.small_table = 1, 1
    found.mirror.engine = found.another()
    found.apply((INSERT, 0, "first"))
    return found


def when_put(patch: Patch, act: Callable[[], None]) -> None:
    """Do something once, when a commit has found its table and is about to put its first file."""
    once_before(patch, DataFolder, "put", act)


def when_committed(patch: Patch, act: Callable[[], None]) -> None:
    """Do something once, when all is put and Delta is about to commit it."""
    once_before(patch, DeltaTransaction, "commit", act)


def test_inserts_are_written_here_with_and_without_markers(table: Direct) -> None:
    table.apply(*[(INSERT, at, "a") for at in range(100)])
    table.last += 1
    # Not all columns of the table, and in a type that is not yet its own.
    table.mirror.zone.put("t", table.last, pa.table({"ID": pa.array([7, None], pa.int32())}))
    assert isinstance(table.mirror.reconcile_until_idle("t"), Idle)
    assert table.written == [DONE, DONE]
    found = DeltaTable(str(table.path))
    assert len(found.file_uris()) == 3
    rows = [(row["id"], row["v"]) for row in table.mirror.rows("t")]
    assert sorted(row for row in rows if row[1]) == [(0, "a"), (0, "first")] + [
        (at, "a") for at in range(1, 100)
    ]
    assert {row for row in rows if not row[1]} == {(7, None), (None, None)}
    assert len(rows) == 103
    [newest] = found.history(1)
    assert newest["operationParameters"]["mode"] == "Append"
    assert newest["operationMetrics"]["numOutputRows"] == "2"


def test_days_of_long_ago_are_those_that_their_writer_meant(table: Direct) -> None:
    day = pa.table({"id": pa.array([1], pa.int64()), "day": pa.array([-354_280], pa.date32())})
    of_spark_2 = day.replace_schema_metadata({"org.apache.spark.version": "2.4.8"})
    for number, rows in enumerate((day, day, of_spark_2), start=2):
        table.mirror.zone.put("t", number, rows)
        assert isinstance(table.mirror.reconcile_until_idle("t"), Idle)
    # The first one adds the column; and Spark 2 counted by the Julian calendar.
    assert table.written == [DONE]
    days = sorted(str(row["day"]) for row in table.mirror.rows("t") if row["day"])
    assert days == ["1000-01-01", "1000-01-06", "1000-01-06"]


def test_one_row_that_is_none_leaves_its_batch_to_spark_and_for_some_time_those_behind_it(
    table: Direct, monkeypatch: Patch
) -> None:
    table.apply(*[(INSERT, at, "a") for at in range(1, 100)], (DELETE, 0, ""))
    table.apply((INSERT, 100, "b"))
    assert table.written == []
    monkeypatch.setattr(direct_commits, "_VAIN_FOR", 0.0)
    table.apply((INSERT, 101, "c"))
    assert table.written == [DONE]
    assert table.rows == [(at, "a") for at in range(1, 100)] + [(100, "b"), (101, "c")]


@pytest.mark.parametrize(("then", "ends"), [(when_put, DONE), (when_committed, None)])
def test_a_fence_that_lands_before_the_commit_keeps_the_batch_out(
    table: Direct, monkeypatch: Patch, then: Moment, ends: CommitResult | None
) -> None:
    log, other = log_of(table.mirror, "t"), table.another()
    assert log.live is not None
    fence = Transaction(log.live[0].app_id, FENCED)
    path = layout.delta_table(MIRROR, table_name(TablePath.parse("t"), "dbo"))
    then(monkeypatch, lambda: other.commit_without_rows(path, fence))
    table.land((INSERT, 1, "c"))
    reconcile(table.mirror.ports, table.mirror.engine, table.mirror.table("t"))
    # Delta finds a conflict, or the fence was there before it began and there is nothing to do.
    assert table.written == [ends]
    assert table.rows == [(0, "first")]


@pytest.mark.parametrize("then", [when_put, when_committed])
def test_a_batch_that_another_runner_commits_meanwhile_lands_once(
    table: Direct, monkeypatch: Patch, then: Moment
) -> None:
    other = table.another()
    table.land((INSERT, 1, "c"))
    then(monkeypatch, lambda: reconcile(table.mirror.ports, other, table.mirror.table("t")))
    assert isinstance(table.mirror.reconcile_until_idle("t"), Idle)
    assert table.written == [None, DONE]
    assert table.rows == [(0, "first"), (1, "c")]


def test_a_log_that_takes_the_place_of_another_while_files_are_put_gets_none_of_them(
    table: Direct, monkeypatch: Patch
) -> None:
    """It is as long as the one before, so Delta would see no conflict."""

    def replaced() -> None:
        log = table.path / "_delta_log"
        for checksum in [*log.glob("*.crc"), *log.glob(".*.crc")]:
            checksum.unlink()
        for commit in log.glob("*.json"):
            text = commit.read_text().replace(before, "the-id-of-another-table")
            commit.write_text(text)

    before = log_of(table.mirror, "t").table_id
    files = set(table.path.glob("*.parquet"))
    when_put(monkeypatch, replaced)
    table.land((INSERT, 1, "c"))
    reconcile(table.mirror.ports, table.mirror.engine, table.mirror.table("t"))
    assert table.written == [CommitResult.CONFLICT]
    assert set(table.path.glob("*.parquet")) == files
    assert table.rows == [(0, "first")]


def test_a_table_that_is_another_kind_by_the_commit_is_left_to_spark(
    table: Direct, monkeypatch: Patch
) -> None:
    read, feed = SparkEngine.read, {"delta.enableChangeDataFeed": "true"}

    def then_altered(*of: Any) -> Any:
        found = read(*of)
        set_properties(fresh_session(table.mirror.spark), str(table.path), feed)
        return found

    monkeypatch.setattr(SparkEngine, "read", then_altered)
    table.apply((INSERT, 1, "c"), (INSERT, 1, "c"))
    assert table.written == [CommitResult.CONFLICT]
    assert table.rows == [(0, "first"), (1, "c"), (1, "c")]


@pytest.mark.parametrize("gone", [1, 2])
def test_of_files_that_cannot_all_be_put_none_stays(
    table: Direct, monkeypatch: Patch, gone: int
) -> None:
    """A cleaner of temporary files took one of them."""
    monkeypatch.setattr(large_inserts, "_LEAST", 1)
    put = DataFolder.put

    def without_one(place: DataFolder, *paths: Path) -> bool:
        monkeypatch.setattr(DataFolder, "put", put)
        paths[gone - 1].unlink()
        return put(place, *paths)

    table.land((INSERT, 1, "c"))
    table.land((INSERT, 2, "d"))
    before = set(table.path.glob("*.parquet"))
    monkeypatch.setattr(DataFolder, "put", without_one)
    reconcile(table.mirror.ports, table.mirror.engine, table.mirror.table("t"))
    assert table.written == [None]
    assert set(table.path.glob("*.parquet")) == before
    assert isinstance(table.mirror.reconcile_until_idle("t"), Idle)
    assert table.written == [None, DONE]
    assert table.rows == [(0, "first"), (1, "c"), (2, "d")]


def test_a_table_that_goes_before_the_commit_does_not_come_back(
    table: Direct, tmp_path: Path, monkeypatch: Patch
) -> None:
    when_put(monkeypatch, lambda: shutil.move(table.path, tmp_path / "gone"))
    table.land((INSERT, 1, "c"))
    reconcile(table.mirror.ports, table.mirror.engine, table.mirror.table("t"))
    assert table.written == [CommitResult.MISSING]
    assert not list(table.path.rglob("*")), "another table began at its place"
    shutil.rmtree(table.path, ignore_errors=True)
    shutil.move(tmp_path / "gone", table.path)
    assert isinstance(table.mirror.reconcile_until_idle("t"), Idle)
    assert table.rows == [(0, "first"), (1, "c")]
