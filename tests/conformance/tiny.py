"""The smallest implementation that the runner of the vectors can run: keyed tables of Parquet.

It stands for somebody else's, so it knows nothing of this product; `python run.py tiny:Tiny`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

_TYPES = {pa.int64(): "long", pa.int32(): "integer", pa.string(): "string", pa.float64(): "double"}


class Tiny:
    """Applies every file again at each drain."""

    deletes = "2"

    def __init__(self, zone: Path, settings: bytes | None) -> None:
        self.zone = zone

    def drain(self, step: dict[str, Any], settings: bytes | None) -> None:
        """Everything is done when it is asked for."""

    def outcome(self, folder: str) -> dict[str, Any]:
        """The rows of every file, by their markers."""
        here = self.zone / folder
        metadata = json.loads((here / "_metadata.json").read_text())
        keys = [name.lower() for name in metadata.get("keyColumns", [])]
        default = "4" if metadata.get("isUpsertDefaultRowMarker") else "0"
        columns: dict[str, list[str]] = {}
        rows: list[dict[str, Any]] = []
        files = sorted(here.glob("[0-9]*.parquet"))
        for file in files:
            table = pq.read_table(file)
            for field in table.schema:
                if field.name.lower() != "__rowmarker__" and not pa.types.is_null(field.type):
                    columns.setdefault(field.name.lower(), [field.name, _TYPES[field.type]])
            for found in table.to_pylist():
                row = {name.lower(): value for name, value in found.items()}
                rows = self._applied(rows, keys, str(row.pop("__rowmarker__", default)), row)
        return {
            "columns": list(columns.values()),
            "rows": [[row.get(name) for name in columns] for row in rows],
            "state": "idle",
            "appliedSequence": str(len(files)),
        }

    def _applied(
        self, rows: list[dict[str, Any]], keys: list[str], marker: str, row: dict[str, Any]
    ) -> list[dict[str, Any]]:
        if marker == "0":
            return [*rows, row]
        key = [row.get(name) for name in keys]
        others = [one for one in rows if [one.get(name) for name in keys] != key]
        same = len(rows) - len(others)
        return others if marker == self.deletes else [*others, *[row] * max(1, same)]


class Wrong(Tiny):
    """Takes updates for deletes."""

    deletes = "1"
