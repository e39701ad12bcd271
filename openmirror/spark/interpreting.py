"""Keys that no merge row can express go through the plain interpreter, inside Spark."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

from openmirror.protocol.rows import Marker
from openmirror.spark.folding import DELETE, EXTRA
from openmirror.spark.frames import KIND, MARKER, MAY_INSERT, ROW, SEQUENCE
from openmirror.spark.guarded_folding import GROUP
from openmirror.spark.interpreter import KEY, interpreter_of

_BEFORE_ALL = -1
_FEW = 10_000
"""So many keys are sent to where the table is read; for more, the table is sorted by them."""


def interpreted(
    entangled: DataFrame,
    present: DataFrame | None,
    data: Sequence[str],
    keys: Sequence[str],
    guard: str,
) -> DataFrame | None:
    """A `delete` of each entangled key, and its rows after the batch as `extra`; None without any.

    `present` has the table's rows by position; None where the batch starts from no rows. It must
    be read lazily: inside the transaction that commits what comes out.
    """
    one_of_each = entangled.where(F.col(GROUP) == F.struct(SEQUENCE, ROW))
    found = one_of_each.limit(_FEW + 1).count()
    if not found:
        return None
    rows = entangled
    if present is not None:
        wanted = one_of_each.select(*(F.col(key).alias(f"of_{key}") for key in keys), GROUP)
        wanted = wanted if found > _FEW else F.broadcast(wanted)
        rows = _as_inserts(present, wanted, data, keys).unionByName(entangled)
    ordered = (
        rows.select(
            *data,
            MARKER,
            SEQUENCE,
            ROW,
            F.col(GROUP)[SEQUENCE].alias(KEY[0]),
            F.col(GROUP)[ROW].alias(KEY[1]),
        )
        .repartition(*KEY)
        .sortWithinPartitions(*KEY, SEQUENCE, ROW)
    )
    schema = StructType([ordered.schema[name] for name in data]).add(KIND, StringType())
    work = interpreter_of(list(data), guard, MARKER, KIND, DELETE, EXTRA)
    # The row that stands for a delete must count, so it has no guard's value.
    no_guard = F.when(F.col(KIND) != DELETE, F.col(guard)).alias(guard)
    return ordered.mapInArrow(work, schema).select(
        *(no_guard if name == guard else F.col(name) for name in data),
        KIND,
        F.lit(False).alias(MAY_INSERT),
    )


def _as_inserts(
    present: DataFrame, wanted: DataFrame, data: Sequence[str], keys: Sequence[str]
) -> DataFrame:
    """The table's rows of the wanted keys, as inserts before all changes: these need no guard."""
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
