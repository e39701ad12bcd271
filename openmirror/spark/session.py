"""The one long-lived Spark application, with the settings that Delta at this scale wants."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pyspark
from pyspark import SparkConf
from pyspark.sql import SparkSession

from openmirror.errors import CannotStart

SESSION_SETTINGS = {
    # What tables come out as depends on these, so they hold in anybody's application.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.caseSensitive": "false",
    "spark.sql.ansi.enabled": "true",
    # Or Spark reads a name like `${x}` as a variable, and writes to another place than it was told.
    "spark.sql.variable.substitute": "false",
    "spark.databricks.delta.properties.defaults.enableDeletionVectors": "false",
    "spark.databricks.delta.properties.defaults.columnMapping.mode": "none",
}
"""For sessions within an application that somebody else started; how it plans is its own affair."""

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
    "spark.sql.variable.substitute": "false",
    # Tables have the lowest protocol that their data needs.
    "spark.databricks.delta.properties.defaults.enableDeletionVectors": "false",
    "spark.databricks.delta.properties.defaults.columnMapping.mode": "none",
}
_OLDEST = 4
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
        # Or Python workers are whatever `python3` is, which may know nothing of this package.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
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


def submitted_spark(settings: Mapping[str, str], application: str = "openmirror") -> SparkSession:
    """The application that `spark-submit` prepared; the caller stops it.

    What was submitted (master, memory, `--conf`) wins over ours, so that a cluster is used as its
    owner says.
    """
    submitted = SparkConf()
    builder = SparkSession.builder
    for key, value in {"spark.app.name": application, **_SETTINGS, **settings}.items():
        if not submitted.contains(key):
            builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def stop_submitted(spark: SparkSession) -> None:
    """Stop the application, and let its JVM end.

    The driver of storage accounts has threads that would keep `spark-submit` for ever. Elsewhere
    the JVM ends with this process.
    """
    jvm = spark._jvm
    assert jvm is not None
    spark.stop()
    jvm.org.apache.hadoop.fs.FileSystem.closeAll()


def is_submitted() -> bool:
    """Whether this process was started by `spark-submit`, which has a JVM ready for it."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def active_spark() -> SparkSession | None:
    """The session that this process was given: on Databricks, or in somebody's own application.

    Raises CannotStart for a Spark that is too old, and for a session without a JVM of its own
    (Spark Connect), since Delta's transactions are reached through that.
    """
    _need_spark_4(pyspark.__version__)
    spark = SparkSession.getActiveSession()
    if spark is None and "DATABRICKS_RUNTIME_VERSION" in os.environ:
        spark = SparkSession.builder.getOrCreate()
    if spark is not None and getattr(spark, "_jvm", None) is None:
        raise CannotStart(
            "this Spark session has no JVM of its own: on Databricks, use classic compute in "
            "dedicated access mode, not serverless and not standard access mode"
        )
    return spark


def _need_spark_4(version: str) -> None:
    """Before anything is asked of one that would fail somewhere in between."""
    if int(version.partition(".")[0]) < _OLDEST:
        raise CannotStart(
            f"this is Spark {version}, and Spark {_OLDEST}.0 or newer is needed: Databricks "
            "Runtime 17.3 or newer, or `pip install 'openmirror[spark]'` on a machine of your own. "
            "Spark pools of Synapse and clusters of HDInsight have none"
        )


def _unused_folder() -> str:
    """Nothing is stored in the warehouse, but Spark makes it, by default where one stands."""
    return str(Path(tempfile.gettempdir()) / "openmirror-warehouse")
