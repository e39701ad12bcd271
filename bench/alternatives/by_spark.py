"""What one writes by hand with Spark and Delta Lake: a window, then one MERGE; or a plain append.

It does less than openmirror: it remembers nothing of what it applied, and trusts that files and
markers are what they should be, so it is right as long as it never fails and nobody else runs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from bench.alternatives.sessions import session
from bench.alternatives.settings import DEFAULT, TUNED
from bench.alternatives.tasks import WORKERS, Task
from bench.workload import DELETE, KEY, MARKER, Place


class BySpark:
    """Change files applied by a loop over tables."""

    def __init__(self, spark: SparkSession, *, infers: bool) -> None:
        """`infers` leaves it to Spark to find the files' schema, as its default is: by a job."""
        self._spark = spark
        self._infers = infers
        self._schema: StructType | None = None

    def apply(self, task: Task, /) -> None:
        """Tables side by side, the batches of each in order."""

        def in_order(table: str) -> None:
            for files in _batches(task, table):
                self._commit(self._read(files), str(task.place.delta(table)), task.how == "append")

        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(in_order, task.tables))

    def _read(self, files: Sequence[str]) -> DataFrame:
        if self._infers:
            return self._spark.read.parquet(*files)
        if self._schema is None:  # all tables have the same columns here
            self._schema = self._spark.read.parquet(files[0]).schema
        return self._spark.read.schema(self._schema).parquet(*files)

    def _commit(self, changes: DataFrame, path: str, appends: bool) -> None:
        if appends:
            changes.drop(MARKER).write.format("delta").mode("append").save(path)
        elif DeltaTable.isDeltaTable(self._spark, path):
            _merge(DeltaTable.forPath(self._spark, path), last_of_each_key(changes))
        else:
            first = last_of_each_key(changes).where(F.col(MARKER) != DELETE)
            first.drop(MARKER).write.format("delta").save(path)


def last_of_each_key(changes: DataFrame) -> DataFrame:
    """By the order of files, and of rows in them."""
    newest_first = Window.partitionBy(KEY).orderBy(F.desc("file"), F.desc("row"))
    return (
        changes.select(
            "*",
            F.col("_metadata.file_name").alias("file"),
            F.col("_metadata.row_index").alias("row"),
        )
        .withColumn("rank", F.row_number().over(newest_first))
        .where("rank = 1")
        .drop("file", "row", "rank")
    )


def _merge(table: DeltaTable, changes: DataFrame) -> None:
    columns = {name: f"s.{name}" for name in changes.columns if name != MARKER}
    (
        table.alias("t")
        .merge(changes.alias("s"), f"t.{KEY} = s.{KEY}")
        .whenMatchedDelete(f"s.{MARKER} = {DELETE}")
        .whenMatchedUpdate(set=dict(columns))
        .whenNotMatchedInsert(f"s.{MARKER} <> {DELETE}", dict(columns))
        .execute()
    )


def _batches(task: Task, table: str) -> list[list[str]]:
    files = paths(task.place, table, task.first, task.last)
    return [[file] for file in files] if task.how == "each" else [files]


def paths(place: Place, table: str, first: int, last: int) -> list[str]:
    """Of the change files with these sequences."""
    return [str(place.file(table, sequence)) for sequence in range(first, last + 1)]


@contextmanager
def by_default(_root: Path) -> Iterator[BySpark]:
    """With the settings that Spark and Delta Lake come with."""
    spark = session(DEFAULT)
    yield BySpark(spark, infers=True)
    spark.stop()


@contextmanager
def tuned(_root: Path) -> Iterator[BySpark]:
    """With settings, and a schema given, that small commits want."""
    spark = session(TUNED)
    yield BySpark(spark, infers=False)
    spark.stop()
