"""The rules that rows must keep before any of them is taken (PROTOCOL §5, §6)."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.errors import PublishRefused
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.names import fold_case
from openmirror.protocol.rows import Marker
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import TableSchema
from openmirror.publishing.columns import RowShape, merged, need_keys, row_shape
from openmirror.publishing.markers import need_no_marker_column, with_plain_markers
from openmirror.publishing.pieces import WaitingRows
from openmirror.publishing.values import in_table_types

_MOST_SCHEMAS = 64


class RowChecks:
    """Checks rows for one table, whose columns grow with what is taken."""

    def __init__(self, name: str, metadata: TableMetadata, columns: TableSchema) -> None:
        self._name = name
        self._version = metadata.version_column
        self.keys = metadata.key_columns
        self.columns = columns
        """Every column that landed or waits, with the type that holds all of its values."""
        self._known: dict[pa.Schema, RowShape] = {}
        self._merged = columns, TableSchema(), columns

    def checked(self, table: pa.Table, marker: Marker | None) -> WaitingRows:
        """Rows that break no rule, ready to wait; raises PublishRefused, and takes nothing then.

        `marker` is what all rows do; None where each says it itself.
        """
        if table.schema.metadata:
            table = table.replace_schema_metadata(None)
        if marker is not None:
            need_no_marker_column(table.column_names)
            markers = frozenset({marker}) if table.num_rows else frozenset()
        elif table.column_names:
            table, markers = with_plain_markers(table)
        else:
            markers = frozenset()  # an empty list of dicts has no columns, and no rows
        if not self.keys and markers - {Marker.INSERT}:
            detail = f"{self._name} has no key columns, so that it takes inserts only"
            raise PublishRefused(Broken(Code.KEY_COLUMNS_UNDECLARED, detail), "5.1")
        if marker is Marker.DELETE:
            table = self._keys_alone(table)
        shape = self._shape_of(table.schema)
        need_keys(self.keys, shape.columns, table.num_rows)
        self._with(shape.columns)
        table = in_table_types(table, shape)
        return WaitingRows(rows=table, marker=marker, columns=shape.columns)

    def taken(self, rows: WaitingRows) -> None:
        """Rows that were checked wait now, or land: their columns are the table's."""
        self.columns = self._with(rows.columns)

    def only(self, landed: TableSchema, waiting: Iterable[WaitingRows]) -> None:
        """Some that were taken were given up: the columns are those of what is left."""
        self.columns = landed
        for columns in dict.fromkeys(rows.columns for rows in waiting):
            self.columns = merged(self.columns, columns)

    def _with(self, more: TableSchema) -> TableSchema:
        """The columns with those of a file; what was asked last is remembered, and mostly asked."""
        if self._merged[:2] != (self.columns, more):
            self._merged = self.columns, more, merged(self.columns, more)
        return self._merged[2]

    def _keys_alone(self, table: pa.Table) -> pa.Table:
        """Deletes need the keys, and the version where the table has one (PROTOCOL §5.6)."""
        wanted = {fold_case(name) for name in (*self.keys, self._version or "")}
        return table.select([name for name in table.column_names if fold_case(name) in wanted])

    def _shape_of(self, schema: pa.Schema) -> RowShape:
        """Remembered: a schema costs as much as a small file."""
        found = self._known.get(schema)
        if found is None:
            if len(self._known) >= _MOST_SCHEMAS:
                self._known.clear()
            found = self._known[schema] = row_shape(schema)
        return found
