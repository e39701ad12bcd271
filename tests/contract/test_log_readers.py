"""Both readers of Delta logs say the same of the same tables; the expectations are the replay's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from openmirror.deltalog import LogReplay
from openmirror.formats.conversion import FileConverter
from openmirror.ports import CommitResult, LogReader, Transaction
from openmirror.protocol.names import Incarnation, TableFolder, TablePath
from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.protocol.sequence import FENCED, Position
from openmirror.spark.engine import SparkEngine
from openmirror.spark.places import local_spark_paths
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import StorePath
from openmirror.table.log import AppId, BatchRecord, BrokenLog, Epoch, TableLog
from openmirror.table.user_metadata import encode
from tests.contract.jvm_log_reader import DeltaLogReader, has_delta_log

TABLE = StorePath("lake/m/Tables/dbo/t")
SCHEMA = TableSchema((Column("id", ColumnType("long")), Column("d", ColumnType("decimal(10,2)"))))


def app(number: int) -> AppId:
    return Epoch(TableFolder("m", TablePath("", "a -> b")), Incarnation("i"), number).app_id


def batch_record(last: int) -> str:
    return encode(
        BatchRecord(operation=f"o{last}", folder="m/t", kind="extend", first=1, last=last, files=1)
    )


class Tables:
    """Makes logs with the engine and with Spark, as histories go."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark = spark
        self.root = root
        self.path = root / TABLE
        converter = FileConverter(LocalStore(root))
        self.engine = SparkEngine(spark, local_spark_paths(str(root)), converter)

    def commit_without_rows(self, epoch: int, version: int) -> None:
        create = None if self.path.exists() else SCHEMA
        done = self.engine.commit_without_rows(
            TABLE, Transaction(app(epoch), Position(version)), create
        )
        assert done is CommitResult.DONE

    def append(self, epoch: int, version: int, **options: str) -> None:
        rows = self.spark.sql("SELECT 1L AS id, CAST(2 AS decimal(10, 2)) AS d")
        to = rows.write.format("delta").mode("append").option("userMetadata", batch_record(version))
        to = to.option("txnAppId", app(epoch)).option("txnVersion", str(version))
        to.options(**options).save(str(self.path))


def live(tables: Tables) -> None:
    tables.commit_without_rows(1, 1)
    tables.append(1, 2)


def fenced(tables: Tables) -> None:
    tables.commit_without_rows(1, 1)
    tables.append(1, 7)
    tables.commit_without_rows(2, 3)
    tables.commit_without_rows(1, FENCED)
    tables.commit_without_rows(2, FENCED)


def continued(tables: Tables) -> None:
    tables.commit_without_rows(3, 7)


def replaced(tables: Tables) -> None:
    rows = tables.spark.range(1).withColumnRenamed("id", "other")
    rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(
        str(tables.path)
    )


def checkpointed(tables: Tables) -> None:
    tables.commit_without_rows(1, 1)
    tables.append(1, 2)
    path = str(tables.path).replace("`", "``")
    tables.spark.sql(
        f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.checkpointInterval' = '2')"
    )
    tables.append(1, 3)
    tables.append(1, 4)
    assert list((tables.path / "_delta_log").glob("*.checkpoint*.parquet"))


def column_mapping(tables: Tables) -> None:
    frame = tables.spark.range(1).selectExpr("id", "id AS `with space`", "named_struct('x', 1) s")
    frame.writeTo(f"delta.`{tables.path}`").using("delta").tableProperty(
        "delta.columnMapping.mode", "name"
    ).option("txnAppId", app(1)).option("txnVersion", "5").create()


def clustered(tables: Tables) -> None:
    """By names that files do not have, in a checkpoint, and changed after it."""
    path = str(tables.path).replace("`", "``")
    tables.spark.sql(f"ALTER TABLE delta.`{path}` CLUSTER BY (`with space`, id)")
    tables.spark.sql(
        f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.checkpointInterval' = '1')"
    )
    log = LogReplay(LocalStore(tables.root)).read(TABLE)
    assert isinstance(log, TableLog)
    assert log.clustering == ("with space", "id")
    assert list((tables.path / "_delta_log").glob("*.checkpoint*.parquet"))


def clustered_no_more(tables: Tables) -> None:
    tables.spark.sql(f"ALTER TABLE delta.`{tables.path}` CLUSTER BY NONE")


def missing(tables: Tables) -> None:
    tables.path.mkdir(parents=True)


def nothing_at_all(tables: Tables) -> None:
    assert not tables.path.exists()


def gap_in_the_log(tables: Tables) -> None:
    live(tables)
    tables.append(1, 3)
    (tables.path / "_delta_log" / f"{1:020d}.json").unlink()


def remains(tables: Tables) -> None:
    for file in (tables.path / "_delta_log").glob("*.json"):
        file.unlink()


def strangers(tables: Tables) -> None:
    tables.spark.range(3).write.format("delta").save(str(tables.path))


def made_anew(tables: Tables) -> None:
    """Read, moved away, and another log made at its path, as a drop and a new table do."""
    tables.append(1, 1)
    tables.append(1, 2)
    assert isinstance(_jvm(tables).read(TABLE), TableLog)
    tables.path.rename(tables.path.with_name("retained"))
    tables.append(9, 4)


HISTORIES: list[dict[Callable[[Tables], None], type[object] | None]] = [
    {live: TableLog, replaced: TableLog},
    {fenced: TableLog, continued: TableLog},
    {checkpointed: TableLog},
    {column_mapping: TableLog, clustered: TableLog, clustered_no_more: TableLog},
    {missing: None},
    {nothing_at_all: None},
    {gap_in_the_log: BrokenLog, remains: BrokenLog},
    {strangers: TableLog},
    {made_anew: TableLog},
]
"""What happens to one table, one after the other, and what its log is then."""


class Refuses:
    """A LogReader that must not be asked."""

    def read(self, table: StorePath) -> TableLog | BrokenLog | None:
        raise AssertionError(f"Delta could not read {table} itself")


def _jvm(tables: Tables, otherwise: LogReader | None = None) -> DeltaLogReader:
    return DeltaLogReader(tables.spark, local_spark_paths(str(tables.root)), otherwise or Refuses())


@pytest.mark.parametrize(
    "history", HISTORIES, ids=lambda history: "-".join(happens.__name__ for happens in history)
)
def test_delta_itself_and_the_replay_say_the_same(
    history: dict[Callable[[Tables], None], type[object] | None],
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    assert has_delta_log(spark)
    tables = Tables(spark, tmp_path / "a%20b")
    for happens, kind in history.items():
        happens(tables)
        replay = LogReplay(LocalStore(tables.root)) if tables.root.exists() else None
        expected = replay.read(TABLE) if replay else None
        assert expected is None if kind is None else isinstance(expected, kind)
        if isinstance(expected, TableLog):
            assert _jvm(tables).read(TABLE) == expected
        elif replay:
            # Its own words for what it cannot read would be others; it asks for ours.
            assert _jvm(tables, replay).read(TABLE) == expected
