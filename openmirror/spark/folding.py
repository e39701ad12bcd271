"""Folding: many changes in order become at most one merge row per key, and plain inserts.

Per key, with d the last delete and u the last update or upsert after d (PROTOCOL §5.5):

- before d nothing survives; d becomes one `delete` row, and what follows it starts from no rows;
- u becomes one `update` row, which also adds itself where no row matches, but only if the first
  change of the key was an update or upsert; with a d it is a `plain_insert` row
  if the first change after d is an update or upsert, and nothing otherwise;
- each insert before u is a `plain_insert` row with u's values, each one after u with its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from openmirror.ports.merge_rows import KIND, MAY_INSERT, MergeKind
from openmirror.protocol.rows import WHOLE_UPDATES, Marker
from openmirror.spark.frames import MARKER, ROW, SEQUENCE

WHOLE = tuple(marker.value for marker in WHOLE_UPDATES)
"""The markers of updates that may add a row."""


def fold(changes: DataFrame, data: Sequence[str], keys: Sequence[str]) -> DataFrame:
    """Data columns, `kind` and `may_insert`; one MERGE of it equals the changes in order."""
    by_key = Window.partitionBy(*keys)
    at = F.struct(SEQUENCE, ROW)
    marker = F.col(MARKER)
    upserts = marker.isin(*WHOLE)

    with_delete = changes.select(
        *data,
        marker,
        at.alias("at"),
        F.max(_when(marker == Marker.DELETE.value, at)).over(by_key).alias("d"),
    )
    place, d, u = F.col("at"), F.col("d"), F.col("u")
    alive = d.isNull() | (place > d)
    upsert_at = _when(upserts & alive, place)
    with_update = with_delete.where(alive | (place == d)).select(
        *data,
        marker,
        place,
        d,
        alive.alias("alive"),
        F.max(upsert_at).over(by_key).alias("u"),
        F.min_by(marker, _when(alive, place)).over(by_key).alias("first"),
        F.max_by(F.struct(*data), upsert_at).over(by_key).alias("last"),
    )
    starts_with_upsert = F.col("first").isin(*WHOLE)
    alive = F.col("alive")
    inserts = alive & (marker == Marker.INSERT.value)
    is_u = alive & (place == u)
    kind = (
        F.when(~alive, F.lit(MergeKind.DELETE))
        .when(inserts, F.lit(MergeKind.PLAIN_INSERT))
        .when(is_u & d.isNull(), F.lit(MergeKind.UPDATE))
        .when(is_u & starts_with_upsert, F.lit(MergeKind.PLAIN_INSERT))
    )
    overwritten = inserts & u.isNotNull() & (place < u)
    values = [
        F.when(overwritten, F.col("last")[name]).otherwise(F.col(name)).alias(name) for name in data
    ]
    return with_update.select(
        *values, kind.alias(KIND), starts_with_upsert.alias(MAY_INSERT)
    ).where(F.col(KIND).isNotNull())


def _when(condition: Column, value: Column) -> Column:
    return F.when(condition, value)
