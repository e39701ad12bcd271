"""Values and rows in the types of a table, as the plain interpreter keeps them."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from openmirror.protocol.lineage import Lineage
from openmirror.protocol.names import fold_case
from openmirror.protocol.rows import (
    DELETED_AT,
    Change,
    ChangeFile,
    Marker,
    Row,
    SoftDeletes,
    Table,
    apply_file,
    empty_table,
)
from openmirror.protocol.schema import ColumnType, TableSchema
from tests.conformance.vectors import as_moment


def table_in(
    table: Table,
    schema: TableSchema,
    keys: Iterable[str],
    version_column: str | None,
    soft: SoftDeletes | None = None,
    lineage: Lineage = Lineage.NONE,
) -> Table:
    """The same rows in the types of this schema, under these keys; marked ones stay so."""
    now = empty_table(keys, version_column, soft)
    rows = [row_in(row, schema) for row in table.rows]
    apply_file(now, ChangeFile(tuple(table.columns), [Change(Marker.INSERT, row) for row in rows]))
    now.lineage = lineage  # from now on: these rows were written before
    return now


def row_in(row: dict[str, Any], schema: TableSchema) -> Row:
    """A row with the columns of this schema, in their types."""
    found = {fold_case(name): value for name, value in row.items()}
    return {
        fold_case(column.name): typed(found.get(fold_case(column.name)), column.type)
        for column in schema.columns
    }


def without_marked(table: Table) -> Table:
    """The live rows of a table whose deletes were soft."""
    now = empty_table(table.key_columns, table.version_column)
    live = [row for row in table.rows if row[DELETED_AT] is None]
    columns = tuple(name for name in table.columns if name != DELETED_AT)
    rows = [{fold_case(name): row[name] for name in columns} for row in live]
    apply_file(now, ChangeFile(columns, [Change(Marker.INSERT, row) for row in rows]))
    return now


class NotWhole(Exception):
    """A float that is no integer, in a column of integers."""


def typed(value: Any, kind: ColumnType) -> Any:
    """A value in the type of its column: what the table holds and keys are compared by."""
    if value is None:
        return None
    if kind == "timestamp":
        return as_moment(value)
    if kind == "timestamp_ntz":
        return as_moment(value).replace(tzinfo=None)
    if kind in ("float", "double"):
        return float(value)
    if isinstance(value, float):
        bits = {"byte": 7, "short": 15, "integer": 31}.get(kind, 53)
        if not value.is_integer() or not -(2**bits) <= value < 2**bits:
            raise NotWhole(value)
        return int(value)
    return Decimal(value) if kind.startswith("decimal") else value
