"""Folding a batch with partial updates: a merge row may leave columns as they are.

As `folding`, but that each column has a last value of its own: with d the last delete of a key, a
column's value after an update is that of the last update after d in which it is present. Where none
has it, the merge row leaves it as it is in the table, and an insert keeps its own. A partial update
adds no row, so one that comes first in its key, or first after d, was refused before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from openmirror.ports.merge_rows import KIND, MAY_INSERT, MergeKind
from openmirror.protocol.rows import UPDATES, Marker
from openmirror.spark.folding import WHOLE
from openmirror.spark.frames import ABSENT, MARKER, ROW, SEQUENCE


def fold_partial(
    changes: DataFrame,
    absent: Mapping[str, tuple[str, ...]],
    data: Sequence[str],
    keys: Sequence[str],
) -> DataFrame:
    """Data columns, `kind`, `may_insert`, and `absent`: positions that a merge row leaves."""
    by_key = Window.partitionBy(*keys)
    # Backwards, so that "the updates after this one" grow row by row instead of anew for each.
    from_here = by_key.orderBy(F.col("at").desc()).rowsBetween(
        Window.unboundedPreceding, Window.currentRow
    )
    marker, at, d, u = F.col(MARKER), F.col("at"), F.col("d"), F.col("u")
    named = _with_positions(changes, absent).select(
        *data, marker, ABSENT, F.struct(SEQUENCE, ROW).alias("at")
    )
    with_delete = named.select(
        "*", F.max(F.when(marker == Marker.DELETE.value, at)).over(by_key).alias("d")
    )
    is_alive = d.isNull() | (at > d)
    alive = F.col("alive")
    started = with_delete.where(is_alive | (at == d)).select("*", is_alive.alias("alive"))
    update = alive & marker.isin([kind.value for kind in UPDATES])
    left = sorted({name for names in absent.values() for name in names})
    # The keys too: equal ones may be spelt in two ways, as 0.0 and -0.0 are.
    whole = [name for name in data if name not in left]
    # What no partial update leaves out needs one window for all columns together.
    last = {tuple(whole): update} if whole else {}
    last |= {(name,): update & ~F.array_contains(ABSENT, name) for name in left}
    facts = started.select(
        *data,
        marker,
        at,
        d,
        alive,
        F.max(F.when(update, at)).over(by_key).alias("u"),
        F.min_by(marker, F.when(alive, at)).over(by_key).alias("first"),
        *(
            F.max_by(F.struct(*names), F.when(counts, at)).over(window).alias(f"{of}_{names[0]}")
            for names, counts in last.items()
            for of, window in (("last", by_key), ("later", from_here))
        ),
    )
    group = {name: names[0] for names in last for name in names}
    inserts = alive & (marker == Marker.INSERT.value)
    is_u = alive & F.coalesce(at == u, F.lit(False))
    starts_with_upsert = F.col("first").isin(*WHOLE)
    kind = (
        F.when(~alive, F.lit(MergeKind.DELETE))
        .when(inserts, F.lit(MergeKind.PLAIN_INSERT))
        .when(is_u & d.isNull(), F.lit(MergeKind.UPDATE))
        .when(is_u & starts_with_upsert, F.lit(MergeKind.PLAIN_INSERT))
    )

    def value(name: str) -> Column:
        newest, later = F.col(f"last_{group[name]}"), F.col(f"later_{group[name]}")
        overwritten = F.when(later.isNotNull(), later[name]).otherwise(F.col(name))
        return F.when(is_u, newest[name]).when(inserts, overwritten).otherwise(F.col(name))

    kept = F.array_compact(
        F.array(*(F.when(F.col(f"last_{name}").isNull(), F.lit(name)) for name in left))
    )
    rows = facts.select(
        *(value(name).alias(name) for name in data),
        kind.alias(KIND),
        starts_with_upsert.alias(MAY_INSERT),
        F.when(kind == MergeKind.UPDATE, kept).alias(ABSENT),
    )
    return rows.where(F.col(KIND).isNotNull())


def _with_positions(changes: DataFrame, absent: Mapping[str, tuple[str, ...]]) -> DataFrame:
    """The changes with the positions that each leaves out in place of its marker's text."""
    by_text = changes.sparkSession.createDataFrame(
        [(text, list(names)) for text, names in absent.items()], "text string, names array<string>"
    )
    joined = changes.join(F.broadcast(by_text), F.col(ABSENT) == F.col("text"), "left")
    names = F.coalesce(F.col("names"), F.array().cast("array<string>"))
    return joined.drop("text").withColumn(ABSENT, names).drop("names")
