"""Which rows of a table have a key of a batch: conditions of Delta's commits, in SQL.

A row of the table is `t` there, and a row of the batch `s`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

from openmirror.plan import Batch
from openmirror.ports.merge_rows import positional, positions_of
from openmirror.protocol.schema import Column, ColumnType, SchemaUnion
from openmirror.spark.frames import quoted

_EPOCH = date(1970, 1, 1)
_DAYS = 700_000
"""From 1970 on, and back: these days have years of four digits, as a literal's have."""
_SUFFIXES = {"long": "L", "short": "S", "byte": "Y"}


def has_key(batch: Batch, not_null: frozenset[str]) -> str:
    """Where a row of the table has the key of a row of the batch, NULL being a value.

    Of keys that are NULL in no row of the batch it is the same, and joins by one value instead of
    two. A key column that comes with the batch (keys may be declared at any time, PROTOCOL §4.4) is
    NULL in every row of the table, and Delta finds no such column there.
    """
    columns = _by_position(batch.union)
    keys = {at: columns[at] for at in positions_of(batch.union.schema, batch.frozen.key_columns)}
    return " AND ".join(
        f"s.{quoted(key.name)} IS NULL"
        if key in batch.union.added
        else f"t.{quoted(key.name)} {'=' if at in not_null else '<=>'} s.{quoted(key.name)}"
        for at, key in keys.items()
    )


def within(bounds: Mapping[str, tuple[int, int]], union: SchemaUnion) -> str:
    """What Delta passes over files by: nothing outside of it has a key of the batch.

    A column beside a literal of its own type: whatever else needs Spark's optimizer first, and
    says nothing to Delta where that has not seen it.
    """
    conditions = [
        f" AND t.{quoted(column.name)} >= {_sql(low, column.type)}"
        f" AND t.{quoted(column.name)} <= {_sql(high, column.type)}"
        for name, column in _by_position(union).items()
        if name in bounds and column not in union.added
        for low, high in [bounds[name]]
        if column.type != "date" or max(abs(low), abs(high)) < _DAYS
    ]
    return "".join(conditions)


def _sql(value: int, kind: ColumnType) -> str:
    if kind == "date":
        return f"DATE'{_EPOCH + timedelta(days=value)}'"
    return f"{value}{_SUFFIXES.get(kind, '')}"


def _by_position(union: SchemaUnion) -> dict[str, Column]:
    columns = union.schema.columns
    return dict(zip(positional(len(columns)), columns, strict=True))
