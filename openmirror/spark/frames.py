"""The columns of a batch inside Spark: data columns by position, and three columns of ours.

User columns are called c0, c1 … while a batch is underway (`ports.merge_rows`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from openmirror.ports.merge_rows import MergeNeeds, positional
from openmirror.protocol.rows import Marker
from openmirror.protocol.schema import ColumnType, TableSchema

SEQUENCE = "sequence"
ROW = "row"
MARKER = "marker"
ABSENT = "absent"
"""Of a partial update: its marker's own text, and once folded, the positions that keep values."""


@dataclass(frozen=True)
class MergeRows:
    """The merge rows of a batch as a frame, and what they ask of the commit."""

    frame: DataFrame
    needs: MergeNeeds


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SQL_TYPES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


def sql_type(kind: ColumnType) -> str:
    """Spark SQL's name of a Delta type."""
    return _SQL_TYPES.get(kind, kind)


def micros(moment: datetime) -> int:
    """Microseconds since 1970, as Spark counts them."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment(at: datetime) -> Column:
    """One moment, for every row."""
    return F.timestamp_micros(F.lit(micros(at)))


def operation_of(marker: Column) -> Column:
    """What lineage and histories call a marker's operation."""
    operation = F.lit(None).cast("string")
    for kind in Marker:
        operation = F.when(marker == kind.value, kind.operation).otherwise(operation)
    return operation


def in_place(columns: Sequence[str], values: Mapping[str, Column]) -> list[Column]:
    """These columns, some of them with other values."""
    return [values.get(name, F.col(name)).alias(name) for name in columns]


def same_key(keys: Sequence[str], not_null: frozenset[str] = frozenset()) -> Column:
    """Where a row `t` of the table and a row `s` of a batch have one key, NULL being a value.

    Of keys that are NULL in no row of the batch it is the same, and joins by one value instead of
    two.
    """
    same = F.lit(True)
    for key in keys:
        own, other = F.col(f"t.{key}"), F.col(f"s.{key}")
        same = same & (own == other if key in not_null else own.eqNullSafe(other))
    return same


def quoted(name: str) -> str:
    """A column name as SQL writes it."""
    return "`" + name.replace("`", "``") + "`"


def named(frame: DataFrame, schema: TableSchema) -> DataFrame:
    """The data columns of a frame under the table's own names."""
    pairs = zip(positional(len(schema.columns)), schema.columns, strict=True)
    return frame.selectExpr(*(f"{position} AS {quoted(column.name)}" for position, column in pairs))
