"""The publication of a stream: the tables whose changes the server sends."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import psycopg
from psycopg import sql

from openmirror.cdc.postgresql.connecting import DatabaseConnection
from openmirror.cdc.postgresql.definitions import Oid
from openmirror.cdc.postgresql.encodings import encoded

_SECONDS_FOR_LOCKS = 1.0
"""Seconds for which locks are waited for, together."""
_LEAST_TIMEOUT = "1ms"
"""A statement of many tables holds locks while it waits for another one. If it waited for long, the
server could find a deadlock with a session of the source, and end that one's transaction."""
_AT_ONCE = 200
"""Tables of one statement, which holds a lock on each until its end."""
_GENERATED_FROM = 180000
_NAMESPACES_FROM = 150000
"""From version 15 on, a publication may have all tables of a schema."""
_OF_SCHEMAS = """
            UNION SELECT c.oid FROM pg_publication_namespace s
                JOIN pg_class c ON c.relnamespace = s.pnnspid WHERE s.pnpubid = p.oid"""
_SENT = """ARRAY(
        WITH RECURSIVE named (oid) AS (
            SELECT r.prrelid FROM pg_publication_rel r WHERE r.prpubid = p.oid
            UNION SELECT c.oid FROM pg_class c WHERE p.puballtables{of_schemas}
        ), sent (oid) AS (
            SELECT oid FROM named
            UNION SELECT i.inhrelid FROM sent s JOIN pg_inherits i ON i.inhparent = s.oid
                JOIN pg_class c ON c.oid = i.inhrelid AND c.relispartition
        )
        SELECT c.oid::bigint FROM sent s JOIN pg_class c ON c.oid = s.oid
        JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind = 'r' AND c.relpersistence = 'p'
            AND n.nspname !~ '^(pg_|information_schema$)'
    )"""
"""The tables that the publication `p` sends. `pg_get_publication_tables` gives them as well, but
from version 16 on it waits for the end of every transaction that has locked one of them."""
_FACTS = """
    SELECT p.oid::bigint AS oid, pg_has_role(current_user, pubowner, 'USAGE') AS is_owned,
        puballtables AS has_all,
        pubinsert AND pubupdate AND pubdelete AND pubtruncate AND NOT pubviaroot
            AND coalesce(to_jsonb(p) ->> 'pubgencols', 's') = 's' AS is_whole,
        {sent} AS tables,
        ARRAY(SELECT r.prrelid::bigint FROM pg_publication_rel r WHERE r.prpubid = p.oid) AS named,
        ARRAY(SELECT r.prrelid::bigint FROM pg_publication_rel r WHERE r.prpubid = p.oid
              AND (to_jsonb(r) ->> 'prqual' IS NOT NULL OR to_jsonb(r) ->> 'prattrs' IS NOT NULL)
        ) AS filtered
    FROM pg_publication p WHERE pubname = %s
"""
_HARMED = """
    SELECT c.oid::bigint AS oid, n.nspname || '.' || c.relname AS title
    FROM pg_publication p CROSS JOIN LATERAL unnest({sent}) t (relid)
    JOIN pg_class c ON c.oid = t.relid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE p.pubname = %s AND (p.pubupdate OR p.pubdelete)
      AND CASE c.relreplident WHEN 'f' THEN EXISTS (
        SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attgenerated = 'v'
          AND NOT a.attisdropped)
      ELSE NOT EXISTS (
        SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisvalid AND i.indimmediate
          AND CASE c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident END)
      END
"""
_QUOTED = """
    SELECT c.oid::bigint AS oid, quote_ident(n.nspname) || '.' || quote_ident(c.relname) AS quoted
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid = ANY(%s::bigint[]::oid[]) ORDER BY 1
"""


@dataclass(frozen=True, kw_only=True)
class PublicationFacts:
    """A publication."""

    oid: Oid
    """Another one for a publication that was dropped and made again."""
    is_owned: bool
    """Whether our user may change it."""
    has_all: bool
    """Whether it is of all tables."""
    is_whole: bool
    """Whether its options are those of a publication that we make: it sends inserts, updates,
    deletes and truncates under the tables' own names, with stored generated columns from 18 on."""
    tables: frozenset[Oid]
    """Every table that it sends."""
    named: frozenset[Oid]
    """Tables that it names one by one."""
    filtered: frozenset[Oid]
    """Tables that it names and of which it leaves out rows or columns."""

    @property
    def whole(self) -> frozenset[Oid]:
        """The tables of which it sends every row and column."""
        return self.tables - self.filtered


def ask_publication(connection: DatabaseConnection, name: str) -> PublicationFacts | None:
    """Return a publication's facts; None where there is none of this name."""
    row = connection.execute(_with_sent(connection, _FACTS), (name,)).fetchone()
    if row is None:
        return None
    sets = {key: frozenset(row[key]) for key in ("tables", "named", "filtered")}
    return PublicationFacts(**{**row, **sets})


def publication_oid(connection: DatabaseConnection, name: str) -> Oid | None:
    """Return a publication's OID; None where there is none of this name.

    Unlike `ask_publication`, it costs nothing however many tables there are.
    """
    row = connection.execute(
        "SELECT oid::bigint AS oid FROM pg_publication WHERE pubname = %s", (name,)
    ).fetchone()
    return None if row is None else int(row["oid"])


def make_publication(connection: DatabaseConnection, name: str) -> Oid:
    """Make a publication without tables, and return its OID."""
    connection.execute(_statement("CREATE PUBLICATION {} WITH ", name) + _options(connection))
    made = publication_oid(connection, name)
    assert made is not None
    return made


def publish_every_change(connection: DatabaseConnection, name: str) -> bool:
    """Let a publication send all kinds of changes, whatever it was made with.

    Returns whether that is done. A session that alters the publication is not waited for.
    """
    try:
        with connection.transaction():
            connection.execute(_raw(f"SET LOCAL lock_timeout = '{_LEAST_TIMEOUT}'"))
            connection.execute(_statement("ALTER PUBLICATION {} SET ", name) + _options(connection))
    except psycopg.errors.LockNotAvailable:
        return False
    return True


def publish(
    connection: DatabaseConnection, name: str, tables: Collection[Oid]
) -> Mapping[Oid, str]:
    """Add tables to a publication. Each is committed when this returns.

    Only the tables themselves are added, none that inherits from them. Tables that are locked are
    waited for at most a second, all together.

    Returns:
        Why a table was not added, by its OID; a table that is gone is not among them.
    """
    return _alter(connection, name, "ADD", tables)


def unpublish(
    connection: DatabaseConnection, name: str, tables: Collection[Oid]
) -> Mapping[Oid, str]:
    """Take tables out of a publication; returns why a table was not, like `publish`."""
    return _alter(connection, name, "DROP", tables)


def drop_publication(connection: DatabaseConnection, name: str) -> None:
    """Drop a publication, if it is there."""
    connection.execute(_statement("DROP PUBLICATION IF EXISTS {}", name))


def harmed_tables(connection: DatabaseConnection, name: str) -> Mapping[Oid, str]:
    """Return published tables whose UPDATE and DELETE the server refuses, with their titles.

    A table gets there when its primary key is dropped or its replica identity is changed while it
    is published, or when it has REPLICA IDENTITY FULL and gets a virtual generated column. Taking
    it out of the publication lets the source's own statements succeed.
    """
    rows = connection.execute(_with_sent(connection, _HARMED), (name,))
    return {row["oid"]: row["title"] for row in rows}


def sends_generated(version: int) -> bool:
    """Whether a publication that we make sends stored generated columns.

    Virtual ones are never sent. `version` is `server_version_num`.
    """
    return version >= _GENERATED_FROM


def publish_options(version: int) -> str:
    """Return the options of a publication that we make, in parentheses, as SQL writes them."""
    more = ", publish_generated_columns = stored" if sends_generated(version) else ""
    return (
        f"(publish = 'insert, update, delete, truncate', publish_via_partition_root = false{more})"
    )


def _with_sent(connection: DatabaseConnection, query: str) -> bytes:
    has_schemas = connection.info.server_version >= _NAMESPACES_FROM
    sent = _SENT.format(of_schemas=_OF_SCHEMAS if has_schemas else "")
    return query.format(sent=sent).encode()


def _options(connection: DatabaseConnection) -> sql.Composed:
    return sql.SQL("{}").format(_raw(publish_options(connection.info.server_version)))


def _statement(form: str, name: str) -> sql.Composed:
    return _raw(form).format(sql.Identifier(name))


def _raw(text: str) -> sql.SQL:
    return sql.SQL(text)  # text of this module, or quoted by the server


def _alter(
    connection: DatabaseConnection, name: str, verb: str, tables: Collection[Oid]
) -> Mapping[Oid, str]:
    rows = connection.execute(_QUOTED, (sorted(tables),)).fetchall()
    named = [(row["oid"], row["quoted"]) for row in rows]
    head = _statement(f"ALTER PUBLICATION {{}} {verb} TABLE ", name).as_string(None)
    encoding = connection.info.parameter_status("server_encoding") or ""
    until = time.monotonic() + _SECONDS_FOR_LOCKS

    def alter(part: Sequence[tuple[Oid, str]]) -> None:
        names = ", ".join(f"ONLY {quoted}" for _, quoted in part)
        with connection.transaction():
            left = int(1000 * (until - time.monotonic()))
            timeout = f"{left}ms" if len(part) == 1 and left > 1 else _LEAST_TIMEOUT
            connection.execute(_raw(f"SET LOCAL lock_timeout = '{timeout}'"))
            # By psycopg, a name outside of ASCII could not be sent to a database of SQL_ASCII.
            connection.execute(encoded(head + names, encoding, "surrogateescape"))

    refused: dict[Oid, str] = {}
    for at in range(0, len(named), _AT_ONCE):
        refused |= _each(alter, named[at : at + _AT_ONCE])
    return refused


def _each(
    alter: Callable[[Sequence[tuple[Oid, str]]], None], part: Sequence[tuple[Oid, str]]
) -> dict[Oid, str]:
    """Alter all at once, or else one by one, so that one table keeps no other one out."""
    try:
        alter(part)
    except psycopg.errors.OperationalError as error:
        if error.sqlstate != psycopg.errors.LockNotAvailable.sqlstate:
            raise
        words = "another session holds a lock on it"
    except psycopg.errors.UndefinedTable:
        words = ""
    except (psycopg.errors.ProgrammingError, psycopg.errors.DataError) as error:
        words = error.diag.message_primary or str(error)
    else:
        return {}
    if len(part) == 1:
        return {part[0][0]: words} if words else {}
    return {oid: why for one in part for oid, why in _each(alter, [one]).items()}
