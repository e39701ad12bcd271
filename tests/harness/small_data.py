"""How Spark plans and runs where tables have a few rows each."""

from __future__ import annotations

from pyspark.sql import SparkSession

FOR_SMALL_DATA = {
    # Hundreds of tables of a few rows each: compiling a plan takes longer than interpreting it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    # Or each aggregate and each sort begins by asking for 64 MB of zeros.
    "spark.buffer.pageSize": "1m",
    # Or each local file has a second one with its checksum, and a process for each one's rights.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    # Or a state that is computed ahead in an account whose server a test has stopped waits for it
    # through thirty retries, and keeps one of two cores from every test for a quarter of an hour.
    "spark.hadoop.fs.azure.io.retry.max.retries": "4",
    # Or the files of a table that is not there yet are asked for, by a job.
    "spark.databricks.delta.allFilesInCrc.enabled": "false",
}
"""None of it changes a table. The process that test_queue_kills kills goes without, as the product
does: it reads, folds and commits with the settings of a process of its own."""


def forget_sources(spark: SparkSession) -> None:
    """Have Hadoop's settings not say where each of them was read.

    Whatever reads or writes files sends all settings to its tasks, and each of a thousand has its
    source compressed by itself: four fifths of what a broadcast of them costs.
    """
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    sources = settings.getClass().getDeclaredField("updatingResource")
    sources.setAccessible(True)
    sources.get(settings).clear()
