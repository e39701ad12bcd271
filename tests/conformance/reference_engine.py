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
from openmirror.protocol.rows import Change, ChangeFile, Marker, Table, apply_file, empty_table
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.sequence import Sequence
from openmirror.spark.converting import converted
from openmirror.spark.pieces import Piece, pieces
from openmirror.stores.local.store import LocalStore
from openmirror.table.control import BatchKind, Truncated
from openmirror.table.layout import StorePath
from openmirror.table.log import TableLog
from tests.conformance.interpreter import marker_of, open_parquet, parquet_rows, row_in, table_in
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

    def release(self) -> None:
        """Nothing is held elsewhere."""


class ReferenceEngine(PaperEngine):
    """Keeps the rows of each table in memory, under the id that its log gives it."""

    def __init__(self, store: LocalStore) -> None:
        super().__init__(store)
        self._logs = LogReplay(store)
        self._converter = FileConverter(store)
        self._tables: dict[str, Table] = {}

    def rows(self, log: TableLog) -> list[dict[str, Any]]:
        """The rows of a table that has columns."""
        return self._tables[log.table_id].rows

    def _read(self, batch: Batch) -> Prepared | BadFile:
        with converted(self._converter, batch, 1) as parts:
            if isinstance(parts, BadFile):
                return parts
            files = []
            for file in batch.files:
                read = self._changes(file, pieces([file], parts.by_file), batch)
                if isinstance(read, BadFile):
                    return read
                files.append(read)
        return _Read(files, parts.truncated, parts.checksums)

    def _changes(
        self, file: LandedFile, read: Iterable[Piece], batch: Batch
    ) -> ChangeFile | BadFile:
        facts, changes = file.facts, list[Change]()
        assert facts is not None
        allowed = set(Marker) if batch.frozen.key_columns else {Marker.INSERT}
        try:
            tables = [open_parquet(io.BytesIO(self._store.read(p.path).data)) for p in read]
        except (pa.ArrowException, OSError) as error:
            return BadFile(file.name, Broken(Code.FILE_UNREADABLE, str(error)))
        for row in (row for table in tables for row in parquet_rows(table)):
            text = batch.frozen.default_marker if facts.marker is None else row.pop(facts.marker)
            number = marker_of(text)
            marker = Marker(number) if number in set(Marker) else None
            if marker not in allowed:
                undeclared = marker is not None and not batch.frozen.key_columns
                code = Code.KEY_COLUMNS_UNDECLARED if undeclared else Code.ROW_MARKER_INVALID
                return BadFile(file.name, Broken(code, f"{facts.marker} is {text}"))
            kind = batch.insert_marker if marker is Marker.INSERT else marker
            changes.append(Change(kind, row_in(row, batch.union.schema)))
        return ChangeFile(facts.schema.names, changes)

    def commit(
        self, batch: Batch, prepared: Prepared, transaction: Transaction, batch_record: str
    ) -> CommitResult:
        assert isinstance(prepared, _Read)
        before = self._log(batch.table)
        result = super().commit(batch, prepared, transaction, batch_record)
        after = self._log(batch.table)
        if after is not None and (before is None or before.version < after.version):
            keys, version_column = batch.frozen.key_columns, batch.frozen.version_column
            old = None if batch.kind is BatchKind.REPLACE or before is None else before
            table = self._tables.get(old.table_id) if old else None
            now = table_in(table or empty_table(()), batch.union.schema, keys, version_column)
            for file in prepared.files:
                apply_file(now, file)
            self._tables[after.table_id] = now
        return result

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
