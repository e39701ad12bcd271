"""The engine: reads batches and commits them with Spark and Delta Lake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from openmirror.plan import Batch
from openmirror.plan.maintenance_steps import MaintenanceStep
from openmirror.plan.observed import TypeChange
from openmirror.ports import BadFile, CommitResult, Converter, Counts, Prepared, Transaction
from openmirror.protocol.checksums import Checksum
from openmirror.protocol.rows import NoRowToUpdate
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.sequence import Sequence as Number
from openmirror.spark import committing
from openmirror.spark.altering import set_features, set_properties
from openmirror.spark.base_rows import first_without_base
from openmirror.spark.converting import Parts, converted
from openmirror.spark.failures import reading_files, spark_is_alive, storage_answers
from openmirror.spark.features import needs_mapping, widens_in_place
from openmirror.spark.folding import PLAIN_INSERT, UPDATE, fold
from openmirror.spark.frames import KIND, MAY_INSERT, positional, positions_of
from openmirror.spark.interpreting import interpreted
from openmirror.spark.maintaining import maintain
from openmirror.spark.markers import (
    MarkedRows,
    RowPlace,
    after_last_truncate,
    counts_without_reading,
    file_with,
    read_markers,
)
from openmirror.spark.partial_folding import fold_partial
from openmirror.spark.pieces import Piece, pieces
from openmirror.spark.places import SparkPaths
from openmirror.spark.reading import read_changes
from openmirror.spark.transacting import activate, bind, commit_outcome, fresh_session
from openmirror.spark.version_column import version_column_of
from openmirror.spark.versioned_folding import fold_versioned
from openmirror.table.control import BatchKind
from openmirror.table.layout import StorePath

_IN_ONE_TASK = 20_000
"""Rows that are folded in one task; handing them out to several takes longer."""


@dataclass
class SparkPrepared:
    """A batch held by Spark: what later happens to its files cannot reach it."""

    session: SparkSession
    changes: DataFrame
    marked: MarkedRows
    checksums: Mapping[Number, Checksum]

    @property
    def counts(self) -> Counts:
        """Rows by kind."""
        return self.marked.counts

    @property
    def only_inserts(self) -> bool:
        """Whether no row needs a key."""
        return self.counts.operations == self.counts.inserts

    def release(self) -> None:
        """Let Spark forget the rows: `unpersist` of the frame would not free them."""
        self.changes._jdf.queryExecution().logical().rdd().unpersist(False)


class SparkEngine:
    """TableEngine over one long-lived Spark application; safe to use from several threads.

    `spark_path` names a path below the root as Spark does; `converter` reads what Spark cannot, of
    each batch `conversion_threads` files at a time. `settings` are given to each session: how Spark
    gets at the files, in an application that somebody else started.
    """

    def __init__(
        self,
        spark: SparkSession,
        spark_path: SparkPaths,
        converter: Converter,
        settings: Mapping[str, str] | None = None,
        *,
        conversion_threads: int = 2,
    ) -> None:
        self._spark = spark
        self._spark_path = spark_path
        self._converter = converter
        self._conversion_threads = conversion_threads
        self._settings = dict(settings or {})

    def read(self, batch: Batch) -> Prepared | BadFile:
        """Read every change of a batch into Spark, and check every row marker."""
        with spark_is_alive():
            return self._read(batch)

    def _read(self, batch: Batch) -> Prepared | BadFile:
        with converted(self._converter, batch, self._conversion_threads) as parts:
            return parts if isinstance(parts, BadFile) else self._hold(batch, parts)

    def _hold(self, batch: Batch, parts: Parts) -> Prepared | BadFile:
        session, read = self._fresh(), list(pieces(batch.files, parts.by_file))
        with reading_files(batch, self._spark_path, read) as failed:
            changes = read_changes(session, self._spark_path, batch, read)
            # Materialised, because a file may be replaced between here and the commit.
            held = changes.localCheckpoint(eager=True, storageLevel=StorageLevel.MEMORY_AND_DISK)
        if failed.file is not None:
            return failed.file
        marked = self._marked(session, held, batch, read)
        if isinstance(marked, BadFile):
            SparkPrepared(session, held, MarkedRows(Counts()), {}).release()
            return marked
        counts = replace(marked.counts, first_truncated=parts.truncated)
        return SparkPrepared(session, held, replace(marked, counts=counts), parts.checksums)

    def _marked(
        self, session: SparkSession, held: DataFrame, batch: Batch, read: list[Piece]
    ) -> MarkedRows | BadFile:
        known = counts_without_reading(batch)
        if known is not None:
            return MarkedRows(known)
        marked = read_markers(session, self._spark_path, held, batch, read)
        if isinstance(marked, BadFile) or not marked.absent:
            return marked
        with storage_answers(batch.table), commit_outcome():
            # A table that is gone is found by the commit, which then does not happen.
            without = self._without_base(session, held, marked, batch)
            if without is not None:
                sequence, row = without
                detail = str(NoRowToUpdate(row))
                return BadFile(
                    file_with(batch, sequence).name, Broken(Code.NO_ROW_TO_UPDATE, detail)
                )
        return marked

    def _without_base(
        self, session: SparkSession, held: DataFrame, marked: MarkedRows, batch: Batch
    ) -> RowPlace | None:
        schema, present = batch.union.schema, None
        if batch.kind is BatchKind.EXTEND:
            present = committing.present_rows(session, self._spark_path(batch.table), schema)
        keys = positions_of(schema, batch.frozen.key_columns)
        return first_without_base(held, marked, keys, present)

    def commit(
        self, batch: Batch, prepared: Prepared, transaction: Transaction, batch_record: str
    ) -> CommitResult:
        """Apply a batch by the cheapest commit that is provably equal to its changes in order."""
        assert isinstance(prepared, SparkPrepared)
        session, table = prepared.session, self._spark_path(batch.table)
        with spark_is_alive(), storage_answers(batch.table), commit_outcome() as outcome:
            rewrites, deferred = _must_rewrite(batch), dict[str, str]()
            if batch.kind is BatchKind.EXTEND and batch.features.is_due:
                set_features(self._fresh(), table, batch.features)
            if batch.kind is BatchKind.EXTEND and batch.union.widened and not rewrites:
                committing.enable_widening(self._fresh(), table)
            activate(session)
            bind(session, transaction, batch_record)
            if batch.kind is BatchKind.REPLACE:
                rows = _as_first_rows(self._folded(prepared, batch))
                deferred = committing.replace(rows, batch, table, transaction, batch_record)
            elif prepared.marked.truncates:
                rows = _as_first_rows(self._folded(prepared, batch))
                deferred = committing.begin_anew(
                    session, rows, batch, table, transaction, batch_record
                )
            elif rewrites:
                folded = self._folded(prepared, batch, table)
                deferred = committing.rewrite(
                    session,
                    folded,
                    batch,
                    table,
                    transaction,
                    batch_record,
                    only_inserts=prepared.only_inserts,
                )
            elif prepared.only_inserts:
                committing.append(prepared.changes, batch, table, transaction, batch_record)
            else:
                evolves = bool(batch.union.added or batch.union.widened)
                folded = self._folded(prepared, batch, table)
                committing.merge(session, folded, batch, table, evolves=evolves)
            if deferred:
                # Whoever dies here leaves it to the next batch.
                set_properties(self._fresh(), table, deferred)
        return outcome.result

    def commit_without_rows(
        self, table: StorePath, transaction: Transaction, create: TableSchema | None = None
    ) -> CommitResult:
        """Commit a transaction that changes no row."""
        with spark_is_alive(), storage_answers(table):
            return self._commit_without_rows(table, transaction, create)

    def _commit_without_rows(
        self, table: StorePath, transaction: Transaction, create: TableSchema | None
    ) -> CommitResult:
        session = self._fresh()
        bind(session, transaction)
        with commit_outcome() as outcome:
            committing.merge_nothing(session, self._spark_path(table))
        if outcome.result is CommitResult.MISSING and create is not None:
            with commit_outcome() as outcome:
                committing.create_empty(session, create, self._spark_path(table), transaction)
        return outcome.result

    def maintain(self, table: StorePath, step: MaintenanceStep) -> CommitResult:
        """Do one step of maintenance, in a session that carries no transaction."""
        with spark_is_alive(), storage_answers(table), commit_outcome() as outcome:
            maintain(self._fresh(), self._spark_path(table), step)
        return outcome.result

    def _fresh(self) -> SparkSession:
        return fresh_session(self._spark, self._settings)

    def _folded(self, prepared: SparkPrepared, batch: Batch, table: str | None = None) -> DataFrame:
        """The merge rows of a batch; `table` is what they are merged into, if anything."""
        schema, marked = batch.union.schema, prepared.marked
        changes = after_last_truncate(prepared.changes, marked)
        data = positional(len(schema.columns))
        if prepared.only_inserts:
            return changes.select(
                *data, F.lit(PLAIN_INSERT).alias(KIND), F.lit(True).alias(MAY_INSERT)
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


def _as_first_rows(folded: DataFrame) -> DataFrame:
    """The rows that a batch leaves in an empty table."""
    adds_itself = (F.col(KIND) == UPDATE) & F.col(MAY_INSERT)
    return folded.where((F.col(KIND) == PLAIN_INSERT) | adds_itself)


def _must_rewrite(batch: Batch) -> bool:
    union = batch.union
    if needs_mapping(column.name for column in union.added):
        before = set(union.schema.names) - {column.name for column in union.added}
        if not needs_mapping(before):
            return True
    if not union.widened:
        return False
    in_place = all(widens_in_place(column.type, wide) for column, wide in union.widened)
    return batch.policy.type_change is not TypeChange.FEATURE or not in_place
