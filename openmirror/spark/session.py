"""The one long-lived Spark application, with the settings that Delta at this scale wants."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Anything but UTC forces Delta to check the whole table state at every commit, and zone-less
    # timestamps are stored as UTC by our own rule.
    "spark.sql.session.timeZone": "UTC",
    # The default of 50 tasks for each state of a small log is most of a small commit's time.
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.shuffle.partitions": "2",
    # Tables of many different shapes push each other out of the default of 100.
    "spark.sql.codegen.cache.maxEntries": "5000",
    # Planning by statistics costs more than it saves on batches that fit two cores.
    "spark.sql.adaptive.enabled": "false",
    "spark.scheduler.mode": "FAIR",
    # Above this many files Spark starts a job to list them, although each path is given whole.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    "spark.sql.files.openCostInBytes": "65536",
    # Only this finds a damaged page that is not compressed, where the writer left checksums.
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
    # The default, INT96, is read as nanoseconds by others: years before 1678 and after 2262 come
    # out wrong, without an error.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.caseSensitive": "false",
    # Tables have the lowest protocol that their data needs.
    "spark.databricks.delta.properties.defaults.enableDeletionVectors": "false",
    "spark.databricks.delta.properties.defaults.columnMapping.mode": "none",
}
_LOOPBACK = "127.0.0.1"
_JVM_OPTIONS = "-Duser.timezone=UTC -Dlog4j2.level=error"


def start_spark(
    *,
    master: str,
    driver_memory: str,
    class_path: str,
    application: str = "openmirror",
    overrides: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start Spark in this process; the caller stops it. Called by wiring alone.

    `overrides` are Spark settings that win over ours.
    """
    if master.startswith("local"):
        # Or Spark asks for the address of the host's own name, which fresh machines often lack.
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
    builder = (
        SparkSession.builder.appName(application)
        .master(master)
        .config("spark.driver.memory", driver_memory)
        .config("spark.driver.extraClassPath", class_path)
        .config("spark.driver.extraJavaOptions", _JVM_OPTIONS)
        .config("spark.driver.bindAddress", _LOOPBACK)
        .config("spark.driver.host", _LOOPBACK)
    )
    for key, value in {
        **_SETTINGS,
        "spark.sql.warehouse.dir": _unused_folder(),
        **(overrides or {}),
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _unused_folder() -> str:
    """Nothing is stored in the warehouse, but Spark makes it, by default where one stands."""
    return str(Path(tempfile.gettempdir()) / "openmirror-warehouse")
