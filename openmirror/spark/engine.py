"""The engine: reads batches and commits them with Spark and Delta Lake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from openmirror.control import BatchKind
from openmirror.layout import StorePath
from openmirror.plan import Batch
from openmirror.plan.look import TypeChange
from openmirror.ports import BadFile, CommitResult, Converter, Counts, Prepared, Transaction
from openmirror.protocol.schema import TableSchema
from openmirror.spark import committing
from openmirror.spark.altering import set_features, set_properties
from openmirror.spark.converting import converted
from openmirror.spark.failing import reading_files, spark_is_alive, storage_answers
from openmirror.spark.features import needs_mapping, widens_in_place
from openmirror.spark.folding import EXTRA, UPDATE, fold
from openmirror.spark.frames import KIND, MAY_INSERT, positional, positions_of
from openmirror.spark.guarded_folding import fold_guarded
from openmirror.spark.guarding import guard_of
from openmirror.spark.interpreting import interpreted
from openmirror.spark.markers import count_markers, counts_without_reading
from openmirror.spark.pieces import PartsByFile, pieces
from openmirror.spark.places import Place
from openmirror.spark.reading import read_changes
from openmirror.spark.transacting import activate, bind, commit_outcome, fresh_session


@dataclass
class SparkPrepared:
    """A batch held by Spark: what later happens to its files cannot reach it."""

    session: SparkSession
    changes: DataFrame
    counts: Counts

    @property
    def only_inserts(self) -> bool:
        """Whether no row needs a key."""
        return self.counts.operations == self.counts.inserts

    def release(self) -> None:
        """Let Spark forget the rows: `unpersist` of the frame would not free them."""
        self.changes._jdf.queryExecution().logical().rdd().unpersist(False)


class SparkEngine:
    """TableEngine over one long-lived Spark application; safe to use from several threads.

    `place` says where Spark finds a path below the root; `converter` reads what Spark cannot, of
    each batch `conversion_threads` files at a time. `settings` are given to each session: how Spark
    gets at the files, in an application that somebody else started.
    """

    def __init__(
        self,
        spark: SparkSession,
        place: Place,
        converter: Converter,
        settings: Mapping[str, str] | None = None,
        *,
        conversion_threads: int = 2,
    ) -> None:
        self._spark = spark
        self._place = place
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

    def _hold(self, batch: Batch, parts: PartsByFile) -> Prepared | BadFile:
        session, read = self._fresh(), list(pieces(batch.files, parts))
        with reading_files(batch, self._place, read) as failed:
            changes = read_changes(session, self._place, batch, read)
            # Materialised, because a file may be replaced between here and the commit.
            held = changes.localCheckpoint(eager=True, storageLevel=StorageLevel.MEMORY_AND_DISK)
        if failed.file is not None:
            return failed.file
        known = counts_without_reading(batch)
        counts = known or count_markers(session, self._place, held, batch, read)
        if isinstance(counts, BadFile):
            SparkPrepared(session, held, Counts()).release()
            return counts
        return SparkPrepared(session, held, counts)

    def commit(
        self, batch: Batch, prepared: Prepared, transaction: Transaction, note: str
    ) -> CommitResult:
        """Apply a batch by the cheapest commit that is provably equal to its changes in order."""
        assert isinstance(prepared, SparkPrepared)
        session, table = prepared.session, self._place(batch.table)
        with spark_is_alive(), storage_answers(batch.table), commit_outcome() as outcome:
            rewrites, owed = _must_rewrite(batch), dict[str, str]()
            if batch.kind is BatchKind.EXTEND and batch.features.is_due:
                set_features(self._fresh(), table, batch.features)
            if batch.kind is BatchKind.EXTEND and batch.union.widened and not rewrites:
                committing.enable_widening(self._fresh(), table)
            activate(session)
            bind(session, transaction, note)
            if batch.kind is BatchKind.REPLACE:
                rows = _as_first_rows(self._folded(prepared, batch))
                owed = committing.replace(rows, batch, table, transaction, note)
            elif rewrites:
                folded = self._folded(prepared, batch, table)
                owed = committing.rewrite(
                    session,
                    folded,
                    batch,
                    table,
                    transaction,
                    note,
                    only_inserts=prepared.only_inserts,
                )
            elif prepared.only_inserts:
                committing.append(prepared.changes, batch, table, transaction, note)
            else:
                evolves = bool(batch.union.added or batch.union.widened)
                folded = self._folded(prepared, batch, table)
                committing.merge(session, folded, batch, table, evolves=evolves)
            if owed:
                # Whoever dies here leaves it to the next batch.
                set_properties(self._fresh(), table, owed)
        return outcome.result

    def record(
        self, table: StorePath, transaction: Transaction, create: TableSchema | None = None
    ) -> CommitResult:
        """Commit a transaction that changes no row."""
        with spark_is_alive(), storage_answers(table):
            return self._record(table, transaction, create)

    def _record(
        self, table: StorePath, transaction: Transaction, create: TableSchema | None
    ) -> CommitResult:
        session = self._fresh()
        bind(session, transaction)
        with commit_outcome() as outcome:
            committing.record(session, self._place(table))
        if outcome.result is CommitResult.MISSING and create is not None:
            with commit_outcome() as outcome:
                committing.create_empty(session, create, self._place(table), transaction)
        return outcome.result

    def _fresh(self) -> SparkSession:
        return fresh_session(self._spark, self._settings)

    def _folded(self, prepared: SparkPrepared, batch: Batch, table: str | None = None) -> DataFrame:
        """The merge rows of a batch; `table` is what they are merged into, if anything."""
        schema, changes = batch.union.schema, prepared.changes
        data = positional(len(schema.columns))
        if prepared.only_inserts:
            return changes.select(*data, F.lit(EXTRA).alias(KIND), F.lit(True).alias(MAY_INSERT))
        keys = positions_of(schema, batch.pinned.key_columns)
        column = guard_of(batch)
        if column is None:
            return fold(changes, data, keys)
        [guard] = positions_of(schema, [column.name])
        guarded = fold_guarded(changes, data, keys, guard)
        # Only an update after a delete entangles a key.
        if not (prepared.counts.updates and prepared.counts.deletes):
            return guarded.folded
        present = committing.present_rows(prepared.session, table, schema) if table else None
        rest = interpreted(guarded.entangled, present, data, keys, guard)
        return guarded.folded if rest is None else guarded.folded.unionByName(rest)


def _as_first_rows(folded: DataFrame) -> DataFrame:
    """The rows that a batch leaves in an empty table."""
    adds_itself = (F.col(KIND) == UPDATE) & F.col(MAY_INSERT)
    return folded.where((F.col(KIND) == EXTRA) | adds_itself)


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
