"""How DuckDB sees the columns of a snapshot: what of a row is hashed, and when keys are equal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openmirror.protocol.names import fold_case
from openmirror.protocol.schema import Column, ColumnType

_SQL_TYPES = {
    "boolean": "BOOLEAN",
    "byte": "TINYINT",
    "short": "SMALLINT",
    "integer": "INTEGER",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "binary": "BLOB",
    "date": "INTEGER",
    "timestamp": "BIGINT",
    "timestamp_ntz": "BIGINT",
}
_DAY = 24 * 60 * 60 * 1_000_000
"""Microseconds."""


def row_hash(columns: Sequence[tuple[str, Column]]) -> str:
    """SQL for the MD5 of a row's values, as a number of 128 bits.

    Over the columns that are not NULL, by name, in the order of their names: a column that is all
    NULL changes no hash. Kinds of types differ, widths and zones do not: a row whose `integer`
    became `long` is the same row.
    """
    parts = [
        _valued(place, column)
        for place, column in sorted(columns, key=lambda c: fold_case(c[1].name))
    ]
    return f"md5_number(concat({', '.join(parts) or text_sql('')}))"


def _valued(place: str, column: Column) -> str:
    """A column's name, kind and value as text that no other column or value gives; or NULL."""
    name = fold_case(column.name)
    kind, value = _as_text(place, column.type)
    return f"{text_sql(f'|{len(name)}:{name}={kind}')} || {value}"


def _as_text(place: str, kind: ColumnType) -> tuple[str, str]:
    match kind:
        case "string":
            return "s", f"strlen({place}) || ':' || {place}"
        case "binary":
            return "b", f"hex({place})"
        case "boolean":
            return "o", place
        case "float" | "double":
            return "f", f"{place}::DOUBLE"
        case "date":
            return "D", place
        case "timestamp" | "timestamp_ntz":
            return "t", place
        case "byte" | "short" | "integer" | "long":
            return "i", place
        case _:
            return "d", place


def equalised(place: str, kind: ColumnType) -> str:
    """A key's value, of which equal ones are the same: -0.0 becomes 0.0."""
    return f"{place} + 0.0::{_sql_type(kind)}" if kind in ("float", "double") else place


def widened(place: str, was: ColumnType, now: ColumnType) -> str:
    """A key of the last snapshot in the type that the new one has it in."""
    if was == "date" and now in ("timestamp", "timestamp_ntz"):
        return f"{place}::BIGINT * {_DAY}"
    return place if was == now else f"{place}::{_sql_type(now)}"


def _sql_type(kind: ColumnType) -> str:
    """DuckDB's type for kept values of a column."""
    return _SQL_TYPES.get(kind) or kind.upper()


def file_sql(*paths: Path, numbered: bool = False) -> str:
    """The rows of Parquet files; `numbered` adds `file_row_number`."""
    files = ", ".join(text_sql(str(path)) for path in paths)
    return f"read_parquet([{files}]{', file_row_number = true' if numbered else ''})"


def text_sql(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
