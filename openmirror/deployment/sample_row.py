"""The port of the sample: change files as Parquet, and the Delta table by its own log."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from datetime import datetime

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.deltalog.actions import Damaged
from openmirror.deltalog.rows import rows
from openmirror.errors import WrongRequest
from openmirror.ports import FileStore
from openmirror.ports.sampling import KEY
from openmirror.protocol.names import ROW_MARKER_COLUMN
from openmirror.protocol.rows import Marker
from openmirror.table.layout import StorePath

_LANDED = "landedAt"


class ParquetSampleRow:
    """One row with a key and a time."""

    def __init__(self, store: FileStore) -> None:
        self._store = store

    def insert(self, identity: str, at: datetime) -> bytes:
        """A change file that adds the row."""
        return _file({KEY: [identity], _LANDED: [at]}, Marker.INSERT)

    def delete(self, identities: Sequence[str]) -> bytes:
        """A change file that takes rows away."""
        return _file({KEY: list(identities)}, Marker.DELETE)

    def present(self, table: StorePath) -> Mapping[str, datetime]:
        """The rows that the table has, and when each was landed; none where there is no table."""
        try:
            found = {row[KEY]: row[_LANDED] for row in rows(self._store, table)}
        except Damaged as error:
            raise _unreadable(table, str(error)) from error
        except KeyError as error:
            raise _unreadable(table, f"it has no column {error}") from error
        if not all(isinstance(at, datetime) and at.tzinfo for at in found.values()):
            raise _unreadable(table, f"its column {_LANDED} holds no times")
        return found


def _unreadable(table: StorePath, why: str) -> WrongRequest:
    return WrongRequest(
        f"the sample's table {table} cannot be read: {why}. Delete its landing folder and, once it "
        "is dropped, verify again"
    )


def _file(columns: dict[str, list[object]], marker: Marker) -> bytes:
    kept = {
        name: pa.array(values, pa.timestamp("us", "UTC") if name == _LANDED else None)
        for name, values in columns.items()
    }
    # The marker is the last column, as Fabric asks for it.
    kept[ROW_MARKER_COLUMN] = pa.array([int(marker)] * len(columns[KEY]), pa.int32())
    written = io.BytesIO()
    pq.write_table(pa.table(kept), written)
    return written.getvalue()
