"""What every table must hold in the end: SQL on the package's own data, in DuckDB.

Nothing here knows of change files, markers or merges: it says what is true of the flights, and is
what the mirrored tables are compared with.
"""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from openmirror.demo.scope import METRES_IN_A_FOOT, Scope
from openmirror.demo.source import Source


def connect(source: Source) -> duckdb.DuckDBPyConnection:
    """A database in memory with the package's tables under their own names."""
    database = duckdb.connect()
    for name, rows in source.items():
        database.register(name, rows)
    return database


def expected(scope: Scope) -> Mapping[str, str]:
    """For each table the query that gives what it must hold."""
    first, last, spread = (
        day.month * 100 + day.day for day in (scope.history_from, scope.until, scope.spread_from)
    )
    shown = f"month * 100 + day BETWEEN {first} AND {last}"
    return {
        "airlines": "SELECT * FROM airlines",
        "airports": f"""
            SELECT faa, name, lat, lon, tz, dst, tzone,
                   CAST(alt AS DOUBLE) * CAST({METRES_IN_A_FOOT} AS DOUBLE) AS alt_m
            FROM airports""",
        "planes": f"""
            SELECT * FROM planes
            WHERE tailnum IN (SELECT tailnum FROM flights WHERE {shown})""",
        "weather": f"""
            SELECT *, CASE WHEN month * 100 + day >= {spread} THEN temp - dewp END AS dewp_spread
            FROM weather WHERE {shown}""",
        # A flight without a departure was cancelled.
        "flights": f"SELECT * FROM flights WHERE dep_time IS NOT NULL AND {shown}",
    }
