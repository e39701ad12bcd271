"""Comparing every mirrored table with what it must hold, by readers that share nothing with us."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.demo.expected import connect, expected
from openmirror.demo.scope import Scope
from openmirror.demo.source import Source
from openmirror.protocol.names import TableName
from openmirror.table import layout

_SCHEMA = "dbo"

WORST_AIRLINES = """\
SELECT a.name AS airline, count(*) AS flights, round(avg(f.arr_delay), 1) AS minutes_late
FROM flights f JOIN airlines a ON a.carrier = f.carrier
GROUP BY a.name ORDER BY minutes_late DESC LIMIT 5"""


@dataclass(frozen=True)
class Comparison:
    """How one table compares."""

    table: str
    rows: int
    """Rows of the Delta table."""
    difference: str = ""
    """Empty when it holds exactly what it must."""


def delta_path(root: Path, mirror: str, table: str) -> Path:
    """Where a table of the demo lies."""
    return root / layout.delta_table(mirror, TableName(_SCHEMA, table))


def query(root: Path, mirror: str, sql: str, *tables: str) -> pa.Table:
    """Run SQL on Delta tables as they are on disk, without Spark."""
    builder = deltalake.QueryBuilder()
    for table in tables:
        builder.register(table, deltalake.DeltaTable(str(delta_path(root, mirror, table))))
    return pa.table(builder.execute(sql).read_all())


def check(root: Path, mirror: str, source: Source, scope: Scope) -> Iterator[Comparison]:
    """Compare every table, row by row and column by column, duplicates included."""
    database = connect(source)
    for table, wanted in expected(scope).items():
        actual = query(root, mirror, f"SELECT * FROM {table}", table)
        database.register("actual", actual)
        _rows(database, f"CREATE OR REPLACE TEMP VIEW wanted AS {wanted}")
        yield Comparison(
            table, len(actual), _differing_columns(database) or _differing_rows(database)
        )


def _differing_columns(database: duckdb.DuckDBPyConnection) -> str:
    actual, wanted = (
        {str(row[0]): str(row[1]) for row in _rows(database, f"DESCRIBE {name}")}
        for name in ("actual", "wanted")
    )
    differing = sorted(name for name in {*actual, *wanted} if actual.get(name) != wanted.get(name))
    return "; ".join(
        f"column {name} is {actual.get(name, 'missing')} and must be {wanted.get(name, 'absent')}"
        for name in differing
    )


def _differing_rows(database: duckdb.DuckDBPyConnection) -> str:
    names = ", ".join(f'"{row[0]}"' for row in _rows(database, "DESCRIBE wanted"))
    extra, missing = (
        _rows(
            database,
            f"SELECT count(*) FROM "
            f"(SELECT {names} FROM {one} EXCEPT ALL SELECT {names} FROM {other})",
        )[0][0]
        for one, other in (("actual", "wanted"), ("wanted", "actual"))
    )
    if not extra and not missing:
        return ""
    return f"{missing:,} rows are missing, {extra:,} should not be there"


def _rows(database: duckdb.DuckDBPyConnection, sql: str) -> list[Any]:
    """Run SQL to its end: a result that was not fetched whole blocks its connection."""
    return database.execute(sql).fetchall()
