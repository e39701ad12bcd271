"""A TableEngine by definition: rows as the plain interpreter gives them, transactions in real logs.

With it the whole product but Spark goes over the vectors: it observes, plans, converts and applies
by batches of any size, and only the fold and the commit are replaced by what they must equal.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from openmirror.deltalog import LogReplay
from openmirror.formats.conversion import FileConverter
from openmirror.plan import Batch
from openmirror.plan.facts import LandedFile
from openmirror.ports import BadFile, CommitResult, Counts, Prepared, Transaction
from openmirror.protocol.checksums import Checksum
from openmirror.protocol.marker_rules import MarkerRules
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.rows import (
    Change,
    ChangeFile,
    Marker,
    NoRowToUpdate,
    Table,
    apply_file,
    empty_table,
)
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.sequence import Sequence
from openmirror.protocol.versions import (
    History,
    apply_to_history,
    begin_with,
    empty_history,
    re_create,
)
from openmirror.spark.converting import converted
from openmirror.spark.pieces import Piece, pieces
from openmirror.stores.local.store import LocalStore
from openmirror.table.control import BatchKind, Truncated
from openmirror.table.layout import StorePath
from openmirror.table.log import TableLog
from openmirror.table.phases import Phases
from tests.conformance.interpreter import open_parquet, parquet_rows
from tests.conformance.pasts import history_in
from tests.conformance.row_types import row_in, table_in, without_marked
from tests.harness.paper import PaperEngine


@dataclass(frozen=True)
class _Read:
    """The changes of a batch, file by file."""

    files: list[ChangeFile]
    truncated: Truncated | None
    checksums: Mapping[Sequence, Checksum]

    @property
    def counts(self) -> Counts:
        kinds = [change.marker for file in self.files for change in file.changes]
        inserts, deletes = kinds.count(Marker.INSERT), kinds.count(Marker.DELETE)
        updates = len(kinds) - inserts - deletes
        return Counts(inserts, updates, deletes, self.truncated)

    @property
    def phases(self) -> Phases:
        return {}

    @property
    def asks_table(self) -> bool:
        return False

    def release(self) -> None:
        """Nothing is held elsewhere."""


class ReferenceEngine(PaperEngine):
    """Keeps the rows of each table in memory, under the id that its log gives it."""

    def __init__(self, store: LocalStore) -> None:
        super().__init__(store)
        self._logs = LogReplay(store)
        self._converter = FileConverter(store)
        self._tables: dict[str, Table] = {}
        self._versions: dict[tuple[str, int], Table] = {}
        """Tables as they were at versions of their logs."""
        self._histories: dict[str, History] = {}

    def rows(self, log: TableLog) -> list[dict[str, Any]]:
        """The rows of a table that has columns."""
        if log.table_id in self._histories:
            return self._histories[log.table_id].rows
        return self._tables[log.table_id].rows

    def _read(self, batch: Batch) -> Prepared | BadFile:
        with converted(self._converter, batch, 1) as parts:
            if isinstance(parts, BadFile):
                return parts
            files = []
            for file in batch.files:
                read = self._changes(file, pieces([file], parts.by_file, str), batch)
                if isinstance(read, BadFile):
                    return read
                files.append(read)
        if batch.is_of_history:
            return self._read_for_history(batch, files, parts.truncated, parts.checksums)
        if any(change.absent for file in files for change in file.changes):
            now = self._before(batch)
            for file, read in zip(batch.files, files, strict=True):
                try:
                    apply_file(now, read, file.modified)
                except NoRowToUpdate as error:
                    return BadFile(file.name, Broken(Code.NO_ROW_TO_UPDATE, str(error)))
        return _Read(files, parts.truncated, parts.checksums)

    def _changes(
        self, file: LandedFile, read: Iterable[Piece], batch: Batch
    ) -> ChangeFile | BadFile:
        facts, changes = file.facts, list[Change]()
        assert facts is not None
        frozen = batch.frozen
        rules = MarkerRules(frozen.key_columns, facts.schema.names, frozen.version_column)
        try:
            tables = [
                open_parquet(io.BytesIO(self._store.read(StorePath(p.path)).data)) for p in read
            ]
        except (pa.ArrowException, OSError) as error:
            return BadFile(file.name, Broken(Code.FILE_UNREADABLE, str(error)))
        for row in (row for table in tables for row in parquet_rows(table)):
            text = batch.frozen.default_marker if facts.marker is None else row.pop(facts.marker)
            read_marker = rules.read(text, f"{facts.marker} is {text}")
            if isinstance(read_marker, Broken):
                return BadFile(file.name, read_marker)
            marker, absent = read_marker.marker, read_marker.absent
            kind = batch.insert_marker if marker is Marker.INSERT else marker
            changes.append(Change(kind, row_in(row, batch.union.schema), absent))
        return ChangeFile(facts.schema.names, changes, file.name, int(file.sequence))

    def commit(
        self, batch: Batch, prepared: Prepared, transaction: Transaction, batch_record: str
    ) -> CommitResult:
        assert isinstance(prepared, _Read)
        before = self._log(batch.table)
        result = super().commit(batch, prepared, transaction, batch_record)
        after = self._log(batch.table)
        if after is not None and (before is None or before.version < after.version):
            if batch.is_of_history:
                now_passed = self._passed(batch, prepared.files, before)
                self._histories[after.table_id] = now_passed
                return result
            now = self._as_before(batch, before)
            for file in prepared.files:
                apply_file(now, file, batch.decided_at)
            self._tables[after.table_id] = now
            self._versions[after.table_id, after.version] = now
        return result

    def _read_for_history(
        self,
        batch: Batch,
        files: list[ChangeFile],
        truncated: Truncated | None,
        checksums: Mapping[Sequence, Checksum],
    ) -> Prepared | BadFile:
        now = self._history_before(batch, self._log(batch.table))
        for file, read in zip(batch.files, files, strict=True):
            try:
                apply_to_history(now, read, file.sequence)
            except NoRowToUpdate as error:
                return BadFile(file.name, Broken(Code.NO_ROW_TO_UPDATE, str(error)))
        return _Read(files, truncated, checksums)

    def _history_before(self, batch: Batch, log: TableLog | None) -> History:
        """The history that a batch is applied to, in the types that it has after it."""
        known = self._histories.get(log.table_id) if log else None
        incarnation, frozen = batch.epoch.incarnation, batch.frozen
        rules = TableMetadata(key_columns=frozen.key_columns, version_column=frozen.version_column)
        now = known or empty_history((), None, incarnation)
        if known is not None and batch.kind is BatchKind.REPLACE and batch.begins is None:
            now = history_in(known, batch.union.schema, rules, known.incarnation)
            table = empty_table(frozen.key_columns, frozen.version_column)
            re_create(now, incarnation, table, batch.decided_at)
        return history_in(now, batch.union.schema, rules, incarnation)

    def _passed(self, batch: Batch, files: list[ChangeFile], log: TableLog | None) -> History:
        now = self._history_before(batch, log)
        if begins := batch.begins:
            current = self._log(begins.table)
            assert current is not None
            rows = self._versions[current.table_id, begins.version]
            live = without_marked(rows) if begins.is_soft else rows
            frozen, schema = batch.frozen, batch.union.schema
            table = table_in(live, schema, frozen.key_columns, frozen.version_column)
            begin_with(now, batch.epoch.incarnation, table, begins.position, batch.decided_at)
        for file, read in zip(batch.files, files, strict=True):
            apply_to_history(now, read, file.sequence, batch.decided_at)
        return now

    def _before(self, batch: Batch) -> Table:
        return self._as_before(batch, self._log(batch.table))

    def _as_before(self, batch: Batch, log: TableLog | None) -> Table:
        """The table that a batch is applied to, in the types that it has after it."""
        keys, version_column = batch.frozen.key_columns, batch.frozen.version_column
        old = None if batch.kind is BatchKind.REPLACE or log is None else log
        table = self._tables.get(old.table_id) if old else None
        known, schema = table or empty_table(()), batch.union.schema
        known = without_marked(known) if batch.hardens else known
        return table_in(known, schema, keys, version_column, batch.soft, batch.lineage)

    def commit_without_rows(
        self, table: StorePath, transaction: Transaction, create: TableSchema | None = None
    ) -> CommitResult:
        result = super().commit_without_rows(table, transaction, create)
        log = self._log(table)
        if log is not None and create is not None:
            self._tables.setdefault(log.table_id, empty_table(()))
        return result

    def _log(self, table: StorePath) -> TableLog | None:
        log = self._logs.read(table)
        assert log is None or isinstance(log, TableLog)
        return log
