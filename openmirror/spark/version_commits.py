"""The commits of a history: open versions are closed, new ones are added, in one transaction."""

from __future__ import annotations

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from openmirror.errors import ConditionFailed
from openmirror.plan import Batch
from openmirror.plan.decisions import Beginning
from openmirror.ports import Transaction
from openmirror.ports.merge_rows import KIND
from openmirror.protocol.rows import DELETED_AT, Marker
from openmirror.protocol.versions import IS_CURRENT, ChangePlace
from openmirror.spark import committing
from openmirror.spark.frames import quoted, same_key
from openmirror.spark.markers import KeyFacts, RowPlace
from openmirror.spark.merging import IN_ONE_TASK, in_few_tasks
from openmirror.spark.places import SparkPaths
from openmirror.spark.prepared import BeginningPrepared, SparkPrepared
from openmirror.spark.version_folding import (
    CLOSES,
    OPENS,
    VersionColumns,
    begun,
    fold_versions,
    only_opened,
)
from openmirror.table.control import BatchKind


def commit_versions(
    session: SparkSession,
    batch: Batch,
    prepared: SparkPrepared | BeginningPrepared,
    place_of: SparkPaths,
    transaction: Transaction,
    batch_record: str,
    *,
    rewrites: bool,
) -> dict[str, str]:
    """Commit a batch of a history; the session carries the transaction already.

    `rewrites` says whether the whole table must be written again. Returns the properties that are
    still to be set, as `committing.rewrite` does.
    """
    table, columns = place_of(batch.table), VersionColumns.of(batch)
    written = (batch, table, transaction, batch_record)
    if isinstance(prepared, BeginningPrepared):
        assert batch.begins is not None
        rows = begun(_current_rows(session, batch, batch.begins, place_of), columns, batch.last)
        closing = columns.closed(columns.beginning(batch.last))
        return _anew(session, rows, closing, columns, *written)
    if batch.kind is BatchKind.REPLACE:
        rows = _folded(prepared, None, columns).select(*columns.data)
        closing = columns.closed(columns.re_creation())
        return _anew(session, rows, closing, columns, *written)
    if prepared.counts.only_inserts and not rewrites:
        committing.append(_folded(prepared, None, columns).select(*columns.data), *written)
        return {}
    present = committing.present_rows(session, table, batch)
    is_open = F.col(columns.ours[IS_CURRENT])
    folded = _folded(prepared, present.where(is_open), columns)
    first_truncate = next(iter(prepared.marked.truncates), None)
    if rewrites:
        rows = _rewritten(present, folded, columns, first_truncate)
        return committing.begin_anew(session, rows, *written)
    _merge(session, folded, columns, prepared.marked.keys, first_truncate, batch, table)
    return {}


def _folded(
    prepared: SparkPrepared, present: DataFrame | None, columns: VersionColumns
) -> DataFrame:
    changes = in_few_tasks(prepared.changes, prepared)
    if prepared.counts.only_inserts:
        return only_opened(changes, columns).withColumn(KIND, F.lit(OPENS))
    few = prepared.counts.operations <= IN_ONE_TASK
    return fold_versions(changes, prepared.marked, present, columns, few=few)


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
    if begins.is_soft:
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


def _rewritten(
    present: DataFrame, folded: DataFrame, columns: VersionColumns, truncated: RowPlace | None
) -> DataFrame:
    """Every version after the batch; the table is read inside the query that writes it."""
    ends = folded.where(F.col(KIND) == CLOSES).select(
        *columns.matched, *columns.closing, F.lit(True).alias("ends")
    )
    is_open = F.col(f"t.{columns.ours[IS_CURRENT]}")
    joined = present.alias("t").join(ends.alias("s"), same_key(columns.matched) & is_open, "left")
    closed = F.col("ends").isNotNull()
    rows = joined.select(
        *(
            F.when(closed, F.col(f"s.{name}")).otherwise(F.col(f"t.{name}")).alias(name)
            if name in columns.closing
            else F.col(f"t.{name}").alias(name)
            for name in columns.data
        )
    )
    if truncated is not None:
        still_open = F.col(columns.ours[IS_CURRENT])
        rows = _closed_where(rows, still_open, _truncating(columns, truncated), columns)
    opened = folded.where(F.col(KIND) == OPENS).select(*columns.data)
    return rows.unionByName(opened)


def _merge(
    session: SparkSession,
    folded: DataFrame,
    columns: VersionColumns,
    facts: KeyFacts,
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
    matches = [f"s.{kind} = '{CLOSES}'", is_open]
    before = {column.name for column in schema.columns} - {c.name for c in batch.union.added}
    for position, column in zip(columns.data, schema.columns, strict=True):
        # What comes with this batch is NULL in every row of the table.
        if position in columns.matched and column.name in before:
            same = "=" if position in facts.not_null else "<=>"
            matches.append(f"t.{names[position]} {same} s.{names[position]}")
    condition = " AND ".join(matches)
    if truncated is None:
        condition += committing.within(facts.bounds, schema)
    builder = DeltaTable.forPath(session, table).alias("t").merge(source.alias("s"), condition)
    if batch.union.added or batch.union.widened:
        builder = builder.withSchemaEvolution()
    builder = builder.whenMatchedUpdate(
        set={names[position]: f"s.{names[position]}" for position in columns.closing}
    ).whenNotMatchedInsert(f"s.{kind} = '{OPENS}'", {name: f"s.{name}" for name in names.values()})
    if truncated is not None:
        closing = _truncating(columns, truncated)
        builder = builder.whenNotMatchedBySourceUpdate(
            is_open, {names[position]: value for position, value in closing.items()}
        )
    builder.execute()
