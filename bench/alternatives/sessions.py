"""Spark as one starts it by hand, with its default settings and with tuned ones.

The jars come from the same cache as ours, so that nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from openmirror.spark.jars import class_path

DEFAULT: Mapping[str, str] = {
    "spark.master": "local[*]",
    "spark.driver.memory": "3g",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""What Delta Lake needs; for all else Spark's and Delta's defaults hold."""
TUNED: Mapping[str, str] = {
    **DEFAULT,
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.cache.maxEntries": "5000",
    "spark.scheduler.mode": "FAIR",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
    "spark.ui.enabled": "false",
}
"""What somebody finds who measures small commits on two cores for some days."""


def session(settings: Mapping[str, str]) -> SparkSession:
    """A session of a process's own; the caller stops it."""
    builder = SparkSession.builder.appName("by hand")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.config("spark.driver.extraClassPath", class_path()).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark
