"""What a database must have before it is captured: asked of it, each answer with its remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString

import psycopg

from openmirror.cdc.capture.settings import CaptureSettings
from openmirror.cdc.spool.folder import write_whole
from openmirror.errors import CannotStart

_CAPTURED = "tables.json"
_ANEW = "Begin the stream anew, from a new snapshot: --anew"
_TABLES = """
    SELECT n.nspname, c.relname, EXISTS (
        SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence = 'p'
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'
    ORDER BY 1, 2
"""
_MAY_REPLICATE = """
    SELECT rolsuper OR rolreplication OR EXISTS (
        SELECT FROM pg_roles r WHERE r.rolname IN ('rds_replication', 'cloudsqlreplica')
          AND pg_has_role(current_user, r.oid, 'member'))
    FROM pg_roles WHERE rolname = current_user
"""
_NO_SLOT_FREE = """
    SELECT count(*) >= current_setting('max_replication_slots')::int FROM pg_replication_slots
"""


@dataclass(frozen=True)
class CapturedTables:
    """What is captured of a database that can be."""

    tables: tuple[str, ...]
    """As schema.table."""
    notes: tuple[str, ...]
    """Tables that are left out, and why."""


@dataclass(frozen=True)
class _Found:
    tables: tuple[tuple[str, bool], ...]
    """Each table's name, and whether it has a primary key."""
    has_slot: bool
    is_slot_used: bool


def prepare(settings: CaptureSettings, *, is_begun: bool) -> CapturedTables:
    """Make sure that the database can be captured.

    `is_begun`: whether the spool has a stream that goes on. One that begins takes no slot over: one
    that is left under its name is dropped. Raises CannotStart.
    """
    url = settings.url
    try:
        with psycopg.connect(
            host=url.host,
            port=url.port,
            dbname=url.database,
            user=url.user,
            password=url.password or None,
            connect_timeout=10,
            autocommit=True,
        ) as connection:
            found = _asked(connection, settings)
            if is_begun and not found.has_slot:
                raise CannotStart(
                    f"the replication slot {settings.slot} of {url} is gone, and what was changed "
                    f"since it was dropped with it. {_ANEW}"
                )
            if found.is_slot_used:
                raise CannotStart(
                    f"another process reads the replication slot {settings.slot} of {url}. Stop "
                    "it, or capture under another name: --stream"
                )
            if found.has_slot and not is_begun:
                connection.execute("SELECT pg_drop_replication_slot(%s)", (settings.slot,))
    except psycopg.Error as error:
        raise CannotStart(f"{url} cannot be captured: {_words(error)}") from error
    return _chosen(settings, found, is_begun=is_begun)


def _asked(connection: psycopg.Connection, settings: CaptureSettings) -> _Found:
    """Ask for all that the connector needs; raises CannotStart for what is missing."""
    url = settings.url
    level = _one(connection, "SHOW wal_level")
    if level != "logical":
        raise CannotStart(
            f"{url} writes its log with wal_level = {level}, and changes of rows are read from "
            "wal_level = logical: ALTER SYSTEM SET wal_level = logical, then restart the server "
            "(on Azure: the server parameter wal_level)"
        )
    may = _one(connection, _MAY_REPLICATE)
    if not may:
        raise CannotStart(f"{url}: {url.user} may not replicate: ALTER ROLE {url.user} REPLICATION")
    slot = connection.execute(
        "SELECT active FROM pg_replication_slots WHERE slot_name = %s", (settings.slot,)
    ).fetchone()
    if slot is None:
        most = _one(connection, "SHOW max_replication_slots")
        if _one(connection, _NO_SLOT_FREE):
            raise CannotStart(
                f"{url} has no free replication slot ({most} are used): drop one that nobody reads "
                "(pg_drop_replication_slot), or raise max_replication_slots"
            )
    rows = connection.execute(_TABLES).fetchall()
    tables = tuple((f"{schema}.{table}", bool(keyed)) for schema, table, keyed in rows)
    return _Found(tables, slot is not None, slot is not None and bool(slot[0]))


def _chosen(settings: CaptureSettings, found: _Found, *, is_begun: bool) -> CapturedTables:
    """The tables that are captured: those of the snapshot, for as long as the stream goes on.

    A table without a key must not even be published: PostgreSQL would refuse its own updates.
    """
    there = dict(found.tables)
    wanted = [name for name in there if _is_wanted(name, settings.tables)]
    notes = [
        f"{name} is left out: it has no primary key, so that its changes name no rows"
        for name in wanted
        if not there[name]
    ]
    keyed = [name for name in wanted if there[name]]
    path = settings.spool / _CAPTURED
    if is_begun and path.exists():
        before = json.loads(path.read_bytes())
        notes += [
            f"{name} is left out: it was not there when the snapshot was taken. {_ANEW}"
            for name in keyed
            if name not in before
        ]
        keyed = [name for name in keyed if name in before]
    if not keyed:
        raise CannotStart("\n".join((f"there is no table to capture in {settings.url}", *notes)))
    if not (is_begun and path.exists()):
        write_whole(settings.spool, _CAPTURED, json.dumps(keyed).encode())
    return CapturedTables(tuple(keyed), tuple(notes))


def _is_wanted(name: str, patterns: Sequence[str]) -> bool:
    if not patterns:
        return True
    wanted = (".*".join(map(re.escape, pattern.split("*"))) for pattern in patterns)
    return any(re.fullmatch(pattern, name) for pattern in wanted)


def _one(connection: psycopg.Connection, query: LiteralString) -> object:
    row = connection.execute(query).fetchone()
    return row[0] if row is not None else None


def _words(error: psycopg.Error) -> str:
    """PostgreSQL's own words in one line."""
    return " ".join(str(error).split()) or type(error).__name__
