"""The same log read by three: into change files, by `pg_recvlogical`, and by a subscription."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from bench.cdc import loads
from bench.cdc.following import landed
from openmirror.cdc.postgresql.settings import DatabaseUrl
from standins.postgres import connected, postgres_programs, postgres_server

OURS, RECVLOGICAL, SUBSCRIPTION = "openmirror", "pg_recvlogical", "subscription"
_PATIENCE = 600.0
_SECONDS_TO_LOAD = 3
"""More than the load of an empty table takes."""
_CONFIRMED = """
SELECT count(*) = 1 FROM pg_replication_slots WHERE slot_name = %s AND confirmed_flush_lsn >= %s
"""


@dataclass(frozen=True)
class ReadingRates:
    """Changes a second of 8 columns, of a log that is there whole before it is read."""

    inserts: dict[str, float]
    updates: dict[str, float]


@dataclass(frozen=True)
class _Reader:
    """One that follows the log from where it stood."""

    halted: Callable[[], AbstractContextManager[None]]
    """For a block, in which the log grows."""
    wait: Callable[[str], object]
    """Wait until everything before an LSN has been read and acknowledged."""


def reading_rates(changes: int, folder: Path) -> ReadingRates:
    """Measure the three readers one after another, first with inserts and then with updates."""
    with (
        postgres_server() as server,
        server.database("shop") as url,
        connected(url) as connection,
        postgres_server() as second,
        second.database("copy") as copy_url,
        connected(copy_url) as copy,
    ):
        loads.make_eight(connection)
        copy.execute(loads.EIGHT_TABLE)
        connection.execute(f"CREATE PUBLICATION {loads.EIGHT} FOR TABLE {loads.EIGHT}")
        rates = ReadingRates({}, {})
        for name, block in (
            (OURS, _ours(url, connection, folder)),
            (RECVLOGICAL, _recvlogical(url, folder)),
            (SUBSCRIPTION, _subscription(url, connection, copy)),
        ):
            with block as reader:
                rates.inserts[name] = _rate(connection, reader, loads.insert_eight, changes)
                rates.updates[name] = _rate(connection, reader, loads.update_eight, changes)
            connection.execute(f"TRUNCATE {loads.EIGHT}")
        return rates


def _rate(
    connection: psycopg.Connection,
    reader: _Reader,
    write: Callable[[psycopg.Connection, int], None],
    changes: int,
) -> float:
    """Return the changes a second from a reader's start to its acknowledgement of the last one."""
    with reader.halted():
        write(connection, changes)
        row = connection.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()
        # A slot is confirmed up to a commit that it has something of: there is one behind the LSN.
        connection.execute(f"INSERT INTO {loads.EIGHT} (id) VALUES (-1)")
        connection.execute(f"DELETE FROM {loads.EIGHT} WHERE id = -1")
        began = time.perf_counter()
    assert row is not None
    reader.wait(row[0])
    return changes / (time.perf_counter() - began)


@contextmanager
def _ours(url: DatabaseUrl, connection: psycopg.Connection, folder: Path) -> Iterator[_Reader]:
    with landed(url, folder) as following:
        slot = "openmirror_shop"
        query = "SELECT count(*) = 1 FROM pg_replication_slots WHERE slot_name = %s AND active"
        _wait(connection, query, slot)
        time.sleep(_SECONDS_TO_LOAD)
        yield _Reader(following.halted, lambda lsn: _wait(connection, _CONFIRMED, slot, lsn))


@contextmanager
def _recvlogical(url: DatabaseUrl, folder: Path) -> Iterator[_Reader]:
    slot, file = "bench_recvlogical", folder / "recvlogical"
    program = str(postgres_programs() / "pg_recvlogical")
    where = ["-h", url.host, "-p", str(url.port), "-U", url.user, "-d", url.database, "-S", slot]

    def run(*words: str) -> None:
        environment = {**os.environ, "PGPASSWORD": url.password}
        subprocess.run([program, *where, *words], env=environment, check=True, capture_output=True)

    options = ("-o", "proto_version=1", "-o", f"publication_names={loads.EIGHT}")
    run("--create-slot", "-P", "pgoutput")
    try:
        yield _Reader(
            nullcontext, lambda lsn: run("--start", "-f", str(file), f"--endpos={lsn}", *options)
        )
    finally:
        run("--drop-slot")
        file.unlink(missing_ok=True)


@contextmanager
def _subscription(
    url: DatabaseUrl, connection: psycopg.Connection, copy: psycopg.Connection
) -> Iterator[_Reader]:
    name = "bench_subscription"
    source = make_conninfo(
        host=url.host, port=url.port, dbname=url.database, user=url.user, password=url.password
    )
    copy.execute(
        sql.SQL("CREATE SUBSCRIPTION {} CONNECTION {} PUBLICATION {}").format(
            sql.Identifier(name), sql.Literal(source), sql.Identifier(loads.EIGHT)
        )
    )

    @contextmanager
    def halted() -> Iterator[None]:
        copy.execute(f"ALTER SUBSCRIPTION {name} DISABLE")
        yield
        copy.execute(f"ALTER SUBSCRIPTION {name} ENABLE")

    try:
        yield _Reader(halted, lambda lsn: _wait(connection, _CONFIRMED, name, lsn))
    finally:
        copy.execute(f"DROP SUBSCRIPTION {name}")


def _wait(connection: psycopg.Connection, query: str, *given: str) -> None:
    ends = time.monotonic() + _PATIENCE
    while True:
        row = connection.execute(query, given).fetchone()
        if row and row[0]:
            return
        if time.monotonic() > ends:
            raise TimeoutError(query)
        time.sleep(0.02)
