"""Folders that go or come again under a runner that reads them, and the ways back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import openmirror.spark.engine as spark_engine
from openmirror.deltalog import LogReplay
from openmirror.errors import WrongRequest
from openmirror.operate.requests import Operator, reseed, undrop
from openmirror.plan.decisions import Held, Idle, Wait, WaitKind
from openmirror.ports import Step, Transaction
from openmirror.protocol.names import TableName
from openmirror.protocol.schema import Column, TableSchema
from openmirror.protocol.sequence import FENCED
from openmirror.reconcile.clean import clean_table
from openmirror.spark.committing import create_empty
from openmirror.table import layout
from openmirror.table.log import AppId
from openmirror.table.phases import Phase
from tests.harness.dying import Killed, dies_at
from tests.harness.publishing import file_name
from tests.integration.test_policies import log_of
from tests.zone import MIRROR, Mirror, Paths, Zone, read_delta

ME = Operator("me", "by mistake")
FILES = 6


def _rows(*ids: int) -> dict[str, Any]:
    return {"id": list(ids), "v": [f"value {n}" for n in ids]}


def _ids(mirror: Mirror) -> list[int]:
    return sorted(row["id"] for row in mirror.rows("t"))


def _delete(zone: Zone) -> None:
    shutil.rmtree(zone.folder("t"))


def _make_again(zone: Zone) -> None:
    _delete(zone)
    zone.put("t", 1, _rows(*range(100, 200)))
    zone.put("t", 2, _rows(7))


def test_a_table_is_made_where_a_writer_died_before_its_first_commit(
    zone: Zone, mirror: Mirror
) -> None:
    zone.put("t", 1, _rows(1, 2))
    left = mirror.delta_path("t") / "part-00000-of-a-dead-writer.parquet"
    left.parent.mkdir(parents=True)
    shutil.copy(zone.folder("t") / file_name(1), left)
    assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    assert _ids(mirror) == [1, 2]
    assert left.exists()


def _died_at_its_data_file(place: Path) -> None:
    (place / "_delta_log").mkdir(parents=True)
    (place / "part-00000-of-a-dead-writer.parquet").write_bytes(b"PAR1")


def _died_at_its_log_entry(place: Path) -> None:
    _died_at_its_data_file(place)
    (place / "_delta_log" / f".{0:020d}.json.of-a-dead-writer.tmp").write_bytes(b'{"commitInfo":')


@pytest.mark.parametrize("died", [Path.mkdir, _died_at_its_data_file, _died_at_its_log_entry])
def test_a_folder_that_is_made_again_gets_a_table_where_the_first_commit_of_the_one_before_died(
    zone: Zone, mirror: Mirror, died: Callable[[Path], None]
) -> None:
    """The epoch of the dead has to be fenced first, in a log that is not there."""
    zone.put("t", 1, {"a name": [1]})
    with pytest.raises(Killed):
        mirror.with_steps(dies_at(Step.BEFORE_COMMIT)).reconcile_until_idle("t")
    place = mirror.delta_path("t")
    place.parent.mkdir(parents=True)
    died(place)
    _delete(zone)
    zone.put("t", 1, {"a name": [2]})
    assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    assert mirror.rows("t") == [{"a name": 2}]
    epochs = log_of(mirror, "t").epochs.items()
    assert {epoch.number: position for epoch, position in epochs} == {1: FENCED, 2: 1}


def test_a_table_that_somebody_made_meanwhile_is_not_made_again_without_rows(
    mirror: Mirror, tmp_path: Path
) -> None:
    table, theirs = str(tmp_path / "t"), TableSchema((Column("id", "long"), Column("v", "string")))
    mirror.spark.range(3).write.format("delta").save(table)
    with pytest.raises(AnalysisException, match="ALREADY_EXISTS"):
        create_empty(mirror.spark, theirs, table, Transaction(AppId("theirs"), FENCED))
    assert len(read_delta(tmp_path / "t")) == 3


def test_the_log_says_where_the_time_of_each_commit_went(zone: Zone, mirror: Mirror) -> None:
    zone.put("t", 1, _rows(1, 2))
    mirror.reconcile_until_idle("t")
    zone.put("t", 2, _rows(2, 3))
    mirror.reconcile_until_idle("t")
    place = layout.delta_table(MIRROR, TableName("dbo", "t"))
    commits = LogReplay(mirror.ports.store).history(place, 5)
    assert [commit.last for commit in commits] == [2, 1]
    for commit in commits:
        took = commit.all_phases
        assert set(took) == set(Phase)
        assert took[Phase.READ] + took[Phase.COMMIT] > 0
        assert commit.wait_seconds is not None
        assert commit.lag_seconds == pytest.approx(
            commit.wait_seconds + sum(took.values()), abs=0.1
        )


@pytest.mark.parametrize("at", ["before it is opened", "once it is listed"])
@pytest.mark.parametrize("deed", [_delete, _make_again])
def test_a_folder_that_goes_while_spark_reads_it_is_nobodys_problem(
    deed: Callable[[Zone], None],
    at: str,
    zone: Zone,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mirror = Mirror(zone, spark, paths=Paths(small_batch=0))
    zone.put("t", 1, _rows(1))
    mirror.reconcile_until_idle("t")
    for number in range(2, 2 + FILES):
        zone.put("t", number, _rows(number))
    real, reads = spark_engine.read_changes, []

    def read(*words: Any) -> Any:
        reads.append(words)
        is_first = len(reads) == 1
        if is_first and at == "before it is opened":
            deed(zone)
        frame = real(*words)
        if is_first and at == "once it is listed":
            deed(zone)
        return frame

    monkeypatch.setattr(spark_engine, "read_changes", read)
    decision = mirror.reconcile_until_idle("t")
    assert reads
    control = mirror.control("t")
    assert (control.problem, control.failures, control.ended) == (None, None, ())
    if deed is _delete:
        assert isinstance(decision, Wait)
        assert decision.waiting.kind is WaitKind.GRACE
        assert _ids(mirror) == [1], "nothing of what was half read is in the table"
        mirror.reconcile_until_idle("t")
        assert not mirror.delta_path("t").exists()
    else:
        assert isinstance(decision, Idle)
        assert _ids(mirror) == [7, *range(100, 200)]


def test_a_dropped_table_can_be_had_back_until_its_retention_ends(
    zone: Zone, mirror: Mirror
) -> None:
    folder = mirror.table("t")
    zone.put("t", 1, _rows(1, 2))
    zone.put("u", 1, _rows(3))
    mirror.reconcile_all()
    _delete(zone)
    for _ in range(2):
        mirror.reconcile_until_idle("t")
    retained = zone.root / "lake" / "m" / "_openmirror" / "dropped" / "dbo" / "t"

    mirror.clock.turn(timedelta(days=6))
    assert not clean_table(mirror.ports, folder).dropped_removed
    undrop(mirror.ports, folder, ME)
    assert isinstance(mirror.reconcile_until_idle("t"), Held)
    assert _ids(mirror) == [1, 2]
    assert not _contents(retained)

    folder = mirror.table("u")
    shutil.rmtree(zone.folder("u"))
    for _ in range(2):
        mirror.reconcile_until_idle("u")
    mirror.clock.turn(timedelta(days=8))
    assert clean_table(mirror.ports, folder).dropped_removed
    with pytest.raises(WrongRequest, match="no dropped table"):
        undrop(mirror.ports, folder, ME)


def _contents(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.exists() else []


def test_a_reseed_has_the_rows_of_folder_and_archive_again(zone: Zone, mirror: Mirror) -> None:
    zone.metadata("t", {"keyColumns": ["v"]})
    for number in (1, 2, 3):
        zone.put("t", number, {"__rowMarker__": [4], "id": [number % 2], "v": [f"{number}"]})
    mirror.reconcile_until_idle("t")
    clean_table(mirror.ports, mirror.table("t"))
    assert [path.name for path in sorted(zone.folder("t").glob("0*"))] == [f"{3:020d}.parquet"]
    zone.metadata("t", {"keyColumns": ["id"]})
    mirror.reconcile_until_idle("t")
    reseed(mirror.ports, mirror.table("t"), ME)
    assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    assert sorted((row["id"], row["v"]) for row in mirror.rows("t")) == [(0, "2"), (1, "3")]
