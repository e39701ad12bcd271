"""An engine that stands around another one."""

from __future__ import annotations

from openmirror.plan import Batch
from openmirror.plan.maintenance_steps import MaintenanceStep
from openmirror.ports.tables import BadFile, CommitResult, Prepared, TableEngine, Transaction
from openmirror.protocol.schema import TableSchema
from openmirror.table.layout import StorePath


class EngineAround:
    """A TableEngine that does what its engine does, for those that do something besides."""

    def __init__(self, engine: TableEngine) -> None:
        self._engine = engine

    def read(self, batch: Batch) -> Prepared | BadFile:
        """As the engine does; so do all below."""
        return self._engine.read(batch)

    def commit(
        self, batch: Batch, prepared: Prepared, transaction: Transaction, batch_record: str
    ) -> CommitResult:
        """As the engine does."""
        return self._engine.commit(batch, prepared, transaction, batch_record)

    def commit_without_rows(
        self, table: StorePath, transaction: Transaction, create: TableSchema | None = None
    ) -> CommitResult:
        """As the engine does."""
        return self._engine.commit_without_rows(table, transaction, create)

    def maintain(self, table: StorePath, step: MaintenanceStep) -> CommitResult:
        """As the engine does."""
        return self._engine.maintain(table, step)
