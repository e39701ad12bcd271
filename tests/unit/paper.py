"""An engine that only keeps the books: real Delta logs, no rows; and a zone to run it over."""

from __future__ import annotations

import io
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from openmirror import layout
from openmirror.adapters.deltalog import LogReplay
from openmirror.layout import StorePath, join
from openmirror.plan import Batch
from openmirror.ports import CommitResult, Counts, FileStore, Prepared, Transaction
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.protocol.schema import TableSchema
from openmirror.tablelog import TableLog


def table(mirror: str, path: str) -> TableFolder:
    return TableFolder(mirror, TablePath.parse(path))


def land(store: FileStore, folder: TableFolder, *numbers: int, keyed: bool = True) -> None:
    """Publish small change files, with key columns declared or without any metadata."""
    buffer = io.BytesIO()
    pq.write_table(pa.table({"id": [1, 2]}), buffer)
    place = layout.table_folder(folder)
    if keyed:
        store.write(join(place, "_metadata.json"), b'{"keyColumns": ["id"]}')
    for number in numbers:
        store.write(join(place, f"{number:020d}.parquet"), buffer.getvalue())


class _PaperBatch:
    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    @property
    def counts(self) -> Counts:
        return Counts(inserts=sum(file.facts.rows for file in self._batch.files if file.facts))

    def release(self) -> None:
        """Nothing is held."""


class PaperEngine:
    """TableEngine that writes transactions into real logs, and watches who calls it."""

    def __init__(
        self,
        store: FileStore,
        reading: Callable[[Batch], None] = lambda batch: None,
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

    def read(self, batch: Batch) -> Prepared:
        with self._lock:
            self.batches.append(batch)
            self._inside[batch.folder] += 1
            if self._inside[batch.folder] > 1:
                self.overlaps.append(batch.folder)
        try:
            self._reading(batch)
        finally:
            with self._lock:
                self._inside[batch.folder] -= 1
        return _PaperBatch(batch)

    def commit(
        self, batch: Batch, prepared: Prepared, transaction: Transaction, note: str
    ) -> CommitResult:
        del prepared
        create = batch.union.schema if batch.may_create else None
        return self._write(batch.table, transaction, batch.union.schema, note, create)

    def record(
        self, table: StorePath, transaction: Transaction, create: TableSchema | None = None
    ) -> CommitResult:
        return self._write(table, transaction, None, None, create)

    def _write(
        self,
        table: StorePath,
        transaction: Transaction,
        schema: TableSchema | None,
        note: str | None,
        create: TableSchema | None,
    ) -> CommitResult:
        with self._lock:
            log = LogReplay(self._store).read(table)
            if log is None and create is None:
                return CommitResult.MISSING
            version = log.version + 1 if isinstance(log, TableLog) else 0
            if isinstance(log, TableLog):
                known = log.transactions.get(transaction.app_id, -1)
                if known >= transaction.version:
                    return CommitResult.SKIPPED
            info: dict[str, Any] = {"timestamp": int(self._now() * 1000)}
            if note:
                info["userMetadata"] = note
            txn = {"appId": transaction.app_id, "version": transaction.version}
            actions: list[dict[str, Any]] = [{"commitInfo": info}, {"txn": txn}]
            if version == 0:
                actions.append({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}})
            if version == 0 or schema:
                actions.append({"metaData": _metadata(schema or create or TableSchema())})
            text = "\n".join(json.dumps(action) for action in actions)
            self._store.write(join(table, "_delta_log", f"{version:020d}.json"), text.encode())
            return CommitResult.DONE


def _metadata(schema: TableSchema) -> dict[str, Any]:
    fields = [
        {"name": column.name, "type": str(column.type), "nullable": True, "metadata": {}}
        for column in schema.columns
    ]
    return {
        "id": "paper",
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "format": {"provider": "parquet"},
        "configuration": {},
    }
