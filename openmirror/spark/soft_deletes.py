"""Folding where deletes are soft: times for what a fold leaves, rows that mark, rows that unmark.

Per key, with u the last update, upsert or partial update of the batch, the *late* deletes are those
after u, or all where there is no u. What an earlier one would mark, u removes (PROTOCOL §5.8). So:

- without its late deletes a key folds as ever; what comes of it is marked by the first late delete
  behind it, which is written into `_deleted_at` before the fold;
- with u, an `unmark` row goes beside the key's merge row;
- without u, its first late delete becomes a `mark` row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from openmirror.plan import Batch
from openmirror.ports.merge_rows import (
    DELETED,
    KIND,
    MAY_INSERT,
    MergeKind,
    lineage_positions,
    positions_of,
)
from openmirror.protocol.rows import DELETED_AT, UPDATES, Marker
from openmirror.spark.frames import ABSENT, MARKER, ROW, SEQUENCE, in_place, moment
from openmirror.spark.lineage import lineage_of, with_lineage
from openmirror.spark.markers import RowPlace


@dataclass(frozen=True)
class SoftColumns:
    """Where a batch has its times of deletion, and what else a delete writes into a row."""

    deleted_at: str
    """The position of our own column, such as c3."""
    lineage: tuple[str, ...]
    """Positions of the columns of lineage, where the table has them."""
    time_column: str | None
    """The position of the publisher's, where the policy names one."""
    decided_at: datetime

    @classmethod
    def of(cls, batch: Batch) -> SoftColumns:
        """Those of a batch that was decided, and whose deletes are soft."""
        assert batch.soft is not None
        assert batch.decided_at is not None  # nothing is committed before it is decided
        schema, named = batch.union.schema, batch.soft.time_column
        [deleted_at] = positions_of(schema, [DELETED_AT])
        time_column = positions_of(schema, [named])[0] if named else None
        return cls(deleted_at, tuple(lineage_positions(batch)), time_column, batch.decided_at)

    @property
    def written(self) -> tuple[str, ...]:
        """What a delete writes into a row that it marks."""
        return (self.deleted_at, *self.lineage)

    @property
    def decided(self) -> Column:
        """When the batch was decided."""
        return moment(self.decided_at)

    def when(self, change: Column | None = None) -> Column:
        """When a delete says that its rows were deleted; `change` is a struct that has its row."""
        if self.time_column is None:
            return self.decided
        own = F.col(self.time_column) if change is None else change[self.time_column]
        return F.coalesce(own.cast("timestamp"), self.decided)

    def is_marked(self, frame: str | None = None) -> Column:
        """Whether a row of the table is marked; `frame` is the alias that it has in a join."""
        return F.col(f"{frame}.{self.deleted_at}" if frame else self.deleted_at).isNotNull()

    def when_folded(self) -> Column:
        """The time of a row that was folded before its batch was decided."""
        return F.when(F.col(DELETED), F.coalesce(F.col(self.deleted_at), self.decided))

    def written_at(self, batch: Batch, truncate: RowPlace) -> dict[str, Column]:
        """What a truncate writes into each row that it marks."""
        of_lineage = lineage_of(batch, truncate, Marker.TRUNCATE)
        return {self.deleted_at: self.decided, **of_lineage}

    def marked_by(self, delete: Column) -> dict[str, Column]:
        """What a row has that was marked by a delete, a struct with `when`; NULL: by none."""
        own = {
            name: F.when(delete.isNotNull(), delete[name]).otherwise(F.col(name))
            for name in self.lineage
        }
        return {self.deleted_at: delete["when"], **own}


def split_softly(
    changes: DataFrame, data: Sequence[str], keys: Sequence[str], soft: SoftColumns
) -> tuple[DataFrame, DataFrame]:
    """All changes but late deletes, with their times, to be folded as ever; and `mark` rows."""
    by_key = Window.partitionBy(*keys)
    at = F.struct(SEQUENCE, ROW)
    behind = by_key.orderBy(at.desc()).rowsBetween(Window.unboundedPreceding, -1)
    marker, u, first = F.col(MARKER), F.col("u"), F.col("first")
    update = marker.isin([kind.value for kind in UPDATES])
    with_u = changes.select("*", F.max(F.when(update, at)).over(by_key).alias("u"))
    late = (marker == Marker.DELETE.value) & (u.isNull() | (at > u))
    late_delete = F.when(late, F.struct(SEQUENCE, ROW, soft.when().alias("when"), *soft.lineage))
    timed = with_u.select(
        "*",
        late.alias("late"),
        F.min(F.when(late, at)).over(by_key).alias("first"),
        F.coalesce(late_delete, F.min(late_delete).over(behind)).alias("by"),
    ).select(
        *in_place(data, soft.marked_by(F.col("by"))),
        *(SEQUENCE, ROW, MARKER, ABSENT, "late", "u", "first"),
    )
    marking = timed.where(F.col("late") & u.isNull() & (at == first)).select(
        *data, F.lit(MergeKind.MARK).alias(KIND), F.lit(False).alias(MAY_INSERT)
    )
    return timed.where(~F.col("late")).drop("late", "u", "first"), marking


def with_unmarking(folded: DataFrame) -> DataFrame:
    """With an `unmark` row for each key that has a merge row: it has one where it has an update."""
    kind = F.col(KIND)
    merging = kind.isin(MergeKind.UPDATE, MergeKind.DELETE)
    kinds = F.when(merging, F.array(kind, F.lit(MergeKind.UNMARK))).otherwise(F.array(kind))
    return folded.withColumn(KIND, F.explode(kinds))


def truncates_as_deletes(
    changes: DataFrame,
    truncates: Sequence[RowPlace],
    keys: Sequence[str],
    batch: Batch | None = None,
    marker: Marker = Marker.DELETE,
) -> DataFrame:
    """With a delete of each key of the batch at each truncate; other keys are the commit's.

    `marker` is what those deletes have; of a `batch` with lineage they have the truncates' places.
    """
    if not truncates:
        return changes
    real = changes.where(F.col(MARKER) != Marker.TRUNCATE.value)
    places = changes.sparkSession.createDataFrame(list(truncates), f"{SEQUENCE} long, {ROW} long")
    if batch is not None:
        places = with_lineage(places.withColumn(MARKER, F.lit(Marker.TRUNCATE.value)), batch)
    kinds = {field.name: field.dataType for field in changes.schema}
    of_each_key = real.select(*keys).distinct().crossJoin(F.broadcast(places))
    deletes = of_each_key.withColumn(MARKER, F.lit(marker.value))
    missing = [name for name in changes.columns if name not in deletes.columns]
    return real.unionByName(
        deletes.select("*", *(F.lit(None).cast(kinds[name]).alias(name) for name in missing))
    )
