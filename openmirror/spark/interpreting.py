"""Keys that no merge row can express go through the plain interpreter, inside Spark."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    IntegerType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from openmirror.ports.merge_rows import KIND, MAY_INSERT, MergeKind
from openmirror.protocol.rows import Marker
from openmirror.spark.frames import MARKER, ROW, SEQUENCE
from openmirror.spark.interpreter import rows_left
from openmirror.spark.versioned_folding import GROUP

_BEFORE_ALL = -1
_FEW = 10_000
"""So many keys are sent to where the table is read; for more, the table is sorted by them."""


def interpreted(
    non_foldable: DataFrame,
    present: DataFrame | None,
    data: Sequence[str],
    keys: Sequence[str],
    version_column: str,
) -> DataFrame | None:
    """A `delete` of each non-foldable key, and its rows after the batch as plain inserts.

    None when there is no such key.

    `present` has the table's rows by position; None where the batch starts from no rows. It must
    be read lazily: inside the transaction that commits what comes out.
    """
    keyed = one_of_each(non_foldable)
    found = keyed.limit(_FEW + 1).count()
    if not found:
        return None
    by_key = with_table_rows(non_foldable, present, data, keys, few=found <= _FEW)
    kind = non_foldable.schema[version_column].dataType
    changes, left = F.col("changes"), F.col("left")
    versions = versions_of(changes, version_column, kind)
    after = by_key.select(changes, left_of(changes[MARKER], versions).alias("left")).select(
        F.explode(F.transform(left, lambda at: changes[at]["values"])).alias("values")
    )
    plain_inserts = after.select(
        *(F.col("values")[name].alias(name) for name in data), _is(MergeKind.PLAIN_INSERT)
    )
    deletes = taken_out(keyed, data, version_column)
    return deletes.unionByName(plain_inserts).withColumn(MAY_INSERT, F.lit(False))


def one_of_each(changes: DataFrame) -> DataFrame:
    """The first change of each key."""
    first = F.col(GROUP)
    return changes.where((first[SEQUENCE] == F.col(SEQUENCE)) & (first[ROW] == F.col(ROW)))


def with_table_rows(
    changes: DataFrame,
    present: DataFrame | None,
    data: Sequence[str],
    keys: Sequence[str],
    *,
    few: bool = False,
) -> DataFrame:
    """Each key's `changes` as one array, in their order: what the table has of it before them.

    `few` keys are sent to where the table is read.
    """
    rows = changes
    if present is not None:
        own = (F.col(key).alias(f"of_{key}") for key in keys)
        wanted = one_of_each(changes).select(*own, GROUP)
        rows = _as_inserts(present, F.broadcast(wanted) if few else wanted, data, keys)
        rows = rows.unionByName(changes)
    change = F.struct(SEQUENCE, ROW, MARKER, F.struct(*data).alias("values"))
    return rows.groupBy(GROUP).agg(F.sort_array(F.collect_list(change)).alias("changes"))


def versions_of(changes: Column, version_column: str, kind: DataType) -> Column:
    """The versions of an array of changes, as Python orders them."""
    return F.transform(changes, lambda one: as_python_orders(one["values"][version_column], kind))


def taken_out(keyed: DataFrame, data: Sequence[str], version_column: str) -> DataFrame:
    """A `delete` of each of these keys, without a version, so that it counts for every row."""
    nothing = F.lit(None).cast(keyed.schema[version_column].dataType)
    return keyed.select(
        *((nothing if name == version_column else F.col(name)).alias(name) for name in data),
        _is(MergeKind.DELETE),
    )


def left_of(markers: Column, versions: Column) -> Column:
    """`rows_left` of arrays. Not by Arrow, for which Spark wants pandas at hand."""
    return F.udf(rows_left, ArrayType(IntegerType()), useArrow=False)(markers, versions)


def as_python_orders(value: Column, kind: DataType) -> Column:
    """A value that Python orders as PROTOCOL §5.6 says: text by bytes, times of any year."""
    if isinstance(kind, StringType):
        return value.cast("binary")
    if isinstance(kind, (TimestampType, TimestampNTZType)):
        return F.unix_micros(value.cast("timestamp"))
    return F.unix_date(value) if isinstance(kind, DateType) else value


def _is(kind: str) -> Column:
    return F.lit(kind).alias(KIND)


def _as_inserts(
    present: DataFrame, wanted: DataFrame, data: Sequence[str], keys: Sequence[str]
) -> DataFrame:
    """The table's rows of the wanted keys, as inserts before all changes: these need no version."""
    same_key = F.lit(True)
    for key in keys:
        same_key = same_key & F.col(key).eqNullSafe(F.col(f"of_{key}"))
    return present.join(wanted, same_key).select(
        *data,
        F.lit(_BEFORE_ALL).cast("long").alias(SEQUENCE),
        F.lit(0).cast("long").alias(ROW),
        F.lit(Marker.INSERT.value).alias(MARKER),
        GROUP,
    )
