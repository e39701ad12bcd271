"""Commits whose data file this process writes are right, whatever comes between and wherever the
table lies."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from openmirror.columnar.large_inserts import LargeInserts
from openmirror.columnar.small_batches import SmallBatches
from openmirror.columnar.small_tables import SmallTables
from openmirror.errors import Unavailable
from openmirror.formats.conversion import FileConverter
from openmirror.plan.decisions import Idle
from openmirror.ports import CommitResult, Transaction, WorkItem
from openmirror.protocol.names import TablePath, table_name
from openmirror.protocol.sequence import FENCED
from openmirror.reconcile.reconciliation import reconcile
from openmirror.spark import committing, delta_log, delta_transaction, engine, new_data_files
from openmirror.spark.altering import set_properties
from openmirror.spark.choosing import Commit
from openmirror.spark.copies import Copies
from openmirror.spark.delta_log import listed_snapshot
from openmirror.spark.direct_commits import DirectCommits
from openmirror.spark.engine import SparkEngine
from openmirror.spark.new_data_files import DataFolder
from openmirror.spark.transacting import fresh_session
from openmirror.stores.azure.queue import StorageWorkQueue
from openmirror.table import layout
from spark_jobs.run import run
from standins.azurite import Azurite
from tests.emulator_server import EndpointServer
from tests.harness.publishing import file_name
from tests.integration.test_commit_paths import (
    DELETE,
    INSERT,
    UPDATE,
    UPSERT,
    Patch,
    Watched,
    a_foreign_row,
)
from tests.integration.test_policies import log_of, settings
from tests.integration.test_runner_process import environment
from tests.spark_accounts import expected, publish, rows_at
from tests.spark_accounts import table as at
from tests.zone import MIRROR, Mirror, Paths, Zone, bag, forget_logs


class Writer(SmallTables):
    """Writes data files; something else happens once, behind its reading of the table."""

    def __init__(self) -> None:
        super().__init__(1 << 27)
        self.during: list[Callable[[], None]] = []

    def added(self, *of: Any) -> Any:
        self._now()
        return super().added(*of)

    def applied(self, *of: Any) -> Any:
        new = super().applied(*of)
        self._now()
        return new

    def _now(self) -> None:
        while self.during:
            self.during.pop()()


class Direct(Watched):
    """One table; of each of its commits is seen whether it was direct: None for a conflict."""

    def __init__(self, mirror: Mirror, patch: Patch) -> None:
        super().__init__(mirror, patch)
        self.writer = Writer()
        self.most_bytes = 1 << 21
        self.small_table = 1 << 24
        self.settings: dict[str, str] = {}
        self.direct: list[bool | None] = []
        self.written: list[CommitResult | None] = []
        self.engine = mirror.engine = self.another()
        every, commit = SparkEngine._commit, DirectCommits.commit
        inserts = SparkEngine._commit_written

        def seen(*of: Any) -> Any:
            self.direct.append(False)
            return every(*of)

        def direct(*of: Any) -> bool:
            self.direct[-1] = None
            self.direct[-1] = commit(*of)
            return self.direct[-1]

        def written(*of: Any) -> CommitResult:
            self.written.append(None)
            self.written[-1] = inserts(*of)
            return self.written[-1]

        patch.setattr(SparkEngine, "_commit", seen)
        patch.setattr(SparkEngine, "_commit_written", written)
        patch.setattr(DirectCommits, "commit", direct)

    def another(self) -> SparkEngine:
        """An engine that knows nothing of what others did."""
        mirror, store = self.mirror, self.mirror.ports.store
        return SparkEngine(
            mirror.spark,
            lambda path: f"{mirror.zone.root}/{path}",
            FileConverter(store),
            # As the product has it; other tests do without, for the sake of new tables.
            {"spark.databricks.delta.allFilesInCrc.enabled": "true", **self.settings},
            small_batches=SmallBatches(store, self.most_bytes, 2, 1 << 21),
            copies=Copies(store),
            large_inserts=LargeInserts(store, 1 << 21),
            small_table=self.small_table,
            small_tables=self.writer,
        )

    @property
    def files(self) -> list[str]:
        return [Path(uri).name for uri in DeltaTable(str(self.path)).file_uris()]


@pytest.fixture
def table(mirror: Mirror, monkeypatch: Patch) -> Direct:
    return Direct(mirror, monkeypatch)


def test_small_batches_are_direct_from_the_second_one_on_and_leave_one_file(table: Direct) -> None:
    table.apply((INSERT, 1, "a"), (INSERT, None, "n"))
    table.apply((UPDATE, 1, "A"), (UPSERT, 2, "b"), (UPSERT, None, "N"), (DELETE, 9, ""))
    table.apply((INSERT, 2, "again"))
    table.apply((UPDATE, 2, "both"), (DELETE, None, ""))
    assert table.direct == [False, True, True, True]
    assert table.rows == [(1, "A"), (2, "both"), (2, "both")]
    [_] = table.files
    table.apply((DELETE, 1, ""), (DELETE, 2, ""))
    assert (table.direct[-1], table.rows, table.files) == (True, [], [])
    # There is nothing to write anew.
    table.apply((UPSERT, 3, "c"))
    assert (table.direct[-1], table.rows) == (False, [(3, "c")])


def test_larger_batches_are_direct_as_well_and_many_small_files_become_one(table: Direct) -> None:
    small, large = [(INSERT, 1, "a")], [(UPSERT, at, "a" * 40) for at in range(100)]
    table.most_bytes = 1_000
    table.mirror.engine = table.another()
    for rows in (small, large, small, small, large):
        table.apply(*rows)
    assert table.direct == [False, True, True, True, True]
    whole, more = Commit.OVERWRITE, Commit.APPEND
    assert table.chosen == [Commit.REPLACE, whole, more, more, whole]
    assert len(table.rows) == 102
    [_] = table.files


def test_large_batches_into_other_tables_are_left_to_spark_unread(
    table: Direct, monkeypatch: Patch
) -> None:
    folded: list[bool] = []
    fold = SmallBatches.fold

    def seen(*of: Any, direct: bool = False) -> Any:
        found = fold(*of, direct=direct)
        folded.append(found is not None)
        return found

    monkeypatch.setattr(SmallBatches, "fold", seen)
    table.most_bytes = 1_000
    upserts = [(UPSERT, at, "a" * 40) for at in range(100)]
    table.mirror.engine = table.another()
    table.apply(*upserts)  # makes the table
    table.small_table = 100
    table.mirror.engine = table.another()
    table.apply(*upserts)  # it is large
    table.small_table = 1 << 24
    table.mirror.engine = table.another()
    settings(table.mirror.zone, deletionVectors=True)
    for _ in range(2):
        table.apply(*upserts)  # it is to get vectors, and has them
    assert folded == [False] * len(folded)
    assert table.direct == [False] * 4
    assert len(table.rows) == 100


def test_what_cannot_be_read_here_is_not_tried_again_for_a_large_batch(
    table: Direct, monkeypatch: Patch
) -> None:
    upserts = [(UPSERT, at, "a" * 40) for at in range(100)]
    table.most_bytes = 1_000
    table.mirror.engine = table.another()
    table.apply(*upserts)
    monkeypatch.setattr(table.writer, "_most", 1_000)
    for _ in range(3):
        table.apply(*upserts)
    assert table.direct == [False] * 4
    # The second one was folded here, in vain.
    assert table.chosen == [Commit.REPLACE, Commit.OVERWRITE, Commit.MERGE, Commit.MERGE]


def test_checkpoints_are_rare_unless_the_table_says_how_often(
    table: Direct, monkeypatch: Patch
) -> None:
    session = fresh_session(table.mirror.spark)

    def apply_through(version: int) -> None:
        while DeltaTable(str(table.path)).version() < version:
            table.apply((INSERT, 1, "a"))

    def checkpoints() -> list[int]:
        found = table.path.glob("_delta_log/*.checkpoint.parquet")
        return sorted(int(one.name.partition(".")[0]) for one in found)

    monkeypatch.setattr(delta_log, "_RARELY", 11)
    table.apply((INSERT, 1, "a"))
    # The tenth version is the eleventh commit; the twentieth is ten behind its checkpoint.
    apply_through(20)
    assert checkpoints() == [10]
    set_properties(session, str(table.path), {"delta.checkpointInterval": "4"})
    apply_through(28)
    assert checkpoints() == [10, 24, 28]
    assert table.direct == [False] + [True] * 27
    assert len(table.rows) == 28


@pytest.mark.parametrize(
    ("by_another", "kind"),
    [
        pytest.param(False, INSERT, id="by Delta, inserts"),
        pytest.param(False, UPSERT, id="by Delta, upserts", marks=pytest.mark.soak),
        pytest.param(True, INSERT, id="by another tool, inserts", marks=pytest.mark.soak),
        pytest.param(True, UPSERT, id="by another tool, upserts"),
    ],
)
def test_a_log_that_is_cleaned_behind_direct_commits_stops_none_of_them(
    table: Direct, by_another: bool, kind: int
) -> None:
    session, path = fresh_session(table.mirror.spark), str(table.path)
    log = table.path / "_delta_log"
    table.apply((INSERT, 1, "a"))
    if not by_another:
        set_properties(session, path, {"delta.checkpointInterval": "4"})
    while DeltaTable(path).version() < 13:
        if DeltaTable(path).version() == 7:
            for version in range(7 if by_another else 5):
                _make_old(log, version)
            if by_another:
                DeltaTable(path).create_checkpoint()
                DeltaTable(path).cleanup_metadata()
        table.apply((kind, 1, "b"))
    assert not (log / f"{0:020d}.json").exists(), "nothing was cleaned"
    if not by_another:
        assert (log / f"{12:020d}.checkpoint.parquet").exists()
    keys = [key for key, _ in table.rows]
    assert keys == [1] * (1 if kind == UPSERT else table.last)


def _make_old(log: Path, version: int) -> None:
    """A commit and what belongs to it: older than logs are kept, and than the next version."""
    at = (datetime.now(UTC) - timedelta(days=40, minutes=-version)).timestamp()
    for file in log.glob(f"{version:020d}.*"):
        os.utime(file, (at, at))


def test_the_history_says_what_was_written(table: Direct) -> None:
    table.apply((INSERT, 1, "a"))
    table.apply((UPDATE, 1, "A"))
    table.apply((INSERT, 2, "b"))
    append, overwrite = DeltaTable(str(table.path)).history(2)
    found = [entry["operationParameters"]["mode"] for entry in (append, overwrite)]
    assert found == ["Append", "Overwrite"]
    metrics = overwrite["operationMetrics"]
    assert [metrics[name] for name in ("numFiles", "numOutputRows", "numRemovedFiles")] == [
        "1", "1", "1"
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [UPDATE, INSERT])
def test_a_row_that_another_tool_adds_while_the_file_is_written_is_not_lost(
    table: Direct, kind: int
) -> None:
    table.apply((INSERT, 1, "a"))
    table.writer.during.append(lambda: a_foreign_row(table))
    table.apply((kind, 1, "A"))
    # Rows that are only added conflict with none. The other tool's file does not say how it counts
    # days before 1582: that is for Spark to read.
    assert table.direct == ([False, True] if kind == INSERT else [False, None, False])
    assert table.rows == sorted([(1, "A"), (50, "foreign")] + [(1, "a")] * (kind == INSERT))
    table.apply((UPDATE, 50, "ours"))
    assert (50, "ours") in table.rows


def tidied(table: Watched) -> list[str]:
    """What another tool deletes of a table once it has compacted it, however young that is."""
    other = DeltaTable(str(table.path))
    other.optimize.compact()
    return other.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)


@pytest.mark.parametrize("kind", [UPDATE, INSERT])
def test_another_tool_may_compact_a_table_and_delete_its_old_files_while_one_is_written(
    table: Direct, kind: int
) -> None:
    deleted: list[str] = []
    for key in (1, 2, 3):
        table.apply((INSERT, key, "a"))
    table.writer.during.append(lambda: deleted.extend(tidied(table)))
    table.apply((kind, 1, "A"))
    assert len(deleted) >= 3, "nothing that was there is gone"
    assert table.rows == sorted([(1, "A"), (2, "a"), (3, "a")] + [(1, "a")] * (kind == INSERT))
    tidied(table)
    table.apply((UPDATE, 3, "C"))
    assert (3, "C") in table.rows


def test_what_another_engine_or_tool_commits_between_batches_is_read_from_the_log(
    table: Direct,
) -> None:
    table.apply((INSERT, 1, "a"))
    table.apply((UPDATE, 1, "A"))
    other = table.another()
    for own in (other, table.engine, other):
        a_foreign_row(table)
        table.mirror.engine = own
        table.apply((UPSERT, 1, "B"), (UPDATE, 50, "seen"))
    assert table.rows == [(1, "B"), (50, "seen"), (50, "seen"), (50, "seen")]


@pytest.mark.parametrize("kind", [UPDATE, INSERT])
def test_a_fence_that_lands_while_the_file_is_written_keeps_the_batch_out(
    table: Direct, kind: int
) -> None:
    table.apply((INSERT, 1, "a"))
    table.apply((UPDATE, 1, "b"))
    log, other = log_of(table.mirror, "t"), table.another()
    assert log.live is not None
    fence = Transaction(log.live[0].app_id, FENCED)
    path = layout.delta_table(MIRROR, table_name(TablePath.parse("t"), "dbo"))
    table.writer.during.append(lambda: other.commit_without_rows(path, fence))
    table.land((kind, 1, "c"))
    reconcile(table.mirror.ports, table.engine, table.mirror.table("t"))
    assert table.direct[-1] is None, "it was no conflict"
    assert table.rows == [(1, "b")]


def test_a_table_that_others_have_emptied_since_it_was_small_is_left_to_spark(
    table: Direct, monkeypatch: Patch
) -> None:
    table.apply((INSERT, 1, "a"))
    table.apply((UPDATE, 1, "b"))
    DeltaTable(str(table.path)).delete()
    monkeypatch.setattr(engine, "choose", lambda *_: Commit.OVERWRITE)
    table.apply((UPSERT, 2, "c"))
    assert table.rows == [(2, "c")]
    assert table.direct[-1] is False


def test_what_only_sparks_writers_obey_is_left_to_them(table: Direct, monkeypatch: Patch) -> None:
    table.apply((INSERT, 1, "a"))
    done: list[bool] = []

    def by_spark(*_: Any) -> None:
        done.append(True)
        raise Unavailable("a Spark that has all of that")

    # With such settings Spark would need more than is here.
    monkeypatch.setattr(committing, "append", by_spark)
    table.land((INSERT, 2, "b"))
    for setting, value in {
        "spark.sql.parquet.compression.codec": "brotli",
        "spark.databricks.delta.autoCompact.enabled": "true",
        "parquet.crypto.factory.class": "org.example.Factory",
    }.items():
        table.settings = {setting: value}
        table.mirror.engine = table.another()
        with pytest.raises(Unavailable):
            reconcile(table.mirror.ports, table.mirror.engine, table.mirror.table("t"))
    assert (done, table.direct) == ([True] * 3, [False] * 4)


def test_a_checksum_that_is_wrong_is_not_gone_by(table: Direct) -> None:
    table.apply((INSERT, 1, "a"))
    table.apply((UPDATE, 1, "A"), (INSERT, 2, "b"))
    log = table.path / "_delta_log"
    crc = log / f"{1:020d}.crc"
    found = json.loads(crc.read_text())
    found["allFiles"][0]["path"] = "part-of-another-table.parquet"
    found["setTransactions"][0]["version"] = 1 << 60
    crc.write_text(json.dumps(found))
    (log / f".{crc.name}.crc").unlink(missing_ok=True)
    forget_logs(table.mirror.spark)
    table.mirror.engine = table.another()
    table.apply((UPDATE, 1, "B"))
    assert table.rows == [(1, "B"), (2, "b")]
    assert table.direct[-1]


def test_a_commit_behind_a_direct_one_lists_no_log(table: Direct, monkeypatch: Patch) -> None:
    listed: list[str] = []

    def counted(session: SparkSession, log: Any) -> Any:
        listed.append(str(log.dataPath()))
        return listed_snapshot(session, log)

    table.apply((INSERT, 1, "a"))
    table.apply((UPDATE, 1, "b"))
    monkeypatch.setattr(delta_log, "listed_snapshot", counted)
    for kind in (INSERT, UPDATE, DELETE):
        table.apply((kind, 2, "c"))
    assert table.direct[-3:] == [True] * 3
    assert listed == []
    a_foreign_row(table)
    table.apply((INSERT, 8, "d"))
    assert table.direct[-1]
    assert len(listed) == 1
    assert sorted(key for key, _ in table.rows) == [1, 8, 50]


def test_another_table_at_its_place_is_not_taken_for_it_whatever_its_version(
    table: Direct, tmp_path: Path
) -> None:
    table.apply((INSERT, 1, "a"))
    table.apply((UPDATE, 1, "b"))
    spark, path = table.mirror.spark, str(table.path)
    log = delta_log.delta_log(spark, path)
    assert log is not None
    known = delta_log.newest_snapshot(spark, log)
    version = int(known.version())
    shutil.move(table.path, tmp_path / "gone")
    for _ in range(version + 1):
        a_foreign_row(table)
    found = delta_log.newest_snapshot(spark, log)
    assert int(found.version()) == version
    assert found.metadata().id() != known.metadata().id()


def another_log(table: Watched, to: Path) -> None:
    """In the place of a table's own, with as many versions, of a table that looks like it."""
    version = DeltaTable(str(table.path)).version()
    shutil.move(table.path / "_delta_log", to)
    for _ in range(version + 1):
        a_foreign_row(table)


@pytest.mark.parametrize("kind", [UPDATE, INSERT])
def test_another_table_that_comes_to_its_place_while_a_runner_stalls_gets_none_of_its_rows(
    table: Direct, kind: int, tmp_path: Path, monkeypatch: Patch
) -> None:
    """Its log has nothing that Delta would call a conflict."""
    monkeypatch.setattr(delta_transaction, "_BRIEFLY", 0.0)
    table.apply((INSERT, 1, "a"))
    table.apply((UPDATE, 1, "b"))
    assert table.direct[-1]
    table.writer.during.append(lambda: another_log(table, tmp_path / "gone"))
    table.land((kind, 1, "c"))
    there = set(table.path.glob("*.parquet"))
    reconcile(table.mirror.ports, table.mirror.engine, table.mirror.table("t"))
    assert table.direct[-1] is None
    assert set(table.rows) == {(50, "foreign")}
    foreign = {Path(name) for name in DeltaTable(str(table.path)).file_uris()}
    assert set(table.path.glob("*.parquet")) == there | foreign


def test_no_room_for_a_tables_files_on_this_machine_is_no_failure_of_the_batch(
    spark: SparkSession, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(new_data_files, "_THIS_MACHINE", "elsewhere")
    java: Any = spark._jvm
    folder = java.org.apache.hadoop.fs.Path(str(tmp_path))
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    with pytest.raises(Unavailable, match="TMPDIR"), DataFolder(spark, folder, settings):
        Path("/dev/full").write_bytes(b"by this process")
    with pytest.raises(Unavailable, match="TMPDIR"), DataFolder(spark, folder, settings):
        java.java.io.FileOutputStream("/dev/full").write(1)
    with pytest.raises(OSError, match="other"), DataFolder(spark, folder, settings):
        raise OSError("other")


def test_a_table_that_goes_while_the_file_is_written_does_not_come_back(
    table: Direct, tmp_path: Path
) -> None:
    table.apply((INSERT, 1, "a"))
    path = table.path
    for kind in (INSERT, UPDATE):
        table.land((kind, 1, "A"))
        table.writer.during.append(lambda: shutil.move(path, tmp_path / "gone"))
        reconcile(table.mirror.ports, table.mirror.engine, table.mirror.table("t"))
        assert not list(path.rglob("*.json")), "another table began at its place"
        shutil.rmtree(path, ignore_errors=True)
        shutil.move(tmp_path / "gone", path)
        assert isinstance(table.mirror.reconcile_until_idle("t"), Idle)


TYPES = {
    "byte": (pa.int8(), [-128, 0, 127]),
    "integer": (pa.int32(), [-(1 << 31), 0, (1 << 31) - 1]),
    "long": (pa.int64(), [-(1 << 63), 0, (1 << 63) - 1]),
    "double": (pa.float64(), [-1.5, 0.0, 2.5]),
    "boolean": (pa.bool_(), [True, False, True]),
    "text": (pa.string(), ["", "ä" * 31 + "z", "\U0010ffff" * 40]),
    "long_text": (pa.string(), ["a" * 40, "a" * 39 + "b", "a" * 33]),
    "bytes": (pa.binary(), [b"", b"\x00", b"\xff" * 40]),
    "day": (pa.date32(), [date(1, 1, 1), date(1970, 1, 1), date(9999, 12, 31)]),
    "time": (
        pa.timestamp("us", "UTC"),
        [
            datetime(1, 1, 1, 0, 0, 0, 1, UTC),
            datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
            datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC),
        ],
    ),
    "short_decimal": (pa.decimal128(9, 2), [Decimal("-9999999.99"), Decimal(0), Decimal("0.01")]),
    "long_decimal": (pa.decimal128(38, 10), [Decimal("-1e27"), Decimal(0), Decimal("1e-10")]),
}


def literal(value: Any) -> Column:
    """In the way of Python's own types, days before 1582 go through Java's calendar."""
    if isinstance(value, datetime):
        return F.lit(value.isoformat()).cast("timestamp")
    return F.lit(value.isoformat()).cast("date") if isinstance(value, date) else F.lit(value)


def test_every_value_of_every_type_is_found_where_readers_pass_over_files_by_statistics(
    mirror: Mirror, monkeypatch: Patch
) -> None:
    table = Direct(mirror, monkeypatch)
    columns = {name: pa.array(values, kind) for name, (kind, values) in TYPES.items()}
    for number in range(3):
        # Three files with one row each, and one that is written anew.
        rows = pa.table({"id": pa.array([number], pa.int64())} | {
            name: column.slice(number, 1) for name, column in columns.items()
        })  # fmt: skip
        table.last += 1
        marker = pa.array([INSERT], pa.int32())
        mirror.zone.put("t", table.last, rows.append_column("__rowMarker__", marker))
        assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    assert table.direct == [False, True, True]
    session = fresh_session(mirror.spark)
    found = session.read.format("delta").load(str(table.path))
    for name, (_, values) in TYPES.items():
        for number, value in enumerate(values):
            same = [
                row.id for row in found.where(F.col(name) == literal(value)).select("id").collect()
            ]
            assert number in same, (name, value)
    arrow = DeltaTable(str(table.path)).to_pyarrow_table()
    by_id = arrow.sort_by("id").drop_columns(["id"])
    assert by_id.to_pydict() == {name: column.to_pylist() for name, column in columns.items()}


@pytest.mark.parametrize("direct", [pytest.param(False, marks=pytest.mark.soak), True])
def test_nan_is_larger_than_every_number_also_to_who_goes_by_the_bounds_of_a_file(
    zone: Zone, spark: SparkSession, monkeypatch: Patch, direct: bool
) -> None:
    table = Direct(Mirror(zone, spark, paths=Paths(direct=direct)), monkeypatch)
    for numbers in ([0.0], [1.0, float("nan")]):
        table.last += 1
        places = [*range(len(numbers))] if len(numbers) == 1 else [1, 2]
        rows = {"id": places, "v": numbers, "f": pa.array(numbers, pa.float32())}
        zone.put("t", table.last, pa.table({**rows, "__rowMarker__": [INSERT] * len(numbers)}))
        assert isinstance(table.mirror.reconcile_until_idle("t"), Idle)
    if direct:
        assert table.direct == [False, True]
    found = fresh_session(spark).read.format("delta").load(str(table.path))
    for name in ("v", "f"):
        for condition, ids in {
            f"{name} > 100": [2],
            f"{name} >= 100": [2],
            f"{name} <> 1": [0, 2],
            f"{name} = double('NaN')": [2],
            f"{name} IN (5, double('NaN'))": [2],
            f"{name} < 1": [0],
        }.items():
            got = sorted(row.id for row in found.where(condition).select("id").collect())
            assert got == ids, condition


def test_on_an_account_data_files_come_and_go_by_hadoop(
    served: EndpointServer,
    azurite: Azurite,
    work_queue: StorageWorkQueue,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: Patch,
) -> None:
    direct: list[bool] = []
    commit = DirectCommits.commit

    def seen(*of: Any) -> bool:
        direct.append(commit(*of))
        return direct[-1]

    written: list[bool] = []
    commit_written = DirectCommits.commit_written

    def seen_written(*of: Any) -> bool:
        written.append(commit_written(*of))
        return written[-1]

    monkeypatch.setattr(DirectCommits, "commit", seen)
    monkeypatch.setattr(DirectCommits, "commit_written", seen_written)
    folder = at("direct", "Orders")
    for number in (1, 2):
        publish(served.root, folder, number)
        work_queue.send(WorkItem(folder, "a test"))
        assert run(["--set", "runner_idle=1s"], environment(served, azurite)) == 0
    assert direct == [True]
    inserts = served.root / layout.table_folder(folder) / file_name(3)
    pq.write_table(pa.table({"id": [50, 50], "n": [1, 2]}), inserts)
    work_queue.send(WorkItem(folder, "a test"))
    options = ["--set", "runner_idle=1s", "--set", "small_batch=1"]
    assert run(options, environment(served, azurite)) == 0
    assert written == [True]
    path = served.root / "lake/direct/Tables/dbo/Orders"
    added = bag([{"id": 50, "n": 1}, {"id": 50, "n": 2}])
    assert rows_at(path, tmp_path) == sorted(expected(2) + added)
    assert spark.range(1).count() == 1
