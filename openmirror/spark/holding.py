"""What makes sure of a batch's rows before it is decided: all are held, or all were read once.

A footer that parses does not prove that the pages behind it do, and a batch that was decided is to
be committed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


@contextmanager
def held(changes: DataFrame) -> Iterator[DataFrame]:
    """The rows, held by Spark until the end: a file may be replaced before the commit."""
    rows = changes.localCheckpoint(eager=True, storageLevel=StorageLevel.MEMORY_AND_DISK)
    try:
        yield rows
    finally:
        # `unpersist` of the frame would not free them.
        rows._jdf.queryExecution().logical().rdd().unpersist(False)


def read_all(changes: DataFrame) -> None:
    """Read every value of every row, and keep none."""
    changes.agg(every_value(changes)).collect()


def every_value(changes: DataFrame) -> Column:
    """An aggregate that needs every value: of fewer columns, Spark reads no others."""
    return F.max(F.xxhash64(*changes.columns)).alias("every_value")
