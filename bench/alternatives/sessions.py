"""Spark as one starts it by hand.

The jars come from the same cache as ours, so that nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from openmirror.spark.jars import class_path


def session(settings: Mapping[str, str]) -> SparkSession:
    """A session of a process's own; the caller stops it."""
    builder = SparkSession.builder.appName("by hand")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.config("spark.driver.extraClassPath", class_path()).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark
