"""The merge rows of a batch that was read, as a frame that a commit takes."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from openmirror.plan import Batch
from openmirror.ports.merge_rows import (
    DELETED,
    KIND,
    MAY_INSERT,
    MergeKind,
    MergeNeeds,
    key_positions,
    positional,
    positions_of,
)
from openmirror.protocol.lineage import DECIDED_AT, Lineage
from openmirror.spark import committing
from openmirror.spark.folding import fold
from openmirror.spark.frames import MergeRows, in_place, moment, sql_type
from openmirror.spark.interpreting import interpreted
from openmirror.spark.lineage import with_lineage
from openmirror.spark.markers import after_last_truncate
from openmirror.spark.partial_folding import fold_partial
from openmirror.spark.prepared import FoldedPrepared, SparkPrepared
from openmirror.spark.soft_deletes import (
    SoftColumns,
    split_softly,
    truncates_as_deletes,
    with_unmarking,
)
from openmirror.spark.soft_interpreting import fold_versioned_softly
from openmirror.spark.version_column import version_column_of
from openmirror.spark.versioned_folding import fold_versioned

IN_ONE_TASK = 20_000
"""Rows that are folded in one task; handing them out to several takes longer."""


def needs_of(prepared: SparkPrepared | FoldedPrepared, batch: Batch) -> MergeNeeds:
    """What a batch asks of its commit, as far as that is known before."""
    if isinstance(prepared, FoldedPrepared):
        return prepared.folded.needs
    counts, keys = prepared.counts, prepared.marked.keys
    deletes, updates, soft = counts.deletes > 0, counts.updates > 0, batch.soft is not None
    return MergeNeeds(
        deletes=deletes,
        updates=updates,
        # The interpreter takes the rows of a key out and puts back what is left of them.
        inserts=counts.inserts + counts.updates > 0 or (soft and deletes),
        marks=soft and deletes,
        unmarks=soft and (deletes or updates),
        bounds=keys.bounds,
        not_null=keys.not_null,
    )


def has_whole_rows(prepared: SparkPrepared | FoldedPrepared, batch: Batch) -> bool:
    """Whether each merge row replaces what it matches, whole and whatever that is.

    What is marked, or closed, keeps values that the batch does not have.
    """
    if batch.soft is not None or batch.is_of_history:
        return False
    if isinstance(prepared, FoldedPrepared):
        return True
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
        frame = _as_decided(frame, batch)
        # So many rows are one file, whatever the number of cores.
        return MergeRows(frame.coalesce(1), prepared.folded.needs)
    folded = _folded if batch.soft is None else _folded_softly
    return MergeRows(folded(prepared, batch, table), needs_of(prepared, batch))


def _schema(batch: Batch) -> str:
    """Of merge rows; by itself Spark gives every time a zone."""
    columns = batch.union.schema.columns
    data = zip(positional(len(columns)), columns, strict=True)
    typed = [f"{name} {sql_type(column.type)}" for name, column in data]
    ours = [f"{KIND} string", f"{MAY_INSERT} boolean"]
    ours += [f"{DELETED} boolean"] if batch.soft is not None else []
    return ", ".join([*typed, *ours])


def _as_decided(folded: DataFrame, batch: Batch) -> DataFrame:
    """A batch that was folded before, with the time of its decision where that is to stand."""
    schema, values = batch.union.schema, dict[str, Column]()
    if batch.lineage is Lineage.WRITTEN:
        assert batch.decided_at is not None  # nothing is committed before it is decided
        [position] = positions_of(schema, [DECIDED_AT])
        values[position] = moment(batch.decided_at)
    if batch.soft is not None:
        soft = SoftColumns.of(batch)
        values[soft.deleted_at] = soft.when_folded()
    if not values:
        return folded
    data = positional(len(schema.columns))
    return folded.select(*in_place(data, values), KIND, MAY_INSERT)


def _folded(prepared: SparkPrepared, batch: Batch, table: str | None) -> DataFrame:
    schema, marked = batch.union.schema, prepared.marked
    data = positional(len(schema.columns))
    changes = in_few_tasks(after_last_truncate(prepared.changes, marked), prepared)
    changes = with_lineage(changes, batch)
    if prepared.counts.only_inserts:
        return _plain_inserts(changes, data)
    keys = key_positions(batch)
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
    present = committing.present_rows(prepared.session, table, batch) if table else None
    rest = interpreted(versioned.non_foldable, present, data, keys, version_column)
    return versioned.folded if rest is None else versioned.folded.unionByName(rest)


def _folded_softly(prepared: SparkPrepared, batch: Batch, table: str | None) -> DataFrame:
    schema, marked = batch.union.schema, prepared.marked
    data = positional(len(schema.columns))
    changes = with_lineage(in_few_tasks(prepared.changes, prepared), batch)
    if prepared.counts.only_inserts:
        return _plain_inserts(changes, data)
    keys, soft = key_positions(batch), SoftColumns.of(batch)
    changes = truncates_as_deletes(changes, marked.truncates, keys, batch)
    column = version_column_of(batch)
    if column is not None:
        [version_column] = positions_of(schema, [column.name])
        present = committing.present_rows(prepared.session, table, batch) if table else None
        return fold_versioned_softly(changes, present, data, keys, version_column, soft)
    early, marking = split_softly(changes, data, keys, soft)
    folded = (
        fold_partial(early, marked.absent, data, keys) if marked.absent else fold(early, data, keys)
    )
    return with_unmarking(folded).unionByName(marking, allowMissingColumns=True)


def in_few_tasks(changes: DataFrame, prepared: SparkPrepared) -> DataFrame:
    """Few changes in one task: the rows of a key lie together as they are, and make one file."""
    is_small = prepared.counts.operations <= IN_ONE_TASK and not prepared.counts.only_inserts
    return changes.coalesce(1) if is_small else changes


def _plain_inserts(changes: DataFrame, data: Sequence[str]) -> DataFrame:
    return changes.select(
        *data, F.lit(MergeKind.PLAIN_INSERT).alias(KIND), F.lit(True).alias(MAY_INSERT)
    )
