"""Soft deletes of a versioned table: keys that have one go through the interpreter, inside Spark.

Each row of a key meets its deletes by a version of its own, and an update after one of them adds a
row only if none was left (PROTOCOL §5.6). Keys without a delete fold as ever.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType

from openmirror.ports.merge_rows import KIND, MAY_INSERT, MergeKind
from openmirror.protocol.rows import Marker
from openmirror.spark.frames import MARKER, ROW, SEQUENCE
from openmirror.spark.interpreter import AS_IT_WAS, rows_left_softly
from openmirror.spark.interpreting import (
    one_of_each,
    taken_out,
    versions_of,
    with_table_rows,
)
from openmirror.spark.soft_deletes import SoftColumns, with_unmarking
from openmirror.spark.versioned_folding import GROUP, fold_versioned

_LEFT = ArrayType(StructType([StructField("at", IntegerType()), StructField("by", IntegerType())]))


def fold_versioned_softly(
    changes: DataFrame,
    present: DataFrame | None,
    data: Sequence[str],
    keys: Sequence[str],
    version_column: str,
    soft: SoftColumns,
) -> DataFrame:
    """Data columns, `kind` and `may_insert`; `present` is as `interpreted` takes it."""
    by_key = Window.partitionBy(*keys)
    # With the key, since a truncate has one place and is a delete of each.
    place = F.struct(SEQUENCE, ROW, *keys)
    grouped = changes.select(
        *data,
        SEQUENCE,
        ROW,
        MARKER,
        F.min(place).over(by_key).alias(GROUP),
        F.max(F.col(MARKER) == Marker.DELETE.value).over(by_key).alias("has_delete"),
    )
    others = grouped.where(~F.col("has_delete")).drop("has_delete", GROUP)
    folded = with_unmarking(fold_versioned(others, data, keys, version_column).folded)
    deleting = grouped.where(F.col("has_delete")).drop("has_delete")
    return folded.unionByName(_interpreted(deleting, present, data, keys, version_column, soft))


def _interpreted(
    deleting: DataFrame,
    present: DataFrame | None,
    data: Sequence[str],
    keys: Sequence[str],
    version_column: str,
    soft: SoftColumns,
) -> DataFrame:
    """Each key's rows taken out, live and marked ones, and what the interpreter leaves put in."""
    by_key = with_table_rows(deleting, present, data, keys)
    kind = deleting.schema[version_column].dataType
    changes, left = F.col("changes"), F.col("left")
    versions = versions_of(changes, version_column, kind)
    marked = F.transform(changes, lambda one: one["values"][soft.deleted_at].isNotNull())
    found = F.udf(rows_left_softly, _LEFT, useArrow=False)(changes[MARKER], versions, marked)
    after = by_key.select(changes, found.alias("left")).select(
        F.explode(F.transform(left, lambda one: _as_left(changes, one, data, soft))).alias("row")
    )
    plain_inserts = after.select(
        *(F.col("row")[name].alias(name) for name in data),
        F.lit(MergeKind.PLAIN_INSERT).alias(KIND),
    )
    out = with_unmarking(taken_out(one_of_each(deleting), data, version_column))
    return out.unionByName(plain_inserts).withColumn(MAY_INSERT, F.lit(False))


def _as_left(changes: Column, one: Column, data: Sequence[str], soft: SoftColumns) -> Column:
    """A row that is left, with what the delete wrote into it that marked it."""
    values, by = changes[one["at"]]["values"], one["by"]
    is_new = by.isNotNull() & (by != AS_IT_WAS)
    delete = changes[by]["values"]
    written = {soft.deleted_at: soft.when(delete)} | {n: delete[n] for n in soft.lineage}
    return F.struct(
        *(
            (
                F.when(is_new, written[name]).otherwise(values[name])
                if name in written
                else values[name]
            ).alias(name)
            for name in data
        )
    )
