"""A standby of a PostgreSQL server of version 17 or later, which takes over with its slots."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
from psycopg import sql

from standins.loopback import free_port
from standins.postgres import PASSWORD, PostgresServer

_SLOT = "a_standby"
_PATIENCE = 60.0


@contextmanager
def standby_of(primary: PostgresServer) -> Iterator[PostgresServer]:
    """Start a standby that copies the primary's failover slots. The primary restarts once.

    The primary needs `hot_standby_feedback`, and ends after the standby.
    """
    with primary.connect() as connection:
        connection.execute("SELECT pg_create_physical_replication_slot(%s, true)", (_SLOT,))
    primary.stop()
    folder = primary.folder / "standby"
    folder.mkdir()
    shutil.copytree(primary.folder / "data", folder / "data")
    primary.start()
    _become_standby(primary, folder / "data")
    for path in (folder, *folder.rglob("*")):
        if primary.user is not None:
            shutil.chown(path, primary.user)
    (folder / "data").chmod(0o700)
    port = free_port()
    settings = {"port": str(port), "unix_socket_directories": str(folder)}
    standby = replace(
        primary,
        url=replace(primary.url, port=port),
        folder=folder,
        settings={**primary.settings, **settings},
    )
    try:
        standby.start()
        yield standby
    finally:
        standby.stop("immediate")


def wait_for_slot(
    primary: PostgresServer, standby: PostgresServer, slot: str, move_on: Callable[[], None]
) -> None:
    """Wait until the standby has a copy of a slot that it would keep when it takes over.

    `move_on` lets the slot's reader acknowledge something: the standby keeps a copy only once the
    slot stands behind where the standby itself begins.
    """
    until = time.monotonic() + _PATIENCE
    query = "SELECT FROM pg_replication_slots WHERE slot_name = %s AND NOT temporary AND synced"
    with primary.connect() as ours, standby.connect() as theirs:
        while theirs.execute(query, (slot,)).fetchone() is None:
            assert time.monotonic() < until
            ours.execute("SELECT pg_log_standby_snapshot()")
            move_on()
            time.sleep(0.2)


def wait_for_log(primary: PostgresServer, standby: PostgresServer) -> None:
    """Wait until the standby has the primary's log so far."""
    until = time.monotonic() + _PATIENCE
    with primary.connect() as ours, standby.connect() as theirs:
        (now,) = ours.execute("SELECT pg_current_wal_lsn()").fetchone() or (None,)
        query = "SELECT pg_last_wal_replay_lsn() >= %s"
        while (theirs.execute(query, (now,)).fetchone() or (False,)) != (True,):
            assert time.monotonic() < until
            time.sleep(0.05)


def take_over(primary: PostgresServer, standby: PostgresServer) -> None:
    """Crash the primary, and let the standby take its place."""
    primary.stop("immediate")
    with standby.connect() as connection:
        connection.execute("SELECT pg_promote()")


def _become_standby(primary: PostgresServer, folder: Path) -> None:
    # Slots are not the standby's before it has copied them.
    shutil.rmtree(folder / "pg_replslot")
    (folder / "pg_replslot").mkdir()
    (folder / "standby.signal").touch()
    url = primary.url
    where = psycopg.conninfo.make_conninfo(
        host=url.host, port=url.port, user=url.user, password=PASSWORD, dbname=url.database
    )
    settings = {
        "primary_conninfo": where,
        "primary_slot_name": _SLOT,
        "sync_replication_slots": "on",
        "hot_standby_feedback": "on",
    }
    with (folder / "postgresql.auto.conf").open("a") as file:
        for name, value in settings.items():
            file.write(f"{name} = {sql.Literal(value).as_string()}\n")
