"""What a database must have before it is captured: asked of it, each answer with its remedy."""

from __future__ import annotations

import json
import re
import time
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
    SELECT n.nspname, c.relname, c.oid::bigint,
        EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary),
        c.relkind = 'p',
        EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND NOT a.attisdropped
                AND coalesce(to_jsonb(a) ->> 'attgenerated', '') <> ''),  -- before 12 none
        has_table_privilege(c.oid, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE'),
        pg_has_role(current_user, c.relowner, 'USAGE'),
        quote_ident(n.nspname) || '.' || quote_ident(c.relname),
        quote_ident(current_user)
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
_SLOT = """
    SELECT active, coalesce(to_jsonb(s) ->> 'wal_status', '')  -- servers before 13 have none
    FROM pg_replication_slots s WHERE slot_name = %s
"""
_PUBLICATION = """
    SELECT pg_has_role(current_user, pubowner, 'USAGE'), puballtables,
        ARRAY(SELECT schemaname || '.' || tablename FROM pg_publication_tables t
              WHERE t.pubname = p.pubname)
    FROM pg_publication p WHERE pubname = %s
"""
_MAY_CREATE = "SELECT has_database_privilege(current_database(), 'CREATE')"
_SECONDS_FOR_A_READER_TO_END = 10.0
"""A process that was killed reads its slot until the server notices."""
_START_IT = "Start the server, or correct host and port"
_REMEDIES = (
    ("password authentication failed", "Correct the user or the password"),
    ("no password supplied", "Give the password, in the URL or in PGPASSWORD"),
    ("fe_sendauth", "Give the password, in the URL or in PGPASSWORD"),
    ("role .* does not exist", "Correct the user's name"),
    ("database .* does not exist", "Correct the database's name"),
    ("no pg_hba.conf entry", "Let this user in from this machine: pg_hba.conf, or the firewall"),
    ("too many connections|remaining connection slots", "Raise max_connections"),
    (
        "refused|timeout|timed out|translate host|resolve host|No route|unreachable|starting up",
        _START_IT,
    ),
)
_NO_SLOT_FREE = """
    SELECT count(*) >= current_setting('max_replication_slots')::int FROM pg_replication_slots
"""


class ServerAway(CannotStart):
    """The database does not answer, or not yet."""


@dataclass(frozen=True)
class CapturedTables:
    """What is captured of a database that can be."""

    tables: tuple[str, ...]
    """As schema.table."""
    notes: tuple[str, ...]
    """Tables that are left out, and why."""
    may_publish: bool = True
    """Whether the user may make and change the publication; else it is there as it has to be."""


@dataclass(frozen=True, kw_only=True)
class _Table:
    name: str
    """As schema.table."""
    oid: int
    """Another one for a table that was made again under its name."""
    is_keyed: bool
    is_partitioned: bool
    has_generated: bool
    may_read: bool
    is_owned: bool
    quoted: str
    user: str

    @property
    def unfit(self) -> str | None:
        """Why its changes cannot be followed."""
        if not self.is_keyed:
            return "it has no primary key, so that its changes name no rows"
        if self.is_partitioned:
            return "it is partitioned, and its changes come under the names of its partitions"
        if self.has_generated:
            return "it has a generated column, whose values PostgreSQL does not send"
        return None


@dataclass(frozen=True)
class _Publication:
    is_owned: bool
    has_all: bool
    tables: tuple[str, ...]


@dataclass(frozen=True)
class _Found:
    tables: tuple[_Table, ...]
    has_slot: bool
    publication: _Publication | None
    may_create: bool


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
            chosen, notes = _chosen(settings, found, is_begun=is_begun)
            _need_rights(settings, chosen)
            may_publish = _may_publish(settings, found, chosen)
            if found.has_slot and not is_begun:
                connection.execute("SELECT pg_drop_replication_slot(%s)", (settings.slot,))
    except psycopg.Error as error:
        words = _words(error)
        remedy = next((then for sign, then in _REMEDIES if re.search(sign, words)), None)
        failure = ServerAway if remedy == _START_IT else CannotStart
        raise failure(
            f"{url} cannot be captured: {words.rstrip('.')}. "
            f"{remedy or 'Correct this, and begin again'}"
        ) from error
    _keep(settings, chosen)
    return CapturedTables(tuple(table.name for table in chosen), notes, may_publish)


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
    has_slot = _has_free_slot(connection, settings)
    if not has_slot:
        most = _one(connection, "SHOW max_replication_slots")
        if _one(connection, _NO_SLOT_FREE):
            raise CannotStart(
                f"{url} has no free replication slot ({most} are used): drop one that nobody reads "
                "(pg_drop_replication_slot), or raise max_replication_slots"
            )
    tables = tuple(
        _Table(
            name=f"{row[0]}.{row[1]}",
            oid=row[2],
            is_keyed=row[3],
            is_partitioned=row[4],
            has_generated=row[5],
            may_read=row[6],
            is_owned=row[7],
            quoted=row[8],
            user=row[9],
        )
        for row in connection.execute(_TABLES)
    )
    row = connection.execute(_PUBLICATION, (settings.slot,)).fetchone()
    publication = None if row is None else _Publication(row[0], row[1], tuple(row[2]))
    return _Found(tables, has_slot, publication, bool(_one(connection, _MAY_CREATE)))


def _has_free_slot(connection: psycopg.Connection, settings: CaptureSettings) -> bool:
    """Whether the slot is there; raises CannotStart where it cannot be read."""
    until = time.monotonic() + _SECONDS_FOR_A_READER_TO_END
    while slot := connection.execute(_SLOT, (settings.slot,)).fetchone():
        is_used, state = slot
        if state == "lost" and not settings.anew:
            raise CannotStart(
                f"{settings.url} has thrown away log that the replication slot {settings.slot} "
                "still needed, since nobody read it for too long (max_slot_wal_keep_size). "
                f"{_ANEW}"
            )
        if not is_used:
            return True
        if time.monotonic() > until:
            raise CannotStart(
                f"another process reads the replication slot {settings.slot} of {settings.url}. "
                "Stop it, or capture under another name: --stream"
            )
        time.sleep(0.1)
    return False


def _chosen(
    settings: CaptureSettings, found: _Found, *, is_begun: bool
) -> tuple[list[_Table], tuple[str, ...]]:
    """The tables that are captured: those of the snapshot, for as long as the stream goes on.

    A table without a key must not even be published: PostgreSQL would refuse its own updates. One
    that was left out for a while has missed changes, and stays out.
    """
    wanted = [table for table in found.tables if _is_wanted(table.name, settings.tables)]
    notes = [f"{t.name} is left out: {t.unfit}" for t in wanted if t.unfit]
    chosen = [table for table in wanted if not table.unfit]
    path = settings.spool / _CAPTURED
    if is_begun and path.exists():
        before = json.loads(path.read_bytes())
        later = [table for table in chosen if before.get(table.name) != table.oid]
        chosen = [table for table in chosen if table not in later]
        kept = {table.name for table in chosen}
        notes += [
            f"{table.name} is left out: it was not there when the snapshot was taken, or was not "
            f"captured for a while. {_ANEW}"
            for table in later
        ]
        notes += [
            f"{name} is captured no longer: what changes from now on is missing in its table"
            for name in sorted(before.keys() - kept - {table.name for table in later})
        ]
    if not chosen:
        raise CannotStart("\n".join((f"there is no table to capture in {settings.url}", *notes)))
    return chosen, tuple(notes)


def _need_rights(settings: CaptureSettings, chosen: Sequence[_Table]) -> None:
    hidden = [table for table in chosen if not table.may_read]
    if hidden:
        names = ", ".join(table.quoted for table in hidden)
        raise CannotStart(
            f"{settings.url}: {settings.url.user} may not read every table: GRANT SELECT ON TABLE "
            f"{names} TO {hidden[0].user}, and GRANT USAGE on their schemas; or capture others: "
            "--table"
        )


def _may_publish(settings: CaptureSettings, found: _Found, chosen: Sequence[_Table]) -> bool:
    """Whether the connector makes the publication itself.

    Who does not own all tables needs one that is there; raises CannotStart where it is not.
    """
    publication = found.publication
    owns = all(table.is_owned for table in chosen)
    if owns and (found.may_create if publication is None else publication.is_owned):
        return True
    names = ", ".join(table.quoted for table in chosen)
    if publication is None:
        raise CannotStart(
            f"{settings.url}: {settings.url.user} may not publish these tables. Let their owner do "
            f"it: CREATE PUBLICATION {settings.slot} FOR TABLE {names}"
        )
    if not publication.has_all and any(t.name not in publication.tables for t in chosen):
        raise CannotStart(
            f"{settings.url}: the publication {settings.slot} lacks tables that are captured, and "
            f"{settings.url.user} may not add them. Let its owner do it: ALTER PUBLICATION "
            f"{settings.slot} SET TABLE {names}"
        )
    return False


def _keep(settings: CaptureSettings, chosen: Sequence[_Table]) -> None:
    oids = {table.name: table.oid for table in chosen}
    write_whole(settings.spool, _CAPTURED, json.dumps(oids).encode())


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
