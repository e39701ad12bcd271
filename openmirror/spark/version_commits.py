"""The commits of a history: open versions are closed, new ones are added, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from openmirror.errors import ConditionFailed
from openmirror.plan import Batch
from openmirror.plan.decisions import Beginning
from openmirror.ports import Transaction
from openmirror.ports.merge_rows import KIND, MergeNeeds
from openmirror.ports.version_rows import VersionKind
from openmirror.protocol.rows import DELETED_AT, Marker
from openmirror.protocol.versions import IS_CURRENT, ChangePlace
from openmirror.spark import committing
from openmirror.spark.choosing import Commit
from openmirror.spark.frames import quoted, same_key
from openmirror.spark.key_conditions import has_key, within
from openmirror.spark.markers import RowPlace
from openmirror.spark.merging import IN_ONE_TASK, in_few_tasks, needs_of
from openmirror.spark.places import SparkPaths
from openmirror.spark.prepared import FoldedPrepared, SparkPrepared
from openmirror.spark.version_column import version_column_of
from openmirror.spark.version_folding import (
    VersionColumns,
    VersionRows,
    begun,
    fold_versions,
    folded_before,
    only_opened,
)


def commit_versions(
    session: SparkSession,
    prepared: SparkPrepared | FoldedPrepared,
    how: Commit,
    batch: Batch,
    table: str,
    transaction: Transaction,
    batch_record: str,
) -> dict[str, str]:
    """Commit a batch of a history; the session carries the transaction already.

    Returns the properties that are still to be set, as `committing.rewrite` does.
    """
    columns, written = VersionColumns.of(batch), (batch, table, transaction, batch_record)
    small = how is Commit.OVERWRITE
    folded = partial(_folded, session, prepared, columns, small=small)
    if how is Commit.REPLACE:
        closing = columns.closed(columns.re_creation())
        return _anew(session, folded(None).opens, closing, columns, *written)
    if how is Commit.APPEND:
        committing.append(folded(None).opens, *written)
        return {}
    present = committing.present_rows(session, table, batch)
    if small:
        present = present.coalesce(1)
    rows = folded(present.where(F.col(columns.ours[IS_CURRENT])))
    truncate = next(iter(_truncates(prepared)), None)
    match how:
        case Commit.MERGE:
            needs = needs_of(prepared, batch)
            _merge(session, rows.both, columns, needs, truncate, batch, table)
        case Commit.OVERWRITE:
            whole = _applied(present, rows, columns, truncate, small=True)
            committing.overwrite_rows(whole.coalesce(1), *written)
        case Commit.REWRITE:
            whole = _applied(present, rows, columns, truncate, small=False)
            return committing.begin_anew(session, whole, *written)
        case _:
            raise AssertionError(f"{how} is no commit of a history")
    return {}


def begin_history(
    session: SparkSession,
    place_of: SparkPaths,
    batch: Batch,
    table: str,
    transaction: Transaction,
    batch_record: str,
) -> dict[str, str]:
    """Commit what a history begins with: the rows of its current table, and what it had, closed."""
    assert batch.begins is not None
    columns = VersionColumns.of(batch)
    rows = begun(_current_rows(session, batch, batch.begins, place_of), columns, batch.last)
    closing = columns.closed(columns.beginning(batch.last))
    return _anew(session, rows, closing, columns, batch, table, transaction, batch_record)


def _truncates(prepared: SparkPrepared | FoldedPrepared) -> Sequence[RowPlace]:
    return prepared.marked.truncates if isinstance(prepared, SparkPrepared) else ()


def _folded(
    session: SparkSession,
    prepared: SparkPrepared | FoldedPrepared,
    columns: VersionColumns,
    present: DataFrame | None,
    *,
    small: bool,
) -> VersionRows:
    if isinstance(prepared, FoldedPrepared):
        assert prepared.folded.versions is not None
        return folded_before(session, prepared.folded.versions, present, columns, small=small)
    changes = in_few_tasks(prepared.changes, prepared)
    if prepared.counts.only_inserts:
        rows = only_opened(changes, columns).withColumn(KIND, F.lit(str(VersionKind.OPENS)))
    else:
        few = prepared.counts.operations <= IN_ONE_TASK
        rows = fold_versions(changes, prepared.marked, present, columns, few=few)
    return VersionRows.of(rows, columns)


def _current_rows(
    session: SparkSession, batch: Batch, begins: Beginning, place_of: SparkPaths
) -> DataFrame:
    """The rows of the current table at the version that the batch was planned by, by position."""
    table = place_of(begins.table)
    rows = session.read.format("delta").option("versionAsOf", str(begins.version)).load(table)
    # Behind the load, which has found the files of one table: by now it may be another one's place.
    detail = DeltaTable.forPath(session, table).detail().select("id").first()
    if detail is None or detail[0] != begins.table_id:
        raise ConditionFailed(f"{begins.table} is another table than was observed")
    # A runner that died between the property and its batch left no such column.
    if begins.is_soft and DELETED_AT in rows.columns:
        rows = rows.where(F.col(DELETED_AT).isNull())
    return committing.as_positions(rows.drop(*begins.ours), batch.union.schema)


def _anew(
    session: SparkSession,
    rows: DataFrame,
    closing: dict[str, Column],
    columns: VersionColumns,
    batch: Batch,
    table: str,
    transaction: Transaction,
    batch_record: str,
) -> dict[str, str]:
    """The history with what it had, closed, and these versions; or made of them."""
    if batch.may_create:
        return committing.replace(rows, batch, table, transaction, batch_record)
    kept = _closed_where(
        committing.present_rows(session, table, batch),
        F.col(columns.ours[IS_CURRENT]),
        closing,
        columns,
    )
    return committing.begin_anew(
        session, kept.unionByName(rows), batch, table, transaction, batch_record
    )


def _closed_where(
    rows: DataFrame, closes: Column, closing: dict[str, Column], columns: VersionColumns
) -> DataFrame:
    return rows.select(
        *(
            F.when(closes, closing[name].cast(columns.types[name]))
            .otherwise(F.col(name))
            .alias(name)
            if name in closing
            else F.col(name)
            for name in columns.data
        )
    )


def _truncating(columns: VersionColumns, first: RowPlace) -> dict[str, Column]:
    """What a truncate closes open versions with, which have no key of the batch."""
    sequence, row = first
    place = ChangePlace(Marker.TRUNCATE.operation, columns.incarnation, sequence, row + 1)
    return columns.closed(columns.as_place(place))


def _applied(
    present: DataFrame,
    folded: VersionRows,
    columns: VersionColumns,
    truncated: RowPlace | None,
    *,
    small: bool,
) -> DataFrame:
    """Every version after the batch; the table is read inside the query that writes it.

    Beside a `small` one the batch's rows are held, instead of sorting those of the table.
    """
    ends = folded.closes.select(*columns.matched, *columns.closing, F.lit(True).alias("ends"))
    ends = (ends.hint("shuffle_hash") if small else ends).alias("s")
    is_open = F.col(f"t.{columns.ours[IS_CURRENT]}")
    joined = present.alias("t").join(ends, same_key(columns.matched) & is_open, "left")
    rows = joined.selectExpr(
        *(
            f"IF(ends, s.{name}, t.{name}) AS {name}" if name in columns.closing else f"t.{name}"
            for name in columns.data
        )
    )
    if truncated is not None:
        still_open = F.col(columns.ours[IS_CURRENT])
        rows = _closed_where(rows, still_open, _truncating(columns, truncated), columns)
    return rows.unionByName(folded.opens)


def _merge(
    session: SparkSession,
    folded: DataFrame,
    columns: VersionColumns,
    needs: MergeNeeds,
    truncated: RowPlace | None,
    batch: Batch,
    table: str,
) -> None:
    """One MERGE: rows that close find the open versions of their key, new versions find nothing."""
    schema = batch.union.schema
    names = {
        position: quoted(column.name)
        for position, column in zip(columns.data, schema.columns, strict=True)
    }
    kind = committing.free_name(KIND, schema)
    source = folded.select(
        *(F.col(p).alias(c.name) for p, c in zip(columns.data, schema.columns, strict=True)),
        F.col(KIND).alias(kind),
    )
    is_open = f"t.{names[columns.ours[IS_CURRENT]]}"
    closes = f"s.{kind} = '{VersionKind.CLOSES}' AND {is_open}"
    condition = f"{closes} AND {has_key(batch, needs.not_null)}"
    version = version_column_of(batch)
    if version is not None and version not in batch.union.added:
        condition += f" AND t.{quoted(version.name)} <=> s.{quoted(version.name)}"
    if truncated is None:
        condition += within(needs.bounds, batch.union)
    committing.mark_no_files_by_null(session, batch, needs.not_null)
    builder = DeltaTable.forPath(session, table).alias("t").merge(source.alias("s"), condition)
    if batch.union.added or batch.union.widened:
        builder = builder.withSchemaEvolution()
    builder = builder.whenMatchedUpdate(
        set={names[position]: f"s.{names[position]}" for position in columns.closing}
    ).whenNotMatchedInsert(
        f"s.{kind} = '{VersionKind.OPENS}'", {name: f"s.{name}" for name in names.values()}
    )
    if truncated is not None:
        closing = _truncating(columns, truncated)
        builder = builder.whenNotMatchedBySourceUpdate(
            is_open, {names[position]: value for position, value in closing.items()}
        )
    builder.execute()
