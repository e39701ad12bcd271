"""The engine: reads batches and commits them with Spark and Delta Lake."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from openmirror.plan import Batch
from openmirror.plan.features import CHANGE_DATA_FEED, hides_places
from openmirror.plan.maintenance_steps import MaintenanceStep
from openmirror.plan.observed import TypeChange
from openmirror.ports import BadFile, CommitResult, Converter, Prepared, Transaction
from openmirror.ports.merge_rows import (
    KIND,
    MAY_INSERT,
    BatchFolder,
    MergeKind,
    key_positions,
    positions_of,
)
from openmirror.ports.new_files import FileWriter, InsertsWriter, WrittenInserts
from openmirror.protocol.rows import DELETED_AT, NoRowToUpdate
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.versions import IS_CURRENT
from openmirror.spark import committing
from openmirror.spark.altering import set_features, set_properties
from openmirror.spark.base_rows import first_without_base
from openmirror.spark.choosing import BatchShape, Commit, CurrentTable, choose
from openmirror.spark.converting import converted
from openmirror.spark.copies import CopiedFiles, Copies
from openmirror.spark.delta_transaction import DeltaTransaction, is_known
from openmirror.spark.direct_commits import DirectCommits
from openmirror.spark.failures import reading_files, spark_is_alive, storage_answers
from openmirror.spark.features import needs_mapping, widens_in_place
from openmirror.spark.holding import held, read_all
from openmirror.spark.maintaining import maintain
from openmirror.spark.markers import (
    MarkedRows,
    RowPlace,
    counts_without_reading,
    file_with,
    read_markers,
)
from openmirror.spark.merging import has_whole_rows, merge_rows, needs_of
from openmirror.spark.pieces import Piece, pieces
from openmirror.spark.places import SparkPaths
from openmirror.spark.prepared import (
    BeginningPrepared,
    FoldedPrepared,
    SparkPrepared,
    WrittenPrepared,
)
from openmirror.spark.reading import read_changes
from openmirror.spark.reading_here import ReadingHere
from openmirror.spark.replacing_rows import replace_rows
from openmirror.spark.state_ahead import StateAhead
from openmirror.spark.transacting import activate, bind, commit_outcome, fresh_session
from openmirror.spark.version_commits import begin_history, commit_versions
from openmirror.table.control import BatchKind
from openmirror.table.layout import StorePath

_FROM_NOTHING = (Commit.REPLACE, Commit.BEGIN_ANEW)
"""Of what the table has, nothing stays."""
_WITH_ANY_SCHEMA = (*_FROM_NOTHING, Commit.REWRITE)
"""The table gets the batch's types with its rows: turning on that they grow in place would shut out
readers for nothing."""


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
        copies: Copies | None = None,
        small_batches: BatchFolder | None = None,
        small_table: int = 0,
        small_tables: FileWriter | None = None,
        large_inserts: InsertsWriter | None = None,
    ) -> None:
        """`copies` are read instead of change files, where Spark runs on this machine alone; else
        it holds their rows. `small_batches` folds what Spark need not; `small_table` is how many
        bytes a table may have that is written again whole rather than merged into;
        `small_tables` writes data files that Spark then need not write, and `large_inserts` those
        of large batches that can only add rows, to where `copies` are."""
        self._spark = spark
        self._spark_path = spark_path
        self._converter = converter
        self._conversion_threads = conversion_threads
        self._settings = dict(settings or {})
        self._copies = copies
        self._small_table = small_table
        self._knows_delta = is_known(spark)
        writes = small_tables is not None and self._knows_delta
        self._direct = DirectCommits(small_tables if writes else None, small_table)
        self._here = ReadingHere(self._direct, small_batches, large_inserts, copies)
        self._ahead = StateAhead(self._fresh)

    def read(self, batch: Batch) -> Prepared | BadFile:
        """Read every change of a batch, and check every row marker."""
        if batch.kind is BatchKind.EXTEND:
            self._ahead.want(self._spark_path(batch.table))
        if batch.begins is not None:
            return BeginningPrepared()
        small = self._here.small(batch)
        if small is not None:
            return small
        with spark_is_alive():
            larger = self._here.larger(self._fresh(), batch, self._spark_path(batch.table))
            return larger or self._read(batch)

    def _read(self, batch: Batch) -> Prepared | BadFile:
        with ExitStack() as stack:
            parts = stack.enter_context(converted(self._converter, batch, self._conversion_threads))
            if isinstance(parts, BadFile):
                return parts
            copied = CopiedFiles({}, {})
            if self._copies:
                others = [f for f in batch.files if f.sequence not in parts.by_file]
                copied = stack.enter_context(self._copies.of(others))
            read = list(pieces(batch.files, parts.by_file, self._spark_path, copied.paths))
            session = self._fresh()
            with reading_files(batch, read) as failed:
                changes = read_changes(session, batch, read)
                if not self._copies:
                    changes = stack.enter_context(held(changes))
                marked = self._marked(session, changes, batch, read)
            if failed.file is not None:
                return failed.file
            if isinstance(marked, BadFile):
                return marked
            counts = replace(marked.counts, first_truncated=parts.truncated)
            marked = replace(marked, counts=counts)
            checksums = {**copied.checksums, **parts.checksums}
            return SparkPrepared(
                session=session,
                changes=changes,
                marked=marked,
                checksums=checksums,
                let_go=stack.pop_all().close,
            )

    def _marked(
        self, session: SparkSession, changes: DataFrame, batch: Batch, read: list[Piece]
    ) -> MarkedRows | BadFile:
        known = counts_without_reading(batch)
        if known is not None:
            if self._copies:
                read_all(changes)
            return MarkedRows(known)
        marked = read_markers(session, changes, batch, read, reads_all=bool(self._copies))
        if isinstance(marked, BadFile) or not marked.absent:
            return marked
        with storage_answers(batch.table), commit_outcome():
            # A table that is gone is found by the commit, which then does not happen.
            without = self._without_base(session, changes, marked, batch)
            if without is not None:
                sequence, row = without
                detail = str(NoRowToUpdate(row))
                return BadFile(
                    file_with(batch, sequence).name, Broken(Code.NO_ROW_TO_UPDATE, detail)
                )
        return marked

    def _without_base(
        self, session: SparkSession, changes: DataFrame, marked: MarkedRows, batch: Batch
    ) -> RowPlace | None:
        schema, present = batch.union.schema, None
        if batch.kind is BatchKind.EXTEND:
            present = committing.present_rows(session, self._spark_path(batch.table), batch)
            if batch.soft:
                [deleted_at] = positions_of(schema, [DELETED_AT])
                present = present.where(F.col(deleted_at).isNull())
            if batch.is_of_history:
                [is_current] = positions_of(schema, [IS_CURRENT])
                present = present.where(F.col(is_current))
        keys = key_positions(batch)
        return first_without_base(changes, marked, keys, present)

    def commit(
        self, batch: Batch, prepared: Prepared, transaction: Transaction, batch_record: str
    ) -> CommitResult:
        """Apply a batch by the cheapest commit that is provably equal to its changes in order."""
        assert isinstance(
            prepared, SparkPrepared | FoldedPrepared | WrittenPrepared | BeginningPrepared
        )
        table = self._spark_path(batch.table)
        self._ahead.committing(table)
        try:
            with spark_is_alive(), storage_answers(batch.table), commit_outcome() as outcome:
                written = (batch, table, transaction, batch_record)
                if isinstance(prepared, WrittenPrepared):
                    return self._commit_written(prepared.written, *written)
                if isinstance(prepared, BeginningPrepared):
                    deferred = self._begin_history(*written)
                else:
                    deferred = self._commit(prepared, *written)
                # Whoever dies here leaves it to the next batch; and a table that another has by now
                # is none of ours to alter.
                if deferred and committing.is_newest(self._fresh(), table, batch_record):
                    set_properties(self._fresh(), table, deferred)
        finally:
            self._ahead.committed(table, by_checksum=self._direct.follows(table))
        return outcome.result

    def _commit(
        self,
        prepared: SparkPrepared | FoldedPrepared,
        batch: Batch,
        table: str,
        transaction: Transaction,
        batch_record: str,
    ) -> dict[str, str]:
        session = prepared.session if isinstance(prepared, SparkPrepared) else self._fresh()
        activate(session)
        begun = None
        if isinstance(prepared, FoldedPrepared):
            begun = self._direct.begin(session, batch, table)
        shape = self._shape(batch, prepared, session, table, begun)
        how = choose(shape, self._small_table)
        if batch.kind is BatchKind.EXTEND and batch.features.is_due:
            set_features(self._fresh(), table, batch.features)
        if batch.union.widened and how not in _WITH_ANY_SCHEMA:
            committing.enable_widening(self._fresh(), table)
        activate(session)
        bind(session, transaction, batch_record)
        written = (batch, table, transaction, batch_record)
        if (
            begun is not None
            and isinstance(prepared, FoldedPrepared)
            and self._direct.commit(begun, how, prepared.folded, *written)
        ):
            return {}
        self._direct.leave(table)
        if batch.is_of_history:
            return commit_versions(session, prepared, how, *written)
        return self._commit_rows(session, prepared, how, *written)

    def _commit_written(
        self,
        written: WrittenInserts,
        batch: Batch,
        table: str,
        transaction: Transaction,
        batch_record: str,
    ) -> CommitResult:
        session = self._fresh()
        activate(session)
        if self._direct.commit_written(session, written, batch, table, transaction, batch_record):
            return CommitResult.DONE
        if DeltaTransaction.begin(session, table) is None:
            return CommitResult.MISSING
        # It has become a table that Spark has to write to, who then reads the batch.
        return CommitResult.CONFLICT

    def _commit_rows(
        self,
        session: SparkSession,
        prepared: SparkPrepared | FoldedPrepared,
        how: Commit,
        batch: Batch,
        table: str,
        transaction: Transaction,
        batch_record: str,
    ) -> dict[str, str]:
        into = None if how in _FROM_NOTHING else table
        rows = merge_rows(prepared, batch, session, into)
        written = (batch, table, transaction, batch_record)
        deferred = dict[str, str]()
        match how:
            case Commit.REPLACE:
                deferred = committing.replace(_as_first_rows(rows.frame), *written)
            case Commit.BEGIN_ANEW:
                deferred = committing.begin_anew(session, _as_first_rows(rows.frame), *written)
            case Commit.REWRITE:
                # Truncates that mark rows are for Spark to fold.
                truncates = prepared.marked.truncates if isinstance(prepared, SparkPrepared) else ()
                deferred = committing.rewrite(
                    session,
                    rows.frame,
                    *written,
                    only_inserts=prepared.counts.only_inserts,
                    truncate=next(iter(truncates), None),
                )
            case Commit.APPEND:
                committing.append(rows.frame, *written)
            case Commit.OVERWRITE:
                committing.overwrite(session, rows.frame, *written)
            case Commit.REPLACE_ROWS:
                if not replace_rows(session, rows, *written):
                    committing.merge(session, rows, batch, table)
            case Commit.MERGE:
                committing.merge(session, rows, batch, table)
        return deferred

    def _begin_history(
        self, batch: Batch, table: str, transaction: Transaction, batch_record: str
    ) -> dict[str, str]:
        session = self._fresh()
        activate(session)
        bind(session, transaction, batch_record)
        self._direct.leave(table)
        written = (batch, table, transaction, batch_record)
        return begin_history(session, self._spark_path, *written)

    def _shape(
        self,
        batch: Batch,
        prepared: SparkPrepared | FoldedPrepared,
        session: SparkSession,
        table: str,
        begun: DeltaTransaction | None,
    ) -> BatchShape:
        is_folded, union = isinstance(prepared, FoldedPrepared), batch.union
        # A truncate that marks rows, or closes versions, keeps all of them.
        keeps_all = batch.soft is not None or batch.is_of_history
        marks_all = prepared.truncates and batch.soft is not None
        is_whole = has_whole_rows(prepared, batch)
        needs = needs_of(prepared, batch)
        may_replace = self._knows_delta and is_whole and needs.merges
        asks = batch.kind is BatchKind.EXTEND and (is_folded or may_replace)
        return BatchShape(
            kind=batch.kind,
            truncates=prepared.truncates and not keeps_all,
            rewrites=must_rewrite(batch) or batch.hardens or marks_all,
            widens=bool(union.widened),
            adds_columns=bool(union.added),
            needs=needs,
            folded_here=is_folded,
            direct=begun is not None and self._direct.writes_many(table),
            whole_rows=is_whole,
            knows_delta=self._knows_delta,
            table=self._current(batch, session, table, begun) if asks else None,
        )

    def _current(
        self, batch: Batch, session: SparkSession, table: str, begun: DeltaTransaction | None
    ) -> CurrentTable | None:
        """What is known of a table, with the change feed that comes with this very batch."""
        current = self._direct.current(begun, table) if begun is not None else None
        current = current or self._ahead.current(session, table)
        if current is None or dict(batch.features.properties).get(CHANGE_DATA_FEED) != "true":
            return current
        return replace(current, has_change_data_feed=True)

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
        place = self._spark_path(table)
        self._ahead.committing(place)
        self._direct.leave(place)
        try:
            with spark_is_alive(), storage_answers(table), commit_outcome() as outcome:
                maintain(self._fresh(), place, step)
        finally:
            self._ahead.committed(place)
        return outcome.result

    def _fresh(self) -> SparkSession:
        return fresh_session(self._spark, self._settings)


def _as_first_rows(folded: DataFrame) -> DataFrame:
    """The rows that a batch leaves in an empty table."""
    adds_itself = (F.col(KIND) == MergeKind.UPDATE) & F.col(MAY_INSERT)
    return folded.where((F.col(KIND) == MergeKind.PLAIN_INSERT) | adds_itself)


def must_rewrite(batch: Batch) -> bool:
    """Whether the table's schema changes as no other commit can do it."""
    union = batch.union
    if any(hides_places(column.name) for column in union.added):
        return True  # there may be deletion vectors, which none of the new files has
    if needs_mapping(column.name for column in union.added):
        before = set(union.schema.names) - {column.name for column in union.added}
        if not needs_mapping(before):
            return True
    if not union.widened:
        return False
    in_place = all(widens_in_place(column.type, wide) for column, wide in union.widened)
    return batch.policy.type_change is not TypeChange.FEATURE or not in_place
