"""What one would write by hand: each second a table's new records, de-duplicated, and one MERGE.

As a `foreachBatch` over a topic does it. Records come from the same capture as ours. It is not
exact: nothing that comes twice is left out, no key is kept whole, no change of columns is followed.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from openmirror.cdc.capture.process import CaptureProcess
from openmirror.cdc.capture.settings import CaptureSettings
from openmirror.cdc.spool.reader import SpoolReader
from openmirror.protocol.streams import START, Offset
from openmirror.spark.jars import class_path
from openmirror.spark.session import start_spark

_ROW = "struct<id: int, n: bigint, text: string, price: string, at: string, ok: boolean>"
_ENVELOPE = f"before {_ROW}, after {_ROW}, op string"
_COLUMNS = ("n", "text", "price", "at", "ok")
_MOST = 100_000


def merge_new(spark: SparkSession, records: pa.Table, place: Path) -> None:
    """One MERGE a table."""
    for topic in pc.unique(records["topic"]).to_pylist():
        if ".public." not in topic:
            continue
        own = records.filter(pc.equal(records["topic"], topic)).select(["offset", "value"])
        own = own.set_column(1, "value", own["value"].cast(pa.string()))
        merge(spark, spark.createDataFrame(own), place / topic.rpartition(".")[2])


def merge(spark: SparkSession, frame: DataFrame, path: Path) -> None:
    """The last change of each key, merged; the first ones make the table."""
    read = frame.select("offset", F.from_json("value", _ENVELOPE).alias("v"))
    last = Window.partitionBy(F.coalesce("v.after.id", "v.before.id")).orderBy(F.desc("offset"))
    changes = (
        read.withColumn("place", F.row_number().over(last))
        .where("place = 1")
        .select(F.coalesce("v.after.id", "v.before.id").alias("id"), "v.op", "v.after")
        .select("id", "op", *(f"after.{name}" for name in _COLUMNS))
    )
    if not DeltaTable.isDeltaTable(spark, str(path)):
        changes.where("op <> 'd'").drop("op").write.format("delta").save(str(path))
        return
    (
        DeltaTable.forPath(spark, str(path))
        .alias("t")
        .merge(changes.alias("s"), "t.id = s.id")
        .whenMatchedDelete("s.op = 'd'")
        .whenMatchedUpdate(set={name: f"s.{name}" for name in _COLUMNS})
        .whenNotMatchedInsert("s.op <> 'd'", {name: f"s.{name}" for name in ("id", *_COLUMNS)})
        .execute()
    )


def main(given: dict[str, Any]) -> None:
    """Follow a database until killed."""
    settings = CaptureSettings.from_json(json.dumps(given["capture"]))
    capture = CaptureProcess(settings)
    capture.wait_ready(60, print)
    spark = start_spark(master="local[2]", driver_memory="4g", class_path=class_path())
    reader, at = SpoolReader(settings.spool), START
    while True:
        capture.check()
        began = time.monotonic()
        records = reader.read(at, _MOST, 1 << 30)
        if records.num_rows:
            merge_new(spark, records, Path(given["tables"]))
            at = Offset(records["offset"][-1].as_py() + 1)
        if records.num_rows < _MOST:
            time.sleep(max(0.0, began + 1 - time.monotonic()))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
