"""Partial updates that no row is there for: found before the commit (PROTOCOL §5.7)."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from openmirror.protocol.rows import Marker
from openmirror.spark.frames import MARKER, ROW, SEQUENCE, same_key
from openmirror.spark.markers import MarkedRows, RowPlace, truncates_before


def first_without_base(
    changes: DataFrame, marked: MarkedRows, keys: Sequence[str], present: DataFrame | None
) -> RowPlace | None:
    """The first partial update whose key no row has then; None when there is none.

    `keys` are positions such as c0; `present` has the table's rows by position, None where the
    batch starts from no rows.
    """
    emptied = truncates_before(marked).alias("emptied")
    by_key = Window.partitionBy("emptied", *keys).orderBy(SEQUENCE, ROW)
    followed = (
        changes.where(F.col(MARKER) != Marker.TRUNCATE.value)
        .select(*keys, SEQUENCE, ROW, MARKER, emptied)
        .withColumn("before", F.lag(MARKER).over(by_key))
    )
    needy = followed.where(
        (F.col(MARKER) == Marker.PARTIAL_UPDATE.value)
        & (F.col("before").isNull() | (F.col("before") == Marker.DELETE.value))
    )
    from_table = F.col("before").isNull() & (F.col("emptied") == 0)
    missing = needy
    if present is not None:
        # A table is larger than a batch: its rows are searched where they lie.
        wanted = needy.where(from_table).select(*keys).distinct()
        found = (
            present.select(*keys)
            .alias("t")
            .join(F.broadcast(wanted).alias("s"), same_key(keys), "left_semi")
        )
        without = (
            needy.where(from_table)
            .alias("s")
            .join(F.broadcast(found.distinct()).alias("t"), same_key(keys), "left_anti")
        )
        missing = needy.where(~from_table).unionByName(without)
    [[first]] = missing.agg(F.min(F.struct(SEQUENCE, ROW))).collect()
    return None if first is None else (first[SEQUENCE], first[ROW])
