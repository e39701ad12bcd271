"""The product over a zone with the engine that keeps rows by definition: all of it but Spark."""

from __future__ import annotations

from typing import Any

from openmirror.stores.local.store import LocalStore
from openmirror.table.log import TableLog
from tests.conformance.reference_engine import ReferenceEngine
from tests.zone import Product, Zone


class ByDefinition(Product):
    """Its runners share one engine, since the rows are in that."""

    def __init__(self, zone: Zone) -> None:
        self._kept = ReferenceEngine(LocalStore(zone.root))
        super().__init__(zone, lambda _: self._kept)

    def rows(self, path: str) -> list[dict[str, Any]]:
        log = self.observed(path).log
        assert isinstance(log, TableLog)
        return self._kept.rows(log)
