"""What a database does while a pipeline follows it: each row says which transaction wrote it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import psycopg

COLUMNS = "id int PRIMARY KEY, n bigint, text text, price numeric(12,2), at timestamptz, ok boolean"
EIGHT = "eight"
"""A table of eight columns, whose log is read."""
EIGHT_TABLE = f"""
CREATE TABLE {EIGHT} (id bigint PRIMARY KEY, a text, b varchar(40), n numeric(12,2), ts timestamp,
    f bool, d float8, i int)
"""
_A_TRANSACTION = 10_000
_ROW = "n, 0, 'some words of row ' || n, n / 100.0, now(), n % 2 = 0"


@dataclass
class Committed:
    """When each transaction was committed, by table and number; seconds since 1970."""

    times: dict[str, dict[int, float]] = field(default_factory=dict)

    def add(self, table: str, number: int) -> None:
        """It has been, just now."""
        self.times.setdefault(table, {})[number] = time.time()


def names(tables: int) -> list[str]:
    """The tables of a load."""
    return [f"t{number:03d}" for number in range(tables)]


def make(connection: psycopg.Connection, tables: int, rows: int) -> None:
    """Tables with so many rows each, of transaction 0."""
    for name in names(tables):
        connection.execute(f"CREATE TABLE {name} ({COLUMNS})")
        connection.execute(
            f"INSERT INTO {name} SELECT {_ROW} FROM generate_series(0, {rows - 1}) n"
        )


def steady(
    connection: psycopg.Connection,
    tables: int,
    rows: int,
    per_second: int,
    seconds: float,
    behind: int = 0,
) -> Committed:
    """Transactions of ten updates each, table by table, at an even pace.

    They are counted from `behind` on: a number that was used before would be seen too early.
    """
    done, every, chosen = Committed(), 10 / per_second, names(tables)
    begin, number = time.monotonic(), behind
    while time.monotonic() < begin + seconds:
        number += 1
        name = chosen[number % tables]
        start = (number * 10) % (rows - 10)
        connection.execute(
            f"UPDATE {name} SET n = {number}, text = 'changed by ' || {number} "
            f"WHERE id BETWEEN {start} AND {start + 9}"
        )
        done.add(name, number)
        time.sleep(max(0.0, begin + (number - behind) * every - time.monotonic()))
    return done


def burst(connection: psycopg.Connection, tables: int, times: int, behind: int) -> Committed:
    """Every row of every table is updated, so many times, one transaction each."""
    done = Committed()
    for number in range(behind + 1, behind + times + 1):
        for name in names(tables):
            connection.execute(f"UPDATE {name} SET n = {number}, price = {number}")
            done.add(name, number)
    return done


def make_eight(connection: psycopg.Connection, rows: int = 0) -> None:
    """Make the table of eight columns, with so many rows."""
    connection.execute(EIGHT_TABLE)
    if rows:
        insert_eight(connection, rows)


def insert_eight(connection: psycopg.Connection, rows: int) -> None:
    """Insert rows into it, ten thousand a transaction."""
    for first in range(1, rows + 1, _A_TRANSACTION):
        last = min(rows, first + _A_TRANSACTION - 1)
        connection.execute(
            f"INSERT INTO {EIGHT} SELECT g, 'name ' || g, md5(g::text), g / 100.0, "
            "'2024-01-01'::timestamp + g * interval '1 second', g % 2 = 0, g * 1.5, g % 1000 "
            f"FROM generate_series({first}, {last}) g"
        )


def update_eight(connection: psycopg.Connection, rows: int) -> None:
    """Update its rows, ten thousand a transaction."""
    for first in range(1, rows + 1, _A_TRANSACTION):
        last = min(rows, first + _A_TRANSACTION - 1)
        connection.execute(
            f"UPDATE {EIGHT} SET i = i + 1, a = a || '.' WHERE id BETWEEN {first} AND {last}"
        )
