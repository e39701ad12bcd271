"""Facts of a database's server, user and tables, as far as a stream depends on them."""

from __future__ import annotations

from dataclasses import dataclass

from openmirror.cdc.postgresql.connecting import DatabaseConnection
from openmirror.cdc.postgresql.definitions import Oid, ReplicaIdentity
from openmirror.cdc.postgresql.publication import PublicationFacts, ask_publication
from openmirror.cdc.postgresql.slots import SlotFacts, ask_slot

_SERVER = """
    SELECT current_setting('server_version_num')::int AS version,
        (SELECT system_identifier::text FROM pg_control_system()) AS system,
        (SELECT oid::bigint FROM pg_database WHERE datname = current_database()) AS database,
        pg_is_in_recovery() AS is_standby,
        current_setting('server_encoding') AS encoding,
        current_setting('wal_level') AS wal_level,
        current_setting('synchronous_standby_names') AS synchronous_names,
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
        current_setting('max_slot_wal_keep_size') AS kept_log
"""
_TABLES = """
    SELECT n.nspname AS schema, c.relname AS name, c.oid::bigint AS oid,
        c.relkind::text AS kind, c.relpersistence = 'u' AS is_unlogged,
        CASE WHEN c.relispartition THEN pg_partition_root(c.oid)::oid::bigint END AS root,
        c.relkind = 'r' AND c.relhassubclass
            AND EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid) AS has_children,
        k.indexrelid IS NOT NULL AS is_keyed, coalesce(NOT k.indimmediate, false) AS is_deferrable,
        (SELECT string_agg(a.attname::text, ', ' ORDER BY a.attnum) FROM pg_attribute a
         WHERE a.attrelid = c.oid AND a.attgenerated <> ''
           AND current_setting('server_version_num')::int < 180000
           AND a.attnum = ANY(k.indkey[:k.indnkeyatts - 1])) AS generated_keys,
        c.relreplident::text AS identity,
        c.relreplident = 'f' AND EXISTS (
            SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attgenerated = 'v'
              AND NOT a.attisdropped) AS has_unsent_identity,
        c.relreplident <> 'i' OR coalesce((
            SELECT (SELECT array_agg(x ORDER BY x) FROM unnest(i.indkey[:i.indnkeyatts - 1]) x)
                 = (SELECT array_agg(x ORDER BY x) FROM unnest(k.indkey[:k.indnkeyatts - 1]) x)
            FROM pg_index i WHERE i.indrelid = c.oid AND i.indisreplident), false)
            AS is_identified_by_key,
        has_table_privilege(c.oid, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE') AS may_read,
        c.relrowsecurity AND row_security_active(c.oid) AS hides_rows,
        pg_has_role(current_user, c.relowner, 'USAGE') AS is_owned,
        quote_ident(n.nspname) AS quoted_schema,
        quote_ident(n.nspname) || '.' || quote_ident(c.relname) AS quoted
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_index k ON k.indrelid = c.oid AND k.indisprimary
    WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND c.relpersistence <> 't'
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'
    ORDER BY 1, 2
"""


@dataclass(frozen=True, kw_only=True)
class ServerFacts:
    """The server, and the user who asks."""

    version: int
    """As server_version_num: 150004."""
    system: str
    """The system identifier: another one for every `initdb`, the same on a standby."""
    database: Oid
    """Another one for a database that was made again under its name."""
    is_standby: bool
    encoding: str
    wal_level: str
    synchronous_names: str
    """`synchronous_standby_names`."""
    user: str
    """As SQL writes it."""
    may_replicate: bool
    may_create: bool
    """Whether the user may make a publication."""
    slots: int
    most_slots: int
    senders: int
    most_senders: int
    kept_log: str
    """max_slot_wal_keep_size."""


@dataclass(frozen=True, kw_only=True)
class TableFacts:
    """A table or view of the database."""

    schema: str
    name: str
    oid: Oid
    """Another one for a table that was made again under its name."""
    kind: str
    """`relkind`: r a table, p partitioned, f foreign, v a view, m a materialized view."""
    is_unlogged: bool
    root: Oid | None
    """The partitioned table at the top, for a partition."""
    has_children: bool
    """Whether other tables inherit from it."""
    is_keyed: bool
    is_deferrable: bool
    """Whether its primary key is checked at a transaction's end only."""
    generated_keys: str | None
    """The columns of its primary key that are generated and not sent, as a list for people."""
    identity: ReplicaIdentity
    has_unsent_identity: bool
    """Whether its replica identity is FULL and has virtual generated columns, which no publication
    sends (from version 18)."""
    is_identified_by_key: bool
    """Whether an index that is its replica identity has the primary key's columns."""
    may_read: bool
    hides_rows: bool
    """Whether row-level security hides rows from our user."""
    is_owned: bool
    quoted_schema: str
    """As SQL writes its schema's name."""
    quoted: str
    """As SQL writes its name."""

    @property
    def title(self) -> str:
        """`schema.table`, with an escape for each byte that is no text."""
        return f"{self.schema}.{self.name}".encode(errors="backslashreplace").decode()

    @property
    def is_view(self) -> bool:
        """Whether it has no rows of its own."""
        return self.kind in ("v", "m")


@dataclass(frozen=True)
class DatabaseFacts:
    """All that was asked."""

    server: ServerFacts
    slot: SlotFacts | None
    publication: PublicationFacts | None
    tables: tuple[TableFacts, ...]
    """In the order of their names."""


def ask(connection: DatabaseConnection, slot: str) -> DatabaseFacts:
    """Ask for everything at once; `slot` is the name of the slot and of the publication."""
    return DatabaseFacts(
        ask_server(connection),
        ask_slot(connection, slot),
        ask_publication(connection, slot),
        ask_tables(connection),
    )


def ask_server(connection: DatabaseConnection) -> ServerFacts:
    """Return the server's facts."""
    row = connection.execute(_SERVER).fetchone()
    assert row is not None
    return ServerFacts(**row)


def ask_tables(connection: DatabaseConnection) -> tuple[TableFacts, ...]:
    """Return every table and view, whether it can be mirrored or not, in the order of names."""
    rows = connection.execute(_TABLES)
    return tuple(
        TableFacts(**{**row, "identity": ReplicaIdentity(row["identity"])}) for row in rows
    )


def ask_synchronous_names(connection: DatabaseConnection) -> str:
    """Return `synchronous_standby_names` as it is now. Every user may ask."""
    row = connection.execute(
        "SELECT current_setting('synchronous_standby_names') AS names"
    ).fetchone()
    assert row is not None
    return str(row["names"])
