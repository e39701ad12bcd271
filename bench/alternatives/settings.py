"""The settings of Spark in each process, which reports repeat."""

from __future__ import annotations

from collections.abc import Mapping

HEAP = "3g"
"""Of every JVM, so that none has more than the others."""
DEFAULT: Mapping[str, str] = {
    "spark.master": "local[*]",
    "spark.driver.memory": HEAP,
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
