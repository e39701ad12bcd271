"""The other side: one MERGE for each file, as a careful user of Spark and Delta Lake writes it.

All settings are the defaults of Spark and Delta Lake; only the jars come from the same cache as
ours, so that nothing is downloaded. It does less than openmirror: it remembers nothing of what
it applied, so it is right only as long as it never fails and nobody else runs it.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from bench.measuring import Plan, measure, report
from bench.workload import DELETE, KEY, MARKER, Place
from openmirror.spark.jars import class_path


class ByHand:
    """Change files applied by a loop over them."""

    def __init__(self, spark: SparkSession, place: Place, workers: int) -> None:
        self._spark = spark
        self._place = place
        self._workers = workers

    def apply(self, table: str, sequence: int, /) -> float:
        """Apply one file in one commit."""
        changes = self._spark.read.parquet(str(self._place.file(table, sequence)))
        path = str(self._place.delta(table))
        if table == "appended":
            changes.drop(MARKER).write.format("delta").mode("append").save(path)
        elif DeltaTable.isDeltaTable(self._spark, path):
            self._merge(_last_of_each_key(changes), path)
        else:
            first = _last_of_each_key(changes).where(F.col(MARKER) != DELETE)
            first.drop(MARKER).write.format("delta").save(path)
        return time.monotonic()

    def apply_all(self, tables: list[str], first: int, last: int, /) -> None:
        """Tables side by side, the files of each in order."""

        def in_order(table: str) -> None:
            for sequence in range(first, last + 1):
                self.apply(table, sequence)

        with ThreadPoolExecutor(self._workers) as pool:
            list(pool.map(in_order, tables))

    def _merge(self, changes: DataFrame, path: str) -> None:
        columns = {name: f"s.{name}" for name in changes.columns if name != MARKER}
        (
            DeltaTable.forPath(self._spark, path)
            .alias("t")
            .merge(changes.alias("s"), f"t.{KEY} = s.{KEY}")
            .whenMatchedDelete(f"s.{MARKER} = {DELETE}")
            .whenMatchedUpdate(set=dict(columns))
            .whenNotMatchedInsert(f"s.{MARKER} <> {DELETE}", dict(columns))
            .execute()
        )


def _last_of_each_key(changes: DataFrame) -> DataFrame:
    newest_first = Window.partitionBy(KEY).orderBy(F.col("row").desc())
    return (
        changes.select("*", F.col("_metadata.row_index").alias("row"))
        .withColumn("rank", F.row_number().over(newest_first))
        .where("rank = 1")
        .drop("row", "rank")
    )


def main(plan: Plan) -> None:
    """Measure, and report on standard output."""
    spark = (
        SparkSession.builder.appName("by hand")
        .master("local[*]")
        .config("spark.driver.memory", "3g")
        .config("spark.driver.extraClassPath", class_path())
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config(
            "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        )
        .getOrCreate()
    )
    report(measure(ByHand(spark, Place(Path(plan.root)), plan.workers), plan))
    spark.stop()


if __name__ == "__main__":
    main(Plan(**json.loads(sys.argv[1])))
