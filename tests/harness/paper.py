"""An engine that only keeps the books: real Delta logs, no rows."""

from __future__ import annotations

import io
import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from openmirror.deltalog import LogReplay
from openmirror.errors import ConditionFailed
from openmirror.plan import Batch
from openmirror.plan.maintenance_steps import Compact, MaintenanceStep, RemoveMarked
from openmirror.plan.soft_deletes import MARKS
from openmirror.ports import ABSENT, BadFile, CommitResult, Counts, FileStore, Prepared, Transaction
from openmirror.protocol.checksums import Checksum
from openmirror.protocol.names import TableFolder
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.sequence import Sequence
from openmirror.table.control import BatchKind
from openmirror.table.layout import StorePath, join
from openmirror.table.log import BrokenLog
from openmirror.table.phases import Phases


class _PaperBatch:
    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    @property
    def counts(self) -> Counts:
        return Counts(inserts=sum(file.facts.rows for file in self._batch.files if file.facts))

    @property
    def checksums(self) -> dict[Sequence, Checksum]:
        return {}

    @property
    def phases(self) -> Phases:
        return {}

    @property
    def asks_table(self) -> bool:
        return False

    def release(self) -> None:
        """Nothing is held."""


class PaperEngine:
    """TableEngine that writes transactions into real logs, and watches who calls it."""

    def __init__(
        self,
        store: FileStore,
        reading: Callable[[Batch], object] = lambda batch: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._reading = reading
        self._now = now
        self._lock = threading.Lock()
        self._inside: Counter[TableFolder] = Counter()
        self.overlaps: list[TableFolder] = []
        """Tables that were in two threads at once."""
        self.batches: list[Batch] = []
        self.steps: list[MaintenanceStep] = []

    def read(self, batch: Batch) -> Prepared | BadFile:
        with self._lock:
            self.batches.append(batch)
            self._inside[batch.folder] += 1
            if self._inside[batch.folder] > 1:
                self.overlaps.append(batch.folder)
        try:
            self._reading(batch)
            return self._read(batch)
        finally:
            with self._lock:
                self._inside[batch.folder] -= 1

    def _read(self, batch: Batch) -> Prepared | BadFile:
        for file in batch.files:
            data = self._store.read(file.path).data
            if not file.name.endswith(".parquet"):
                continue
            try:
                pq.read_table(io.BytesIO(data))
            except (pa.ArrowException, OSError) as error:
                return BadFile(file.name, Broken(Code.FILE_UNREADABLE, str(error)))
        return _PaperBatch(batch)

    def commit(
        self, batch: Batch, prepared: Prepared, transaction: Transaction, batch_record: str
    ) -> CommitResult:
        del prepared
        replaces = batch.kind is BatchKind.REPLACE
        create = batch.union.schema if replaces and batch.may_create else None
        schema = batch.union.schema
        return self._write(
            batch.table,
            transaction,
            schema,
            batch_record,
            create,
            replaces=replaces,
            properties=dict(batch.features.properties),
            without=(MARKS.property,) if batch.hardens else (),
        )

    def commit_without_rows(
        self, table: StorePath, transaction: Transaction, create: TableSchema | None = None
    ) -> CommitResult:
        return self._write(table, transaction, None, None, create)

    def maintain(self, table: StorePath, step: MaintenanceStep) -> CommitResult:
        """A commit that says so and nothing else; of a compaction one, as Delta's."""
        with self._lock:
            log = LogReplay(self._store).read(table)
            if log is None:
                return CommitResult.MISSING
            assert not isinstance(log, BrokenLog)
            self.steps.append(step)
            names = ("VACUUM START", "VACUUM END")
            if isinstance(step, Compact | RemoveMarked):
                names = ("OPTIMIZE",) if isinstance(step, Compact) else ("DELETE",)
            for version, name in enumerate(names, start=log.version + 1):
                info = {"timestamp": int(self._now() * 1000), "operation": name}
                path = join(table, "_delta_log", f"{version:020d}.json")
                try:
                    text = json.dumps({"commitInfo": info})
                    self._store.write(path, text.encode(), only_if=ABSENT)
                except ConditionFailed:
                    return CommitResult.CONFLICT
            return CommitResult.DONE

    def _write(
        self,
        table: StorePath,
        transaction: Transaction,
        schema: TableSchema | None,
        batch_record: str | None,
        create: TableSchema | None,
        *,
        replaces: bool = False,
        properties: Mapping[str, str] | None = None,
        without: Collection[str] = (),
    ) -> CommitResult:
        with self._lock:
            log = LogReplay(self._store).read(table)
            if log is None and create is None:
                return CommitResult.MISSING
            assert not isinstance(log, BrokenLog)
            version = log.version + 1 if log else 0
            if log:
                known = log.transactions.get(transaction.app_id, -1)
                if known >= transaction.version:
                    return CommitResult.DONE
            info: dict[str, Any] = {"timestamp": int(self._now() * 1000)}
            if batch_record:
                info["userMetadata"] = batch_record
            txn = {"appId": transaction.app_id, "version": transaction.version}
            actions: list[dict[str, Any]] = [{"commitInfo": info}, {"txn": txn}]
            if version == 0:
                actions.append({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}})
            if version == 0 or schema:
                table_id = log.table_id if log and not replaces else uuid.uuid4().hex
                columns = schema or create or TableSchema()
                kept = log.properties if log and not replaces else {}
                given = {**kept, **(properties or {})}
                given = {key: value for key, value in given.items() if key not in without}
                actions.append({"metaData": _metadata(table_id, columns, given)})
            text = "\n".join(json.dumps(action) for action in actions)
            path = join(table, "_delta_log", f"{version:020d}.json")
            try:
                self._store.write(path, text.encode(), only_if=ABSENT)
            except ConditionFailed:
                return CommitResult.CONFLICT
            return CommitResult.DONE


def _metadata(table_id: str, schema: TableSchema, properties: Mapping[str, str]) -> dict[str, Any]:
    fields = [
        {"name": column.name, "type": str(column.type), "nullable": True, "metadata": {}}
        for column in schema.columns
    ]
    return {
        "id": table_id,
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "format": {"provider": "parquet"},
        "configuration": dict(properties),
    }
