"""A table's version column in Spark, and when a change counts for a row (PROTOCOL §5.6)."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from openmirror.plan import Batch
from openmirror.ports.merge_rows import MergeKind
from openmirror.protocol.names import fold_case
from openmirror.protocol.schema import Column as TableColumn


def version_column_of(batch: Batch) -> TableColumn | None:
    """The version column for this batch's rows; None where it could make no difference.

    It makes none while neither table nor files have the column: then every value is NULL. Nor
    does a key column: rows of one key all have the same value in it.
    """
    name = batch.frozen.version_column
    if name is None or any(fold_case(name) == fold_case(key) for key in batch.frozen.key_columns):
        return None
    return batch.union.schema.find(name)


def delete_counts(change: Column, row: Column) -> Column:
    """Whether a delete with this version removes a row with that one; NULL means no."""
    return change.isNull() | row.isNull() | (change >= row)


def update_counts(change: Column, row: Column) -> Column:
    """Whether an update or upsert with this version replaces a row with that one; NULL means no."""
    return row.isNull() | (change >= row)


def matches_that_count(kind: str, version_column: str | None) -> tuple[Column, Column]:
    """Where a merge row `s` that has the key of a row `t` deletes it, and where it updates it."""
    deletes, updates = (
        F.expr(f"{kind} = '{MergeKind.DELETE}'"),
        F.expr(f"{kind} = '{MergeKind.UPDATE}'"),
    )
    if version_column is None:
        return deletes, updates
    change, row = F.expr(f"s.{version_column}"), F.expr(f"t.{version_column}")
    return deletes & delete_counts(change, row), updates & update_counts(change, row)
