"""The merge rows of a batch that was read, as a frame that a commit takes."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from openmirror.plan import Batch
from openmirror.ports.merge_rows import (
    KIND,
    MAY_INSERT,
    MergeKind,
    MergeNeeds,
    positional,
    positions_of,
)
from openmirror.spark import committing
from openmirror.spark.folding import fold
from openmirror.spark.frames import MergeRows, sql_type
from openmirror.spark.interpreting import interpreted
from openmirror.spark.markers import after_last_truncate
from openmirror.spark.partial_folding import fold_partial
from openmirror.spark.prepared import FoldedPrepared, SparkPrepared
from openmirror.spark.version_column import version_column_of
from openmirror.spark.versioned_folding import fold_versioned

_IN_ONE_TASK = 20_000
"""Rows that are folded in one task; handing them out to several takes longer."""


def needs_of(prepared: SparkPrepared | FoldedPrepared) -> MergeNeeds:
    """What a batch asks of its commit, as far as that is known before."""
    if isinstance(prepared, FoldedPrepared):
        return prepared.folded.needs
    counts, keys = prepared.counts, prepared.marked.keys
    return MergeNeeds(
        deletes=counts.deletes > 0,
        updates=counts.updates > 0,
        inserts=counts.inserts + counts.updates > 0,
        bounds=keys.bounds,
        not_null=keys.not_null,
    )


def has_whole_rows(prepared: SparkPrepared, batch: Batch) -> bool:
    """Whether each merge row replaces what it matches, whole and whatever that is."""
    return not prepared.marked.absent and version_column_of(batch) is None


def merge_rows(
    prepared: SparkPrepared | FoldedPrepared,
    batch: Batch,
    session: SparkSession,
    table: str | None = None,
) -> MergeRows:
    """The merge rows of a batch; `table` is what they are merged into, if anything."""
    if isinstance(prepared, FoldedPrepared):
        frame = session.createDataFrame(prepared.folded.rows, _schema(batch))
        # So many rows are one file, whatever the number of cores.
        return MergeRows(frame.coalesce(1), prepared.folded.needs)
    return MergeRows(_folded(prepared, batch, table), needs_of(prepared))


def _schema(batch: Batch) -> str:
    """Of merge rows; by itself Spark gives every time a zone."""
    columns = batch.union.schema.columns
    data = zip(positional(len(columns)), columns, strict=True)
    typed = [f"{name} {sql_type(column.type)}" for name, column in data]
    return ", ".join([*typed, f"{KIND} string", f"{MAY_INSERT} boolean"])


def _folded(prepared: SparkPrepared, batch: Batch, table: str | None) -> DataFrame:
    schema, marked = batch.union.schema, prepared.marked
    changes = after_last_truncate(prepared.changes, marked)
    data = positional(len(schema.columns))
    if prepared.counts.only_inserts:
        return changes.select(
            *data, F.lit(MergeKind.PLAIN_INSERT).alias(KIND), F.lit(True).alias(MAY_INSERT)
        )
    if prepared.counts.operations <= _IN_ONE_TASK:
        # The rows of a key then lie together as they are: no shuffle, and one file of few rows.
        changes = changes.coalesce(1)
    keys = positions_of(schema, batch.frozen.key_columns)
    if marked.absent:
        return fold_partial(changes, marked.absent, data, keys)
    column = version_column_of(batch)
    if column is None:
        return fold(changes, data, keys)
    [version_column] = positions_of(schema, [column.name])
    versioned = fold_versioned(changes, data, keys, version_column)
    # Only an update after a delete makes a key non-foldable.
    if not (prepared.counts.updates and prepared.counts.deletes):
        return versioned.folded
    present = committing.present_rows(prepared.session, table, schema) if table else None
    rest = interpreted(versioned.non_foldable, present, data, keys, version_column)
    return versioned.folded if rest is None else versioned.folded.unionByName(rest)
