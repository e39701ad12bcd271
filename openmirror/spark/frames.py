"""The columns of a batch inside Spark: data columns by position, and three columns of ours.

User columns are called c0, c1 … while a batch is folded, so that no name a publisher may choose
(dots, backquotes, our own names in another case) ever has to be quoted or can clash.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from openmirror.protocol.names import fold_case
from openmirror.protocol.schema import ColumnType, TableSchema

SEQUENCE = "sequence"
ROW = "row"
MARKER = "marker"
ABSENT = "absent"
"""Of a partial update: its marker's own text, and once folded, the positions that keep values."""
KIND = "kind"
MAY_INSERT = "may_insert"

_SQL_TYPES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


def sql_type(kind: ColumnType) -> str:
    """Spark SQL's name of a Delta type."""
    return _SQL_TYPES.get(kind, kind)


def positional(count: int) -> list[str]:
    """The names of data columns while a batch is in Spark."""
    return [f"c{index}" for index in range(count)]


def positions_of(schema: TableSchema, names: Iterable[str]) -> list[str]:
    """The positional names of some columns; each must be there."""
    index = {fold_case(column.name): f"c{at}" for at, column in enumerate(schema.columns)}
    return [index[fold_case(name)] for name in names]


def quoted(name: str) -> str:
    """A column name as SQL writes it."""
    return "`" + name.replace("`", "``") + "`"


def named(frame: DataFrame, schema: TableSchema) -> DataFrame:
    """The data columns of a frame under the table's own names."""
    return frame.select(*_named(schema, positional(len(schema.columns))))


def _named(schema: TableSchema, columns: Sequence[str]) -> list[Column]:
    return [
        F.col(position).alias(column.name)
        for position, column in zip(columns, schema.columns, strict=True)
    ]
