"""The commits: append, merge, replace, rewrite, and one that changes no row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from delta.tables import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, DataFrameWriterV2, SparkSession
from pyspark.sql import functions as F

from openmirror.plan import Batch
from openmirror.plan.features import CHANGE_DATA_FEED
from openmirror.plan.soft_deletes import MARKS
from openmirror.ports import Transaction
from openmirror.ports.merge_rows import (
    KIND,
    MAY_INSERT,
    MergeKind,
    key_positions,
    positional,
    positions_of,
)
from openmirror.protocol.names import fold_case
from openmirror.protocol.rows import DELETED_AT
from openmirror.protocol.schema import TableSchema
from openmirror.spark.altering import properties_in_sql, set_properties
from openmirror.spark.features import TYPE_WIDENING, column_mapping, needs_mapping
from openmirror.spark.frames import ABSENT, MergeRows, named, quoted, same_key, sql_type
from openmirror.spark.key_conditions import has_key, within
from openmirror.spark.markers import RowPlace
from openmirror.spark.soft_deletes import SoftColumns
from openmirror.spark.transacting import (
    MISSING,
    TAKEN,
    ChangedMeanwhile,
    condition_of,
    writer,
)
from openmirror.spark.version_column import matches_that_count, version_column_of
from openmirror.table.control import BatchKind

_DELTAS_OWN = (
    "delta.columnMapping.maxColumnId",
    "delta.rowTracking.materialized",
    "delta.coordinatedCommits.",
)
"""Properties that Delta sets by itself, and refuses when they are given."""
_MERGE_MARKS = "spark.databricks.delta.merge.deletionVectors.persistent"


def append(
    frame: DataFrame, batch: Batch, table: str, transaction: Transaction, batch_record: str
) -> None:
    """Add rows to a table that is there. Never creates one: `mode("append")` would."""
    to = writer(named(frame, batch.union.schema), table, transaction, batch_record)
    changes = bool(batch.union.added or batch.union.widened)
    to.option("mergeSchema", str(changes).lower()).append()


def replace(
    rows: DataFrame, batch: Batch, table: str, transaction: Transaction, batch_record: str
) -> dict[str, str]:
    """Make the table these rows and nothing else, creating it only where the batch may.

    Returns the properties that are still to be set, as `rewrite` does.
    """
    schema = batch.union.schema
    properties = {**dict(batch.features.properties), **column_mapping(schema.names)}
    return _create_or_replace(
        named(rows, schema), batch, table, transaction, batch_record, properties
    )


def begin_anew(
    session: SparkSession,
    rows: DataFrame,
    batch: Batch,
    table: str,
    transaction: Transaction,
    batch_record: str,
) -> dict[str, str]:
    """Make the table these rows in place of all that it has, as a truncate asks; never creates one.

    While its schema stays, only its rows go: what people say of its columns is its own. Returns the
    properties that are still to be set, as `rewrite` does.
    """
    schema, union = batch.union.schema, batch.union
    is_same = not (union.added or union.widened or batch.hardens)
    if is_same and batch.kind is BatchKind.EXTEND:  # of others no property is set beforehand
        overwrite_rows(rows, batch, table, transaction, batch_record)
        return {}
    # What the table has stays; a replace by rows of another folder may need more.
    needed = dict(batch.features.properties)
    properties = {**needed, **_properties(session, table), **column_mapping(schema.names)}
    if batch.hardens:
        properties.pop(MARKS.property, None)
    return _create_or_replace(
        named(rows, schema), batch, table, transaction, batch_record, properties
    )


def merge(session: SparkSession, rows: MergeRows, batch: Batch, table: str) -> None:
    """One MERGE of a folded batch. The session carries the transaction: MERGE takes no options."""
    schema, folded, needs = batch.union.schema, rows.frame, rows.needs
    # Delta adds a column, or widens one, only when the source has it under the table's own name.
    kind, may_insert = free_name(KIND, schema), free_name(MAY_INSERT, schema)
    absent = free_name(ABSENT, schema) if ABSENT in folded.columns else None
    source = folded.select(
        *(
            F.col(position).alias(column.name)
            for position, column in zip(
                positional(len(schema.columns)), schema.columns, strict=True
            )
        ),
        F.col(KIND).alias(kind),
        F.col(MAY_INSERT).alias(may_insert),
        *((F.col(ABSENT).alias(absent),) if absent else ()),
    )
    sets = {quoted(column.name): f"s.{quoted(column.name)}" for column in schema.columns}
    mark_no_files_by_null(session, batch, needs.not_null)
    builder = (
        DeltaTable.forPath(session, table)
        .alias("t")
        .merge(
            source.alias("s"),
            f"s.{kind} <> '{MergeKind.PLAIN_INSERT}' AND {has_key(batch, needs.not_null)}"
            f"{_live(batch, kind)}{within(needs.bounds, batch.union)}",
        )
    )
    if batch.union.added or batch.union.widened:
        builder = builder.withSchemaEvolution()
    version_column = version_column_of(batch)
    # Where this batch adds the version column, the table's rows are NULL there: any change counts.
    name = (
        quoted(version_column.name)
        if version_column and version_column not in batch.union.added
        else None
    )
    deletes, updates = matches_that_count(f"s.{kind}", name)
    # A clause that nothing needs makes Delta look for rows that it would not have to find.
    if needs.deletes or needs.unmarks:
        unmarks = F.expr(f"s.{kind} = '{MergeKind.UNMARK}'")
        builder = builder.whenMatchedDelete(deletes | unmarks if needs.unmarks else deletes)
    if needs.updates:
        builder = builder.whenMatchedUpdate(updates, {**sets, **_kept(batch, absent)})
    if needs.marks:
        written = SoftColumns.of(batch).written
        names = zip(positional(len(schema.columns)), sets.items(), strict=True)
        of_mark: dict[str, str | Column] = {
            name: value for position, (name, value) in names if position in written
        }
        builder = builder.whenMatchedUpdate(f"s.{kind} = '{MergeKind.MARK}'", of_mark)
    # Delta adds a column, or widens one, only if some clause writes it.
    if needs.inserts or batch.union.added or batch.union.widened:
        builder = builder.whenNotMatchedInsert(
            f"s.{kind} = '{MergeKind.PLAIN_INSERT}'"
            f" OR (s.{kind} = '{MergeKind.UPDATE}' AND s.{may_insert})",
            dict(sets),
        )
    builder.execute()


def mark_no_files_by_null(session: SparkSession, batch: Batch, not_null: frozenset[str]) -> None:
    """Have the next MERGE write files anew, where it has keys of NULL.

    Where files are marked, Delta asks its condition again of rows that matched nothing, and NULL is
    NULL there: what looks for a key of NULL that no row has would end in an error.
    """
    if not not_null.issuperset(key_positions(batch)):
        session.conf.set(_MERGE_MARKS, "false")


def _live(batch: Batch, kind: str) -> str:
    """Which merge rows match a row that is marked, and which one that is not."""
    if batch.soft is None:
        return ""
    if any(column.name == DELETED_AT for column in batch.union.added):
        return f" AND s.{kind} <> '{MergeKind.UNMARK}'"  # no row is marked yet
    return f" AND (s.{kind} = '{MergeKind.UNMARK}') = (t.{quoted(DELETED_AT)} IS NOT NULL)"


def _kept(batch: Batch, absent: str | None) -> dict[str, str]:
    """What an update sets columns to that it may leave as they are; new ones have no value yet."""
    schema = batch.union.schema
    free = {fold_case(name) for name in batch.frozen.key_columns}
    free |= {fold_case(column.name) for column in batch.union.added}
    return {
        (name := quoted(column.name)): f"CASE WHEN array_contains(s.{absent}, '{position}') "
        f"THEN t.{name} ELSE s.{name} END"
        for position, column in zip(positional(len(schema.columns)), schema.columns, strict=True)
        if absent is not None and fold_case(column.name) not in free
    }


def free_name(name: str, schema: TableSchema) -> str:
    """A name for a column of ours that no column of the table has."""
    while schema.find(name):
        name += "_"
    return name


def overwrite(
    session: SparkSession,
    merge_rows: DataFrame,
    batch: Batch,
    table: str,
    transaction: Transaction,
    batch_record: str,
) -> None:
    """Write all of a small table again with the batch applied, in one job; never creates one.

    Both sides are one task each, so nothing is shuffled; the batch is what is held of the two. The
    table is read inside the writing transaction, as `rewrite` says. It keeps its properties.
    """
    schema = batch.union.schema
    data, keys = positional(len(schema.columns)), key_positions(batch)
    here, changed = F.col("here"), F.col(KIND).isNotNull()
    merging, own = F.col(KIND) != MergeKind.PLAIN_INSERT, [F.lit(True).alias("here")]
    changes = merge_rows.where(merging)
    changing = dict.fromkeys(data, changed)
    if batch.soft:
        soft = SoftColumns.of(batch)
        own.append(soft.is_marked().alias("marked"))
        changes = changes.withColumn("marked", F.col(KIND) == MergeKind.UNMARK)
        keys = [*keys, "marked"]
        changing = dict.fromkeys(data, changed & (F.col(KIND) != MergeKind.MARK))
        changing |= dict.fromkeys(soft.written, changed)
    old = present_rows(session, table, batch).coalesce(1).select("*", *own)
    joined = old.alias("t").join(changes.hint("shuffle_hash").alias("s"), same_key(keys), "full")
    lasts = F.col(KIND).isin(MergeKind.UPDATE, MergeKind.MARK)
    stays = here.isNotNull() & (~changed | lasts)
    comes = here.isNull() & (F.col(KIND) == MergeKind.UPDATE) & F.col(MAY_INSERT)
    rows = joined.where(stays | comes).select(
        *(
            F.when(changing[name], F.col(f"s.{name}")).otherwise(F.col(f"t.{name}")).alias(name)
            for name in data
        )
    )
    plain_inserts = merge_rows.where(~merging).select(*data)
    whole = rows.unionByName(plain_inserts).coalesce(1)
    overwrite_rows(whole, batch, table, transaction, batch_record)


def overwrite_rows(
    rows: DataFrame, batch: Batch, table: str, transaction: Transaction, batch_record: str
) -> None:
    """Put these rows in place of all that a table has, which keeps its properties; never creates
    one."""
    to = writer(named(rows, batch.union.schema), table, transaction, batch_record)
    to = to.option("mergeSchema", str(bool(batch.union.added)).lower())
    # With this option rows are replaced; without it the table is, and its clustering goes.
    to.option("replaceWhere", "true").overwrite(F.lit(True))


def rewrite(
    session: SparkSession,
    folded: DataFrame,
    batch: Batch,
    table: str,
    transaction: Transaction,
    batch_record: str,
    *,
    only_inserts: bool,
    truncate: RowPlace | None = None,
) -> dict[str, str]:
    """Commit the whole table anew with the batch applied: for types that grew, and truncates of a
    table whose deletes are soft, of which `truncate` is the first.

    The table is read lazily inside the writing query, so that the read takes the transaction's
    own snapshot: a commit that lands before the write is included, one that lands during it is a
    conflict. A frame that was materialised before would lose it silently.
    """
    schema = batch.union.schema
    data = positional(len(schema.columns))
    old = present_rows(session, table, batch)
    plain_inserts = folded.where(F.col(KIND) == MergeKind.PLAIN_INSERT).select(*data)
    if only_inserts:
        rows = old.unionByName(plain_inserts)
    else:
        keys = key_positions(batch)
        changes = folded.where(F.col(KIND) != MergeKind.PLAIN_INSERT)
        version_column = version_column_of(batch)
        position = positions_of(schema, [version_column.name])[0] if version_column else None
        soft = SoftColumns.of(batch) if batch.soft else None
        all_marked = soft.written_at(batch, truncate) if soft and truncate else {}
        left = _changed(old, changes, data, keys, position, soft, all_marked)
        rows = left.unionByName(plain_inserts)
    return begin_anew(session, rows, batch, table, transaction, batch_record)


def present_rows(session: SparkSession, table: str, batch: Batch) -> DataFrame:
    """The rows that a batch goes on from by position, in the types after it; lazy, as commits need.

    Marked rows are among them, unless the batch ends soft deletes. Raises ChangedMeanwhile for a
    column that the batch does not know: what is written anew would not have it.
    """
    rows = session.read.format("delta").load(table)
    # A runner that died between the property and its batch left no such column.
    if batch.hardens and DELETED_AT in rows.columns:
        # A publisher may have a column of that name from now on, of any type.
        rows = rows.where(F.col(DELETED_AT).isNull()).drop(DELETED_AT)
    known = {fold_case(name) for name in batch.union.schema.names}
    for name in rows.columns:
        if fold_case(name) not in known:
            raise ChangedMeanwhile(f"{table} has a column {name!r} by now")
    return as_positions(rows, batch.union.schema)


def enable_widening(session: SparkSession, table: str) -> None:
    """Let later commits of this table widen types in place; does nothing twice."""
    if _properties(session, table).get(TYPE_WIDENING) != "true":
        set_properties(session, table, {TYPE_WIDENING: "true"})


def merge_nothing(session: SparkSession, table: str) -> None:
    """A commit of nothing but the session's transaction: a MERGE that can match no row."""
    target = DeltaTable.forPath(session, table).alias("t")
    target.merge(session.range(0).alias("s"), "false").whenMatchedDelete().execute()


def create_empty(
    session: SparkSession, schema: TableSchema, table: str, transaction: Transaction
) -> None:
    """A table without rows, only where there is none; the session carries the transaction."""
    frame = session.range(0).select(
        *(F.lit(None).cast(sql_type(c.type)).alias(c.name) for c in schema.columns)
    )
    properties = column_mapping(schema.names)
    to = writer(frame, table, transaction, "")
    for key, value in properties.items():
        to = to.tableProperty(key, value)
    try:
        to.create()
    except AnalysisException as error:
        if condition_of(error) not in TAKEN or _is_there(session, table):
            raise
        # A writer that died has left something, and a create wants an empty place. To replace what
        # somebody may make there meanwhile would take its rows: this adds none to it.
        frame.write.format("delta").options(**properties).mode("append").save(table)


def _is_there(session: SparkSession, table: str) -> bool:
    try:
        session.read.format("delta").load(table)
    except AnalysisException as error:
        if condition_of(error) not in MISSING:
            raise
        return False
    return True


def _properties(session: SparkSession, table: str) -> dict[str, str]:
    """The properties to pass on: a replace keeps none by itself."""
    detail = DeltaTable.forPath(session, table).detail().select("properties").first()
    given = dict(detail[0]) if detail else {}
    return {key: value for key, value in given.items() if not key.startswith(_DELTAS_OWN)}


def is_newest(session: SparkSession, table: str, batch_record: str) -> bool:
    """Whether a table's newest commit is the one with this record: Delta skips a transaction that
    it has, or that is fenced, in silence."""
    newest = DeltaTable.forPath(session, table).history(1).select("userMetadata").first()
    return newest is not None and newest[0] == batch_record


def _create_or_replace(
    frame: DataFrame,
    batch: Batch,
    table: str,
    transaction: Transaction,
    batch_record: str,
    properties: Mapping[str, str],
) -> dict[str, str]:
    given, deferred = dict(properties), {}
    if given.get(CHANGE_DATA_FEED) == "true" and needs_mapping(batch.union.schema.names):
        # Delta refuses a replace of the schema under both.
        deferred[CHANGE_DATA_FEED] = given.pop(CHANGE_DATA_FEED)
    if batch.features.clustering:
        _create_or_replace_clustered(
            frame, table, given, batch.features.clustering, may_create=batch.may_create
        )
        return deferred
    to = writer(frame, table, transaction, batch_record)
    for key, value in given.items():
        to = to.tableProperty(key, value)
    if batch.may_create:
        _create_or_take(to)
    else:
        # A table that was dropped meanwhile is retained with its log: there must be no other.
        to.replace()
    return deferred


def _create_or_take(to: DataFrameWriterV2) -> None:
    """Create the table, or replace the one that somebody made meanwhile.

    A replace asks which files it removes, by a job, even where there is no table: it takes twice
    as long as a create, which gives way to whatever lies at its path.
    """
    try:
        to.create()
    except AnalysisException as error:
        if condition_of(error) not in TAKEN:
            raise
        to.createOrReplace()


def _create_or_replace_clustered(
    frame: DataFrame,
    table: str,
    properties: Mapping[str, str],
    clustering: Iterable[str],
    *,
    may_create: bool,
) -> None:
    """By SQL, since a writer of frames cannot cluster; the session carries the transaction."""
    session, rows = frame.sparkSession, "rows_of_the_batch"
    frame.createOrReplaceTempView(rows)
    columns = ", ".join(map(quoted, clustering))
    given = f" TBLPROPERTIES ({properties_in_sql(properties.items())})" if properties else ""
    create = "CREATE OR " if may_create else ""
    session.sql(
        f"{create}REPLACE TABLE delta.{quoted(table)} USING delta CLUSTER BY ({columns}){given} "
        f"AS SELECT * FROM {rows}"
    )
    session.catalog.dropTempView(rows)


def as_positions(table: DataFrame, schema: TableSchema) -> DataFrame:
    """The rows of a table by position, in the types of a schema; NULL where it has no column."""
    present = {fold_case(name): quoted(name) for name in table.columns}
    # As text: a call into the JVM for each column, in place of four.
    return table.selectExpr(
        *(
            f"CAST({present.get(fold_case(column.name), 'NULL')} AS {sql_type(column.type)})"
            f" AS {position}"
            for position, column in zip(
                positional(len(schema.columns)), schema.columns, strict=True
            )
        )
    )


def _changed(
    old: DataFrame,
    changes: DataFrame,
    data: list[str],
    keys: list[str],
    version_column: str | None,
    soft: SoftColumns | None,
    all_marked: Mapping[str, Column],
) -> DataFrame:
    """Old rows with updates and deletes applied, and the updates that match no row.

    `all_marked` is what is written into each live row that no change of the batch matches.
    """
    matches, live = same_key(keys), old
    deletes, updates = matches_that_count(f"s.{KIND}", version_column)
    if soft is not None:
        is_marked, unmarks = soft.is_marked("t"), F.col(f"s.{KIND}") == MergeKind.UNMARK
        matches, live = matches & (is_marked == unmarks), old.where(~soft.is_marked())
        deletes = deletes | unmarks
    joined = old.alias("t").join(changes.alias("s"), matches, "left")

    def after(column: str) -> Column:
        changes_it = updates
        if ABSENT in changes.columns:
            changes_it = updates & ~F.array_contains(F.col(f"s.{ABSENT}"), column)
        own = F.col(f"t.{column}")
        if soft is not None and column in soft.written:
            changes_it = changes_it | (F.col(f"s.{KIND}") == MergeKind.MARK)
            if all_marked:
                is_left = F.col(f"s.{KIND}").isNull() & ~soft.is_marked("t")
                own = F.when(is_left, all_marked[column]).otherwise(own)
        return F.when(changes_it, F.col(f"s.{column}")).otherwise(own)

    # NULL, where no change has the key or one does not count, is neither.
    kept = joined.where(~F.coalesce(deletes, F.lit(False))).select(
        *(after(column).alias(column) for column in data)
    )
    new = changes.where((F.col(KIND) == MergeKind.UPDATE) & F.col(MAY_INSERT)).alias("s")
    unmatched = new.join(live.alias("t"), same_key(keys), "left_anti").select(*data)
    return kept.unionByName(unmatched)
