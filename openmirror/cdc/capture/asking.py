"""What a PostgreSQL database says of itself, as far as capturing it depends on it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg

from openmirror.cdc.capture.settings import DatabaseUrl
from openmirror.errors import CannotStart

_TABLES = """
    SELECT n.nspname AS schema, c.relname AS name, c.oid::bigint AS oid,
        EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary) AS is_keyed,
        c.relkind = 'p' AS is_partitioned,
        EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND NOT a.attisdropped
                AND coalesce(to_jsonb(a) ->> 'attgenerated', '') <> '') AS has_generated,
        has_table_privilege(c.oid, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE') AS may_read,
        pg_has_role(current_user, c.relowner, 'USAGE') AS is_owned,
        c.relreplident = 'f' AS has_full_images,
        quote_ident(n.nspname) || '.' || quote_ident(c.relname) AS quoted
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence = 'p'
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'
    ORDER BY 1, 2
"""
_SERVER = """
    SELECT current_setting('server_version_num')::int AS version,
        pg_is_in_recovery() AS is_standby,
        current_setting('wal_level') AS wal_level,
        quote_ident(current_user) AS user,
        (SELECT rolsuper OR rolreplication OR EXISTS (
            SELECT FROM pg_roles g WHERE g.rolname IN ('rds_replication', 'cloudsqlreplica')
              AND pg_has_role(current_user, g.oid, 'member'))
         FROM pg_roles WHERE rolname = current_user) AS may_replicate,
        has_database_privilege(current_database(), 'CREATE') AS may_create,
        (SELECT count(*) FROM pg_replication_slots)::int AS slots,
        current_setting('max_replication_slots')::int AS most_slots,
        (SELECT count(*) FROM pg_stat_replication)::int AS senders,
        current_setting('max_wal_senders')::int AS most_senders,
        current_setting('max_slot_wal_keep_size', true) AS kept_log
"""
_SLOT = """
    SELECT active AS is_used, coalesce(to_jsonb(s) ->> 'wal_status', '') AS state,
        coalesce(plugin, '') AS plugin, coalesce(database, '') AS database,
        coalesce(database = current_database(), false) AS is_own
    FROM pg_replication_slots s WHERE slot_name = %s
"""
_SLOT_SIZE = """
    SELECT pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn()
        ELSE pg_current_wal_lsn() END, restart_lsn)::bigint AS kept
    FROM pg_replication_slots WHERE slot_name = %s
"""
_PUBLICATION = """
    SELECT pg_has_role(current_user, pubowner, 'USAGE') AS is_owned, puballtables AS has_all,
        ARRAY(SELECT schemaname || '.' || tablename FROM pg_publication_tables t
              WHERE t.pubname = p.pubname) AS tables,
        ARRAY(SELECT r.prrelid::regclass::text FROM pg_publication_rel r WHERE r.prpubid = p.oid
              AND (to_jsonb(r) ->> 'prqual' IS NOT NULL OR to_jsonb(r) ->> 'prattrs' IS NOT NULL)
        ) AS filtered,
        pubinsert AND pubupdate AND pubdelete AND pubtruncate AS has_every_change
    FROM pg_publication p WHERE pubname = %s
"""


class ServerAway(CannotStart):
    """The database does not answer, or not yet."""


@dataclass(frozen=True, kw_only=True)
class ServerFacts:
    """The server, and the user who asks."""

    version: int
    """As server_version_num: 150004."""
    is_standby: bool
    wal_level: str
    user: str
    """As SQL writes it."""
    may_replicate: bool
    may_create: bool
    slots: int
    most_slots: int
    senders: int
    most_senders: int
    kept_log: str | None
    """max_slot_wal_keep_size; None before version 13."""


@dataclass(frozen=True, kw_only=True)
class SlotFacts:
    """The replication slot that the stream's name says."""

    is_used: bool
    state: str
    """wal_status; empty before version 13."""
    plugin: str
    database: str
    is_own: bool
    """Whether it is of the database that is asked."""


@dataclass(frozen=True, kw_only=True)
class PublicationFacts:
    """The publication that the stream's name says."""

    is_owned: bool
    has_all: bool
    tables: tuple[str, ...]
    filtered: tuple[str, ...]
    """Tables of which it leaves out rows or columns."""
    has_every_change: bool
    """Whether it publishes inserts, updates, deletes and truncates."""


@dataclass(frozen=True, kw_only=True)
class TableFacts:
    """A table that could be captured."""

    schema: str
    name: str
    oid: int
    """Another one for a table that was made again under its name."""
    is_keyed: bool
    is_partitioned: bool
    has_generated: bool
    may_read: bool
    is_owned: bool
    has_full_images: bool
    quoted: str

    @property
    def title(self) -> str:
        """As schema.table."""
        return f"{self.schema}.{self.name}"

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
class DatabaseFacts:
    """All that was asked."""

    server: ServerFacts
    slot: SlotFacts | None
    publication: PublicationFacts | None
    tables: tuple[TableFacts, ...]


@contextmanager
def connected(url: DatabaseUrl) -> Iterator[psycopg.Connection[dict[str, Any]]]:
    """A connection, each statement a transaction.

    Raises CannotStart where the database lets nobody in, ServerAway where it does not answer.
    """
    try:
        with psycopg.connect(
            host=url.host,
            port=url.port,
            dbname=url.database,
            user=url.user,
            password=url.password or None,
            connect_timeout=10,
            autocommit=True,
            row_factory=psycopg.rows.dict_row,
        ) as connection:
            yield connection
    except psycopg.Error as error:
        words = " ".join(str(error).split()) or type(error).__name__
        remedy = next((then for sign, then in _REMEDIES if re.search(sign, words)), None)
        failure = ServerAway if remedy == _START_IT else CannotStart
        raise failure(
            f"{url} cannot be captured: {words.rstrip('.')}. "
            f"{remedy or 'Correct this, and begin again'}"
        ) from error


def ask(connection: psycopg.Connection[dict[str, Any]], slot: str) -> DatabaseFacts:
    """Everything at once; `slot` is what the slot and the publication are called."""
    publication = _row(connection, _PUBLICATION, slot)
    if publication is not None:
        lists = {name: tuple(publication[name]) for name in ("tables", "filtered")}
        publication = {**publication, **lists}
    server = _row(connection, _SERVER)
    assert server is not None
    return DatabaseFacts(
        ServerFacts(**server),
        ask_slot(connection, slot),
        None if publication is None else PublicationFacts(**publication),
        tuple(TableFacts(**row) for row in connection.execute(_TABLES)),
    )


def ask_slot(connection: psycopg.Connection[dict[str, Any]], slot: str) -> SlotFacts | None:
    """The slot alone, which is asked for again while a reader that was killed still has it."""
    row = _row(connection, _SLOT, slot)
    return None if row is None else SlotFacts(**row)


def ask_slot_size(connection: psycopg.Connection[dict[str, Any]], slot: str) -> int | None:
    """Bytes of the log that the server keeps for a slot; None where it has none of this name."""
    row = _row(connection, _SLOT_SIZE, slot)
    return None if row is None else row["kept"]


def _row(
    connection: psycopg.Connection[dict[str, Any]], query: LiteralString, *given: str
) -> dict[str, Any] | None:
    return connection.execute(query, given or None).fetchone()


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
