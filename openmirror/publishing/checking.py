"""The rules that rows must keep before any of them is taken (PROTOCOL §5, §6)."""

from __future__ import annotations

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.errors import PublishRefused
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.names import fold_case
from openmirror.protocol.rows import Marker
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import TableSchema
from openmirror.publishing.columns import (
    in_microseconds,
    merged,
    need_keys,
    need_no_marker_column,
    table_columns,
    with_plain_markers,
)
from openmirror.publishing.pieces import WaitingRows

_MOST_SCHEMAS = 64


class RowChecks:
    """Checks rows for one table, whose columns grow with what was taken."""

    def __init__(self, name: str, metadata: TableMetadata, columns: TableSchema) -> None:
        self._name = name
        self._version = metadata.version_column
        self.keys = metadata.key_columns
        self.columns = columns
        """Every column so far, with the type that holds all of its values."""
        self._known: dict[pa.Schema, TableSchema] = {}

    def checked(self, table: pa.Table, marker: Marker | None) -> WaitingRows:
        """Rows that break no rule, ready to wait; raises PublishRefused, and takes nothing then.

        `marker` is what all rows do; None where each says it itself.
        """
        if marker is None:
            table, markers = with_plain_markers(table)
        else:
            need_no_marker_column(table.column_names)
            markers = frozenset({marker}) if table.num_rows else frozenset()
        if not self.keys and markers - {Marker.INSERT}:
            detail = f"{self._name} has no key columns, so that it takes inserts only"
            raise PublishRefused(Broken(Code.KEY_COLUMNS_UNDECLARED, detail), "5.1")
        if marker is Marker.DELETE:
            table = self._keys_alone(table)
        columns = self._columns_of(table.schema)
        table = in_microseconds(table)
        need_keys(self.keys, columns, table.num_rows)
        self.columns = merged(self.columns, columns)
        return WaitingRows(rows=table, marker=marker)

    def _keys_alone(self, table: pa.Table) -> pa.Table:
        """Deletes need the keys, and the version where the table has one (PROTOCOL §5.6)."""
        wanted = {fold_case(name) for name in (*self.keys, self._version or "")}
        return table.select([name for name in table.column_names if fold_case(name) in wanted])

    def _columns_of(self, schema: pa.Schema) -> TableSchema:
        """Remembered: a schema costs as much as a small file."""
        found = self._known.get(schema)
        if found is None:
            if len(self._known) >= _MOST_SCHEMAS:
                self._known.clear()
            found = self._known[schema] = table_columns(schema)
        return found
