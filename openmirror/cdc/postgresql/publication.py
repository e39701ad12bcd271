"""The publication of a stream: the tables whose changes the server sends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import psycopg
from psycopg import sql

from openmirror.cdc.postgresql.connecting import DatabaseConnection
from openmirror.cdc.postgresql.definitions import Oid
from openmirror.cdc.postgresql.encodings import encoded

_LOCK_TIMEOUT = "1s"
_AT_ONCE = 200
"""Tables of one statement, which holds a lock on each until its end."""
_GENERATED_FROM = 180000
_FACTS = """
    SELECT p.oid::bigint AS oid, pg_has_role(current_user, pubowner, 'USAGE') AS is_owned,
        puballtables AS has_all,
        pubinsert AND pubupdate AND pubdelete AND pubtruncate AND NOT pubviaroot
            AND coalesce(to_jsonb(p) ->> 'pubgencols', 's') = 's' AS is_whole,
        ARRAY(SELECT t.relid::bigint FROM pg_get_publication_tables(p.pubname) t) AS tables,
        ARRAY(SELECT r.prrelid::bigint FROM pg_publication_rel r WHERE r.prpubid = p.oid) AS named,
        ARRAY(SELECT r.prrelid::regclass::text FROM pg_publication_rel r WHERE r.prpubid = p.oid
              AND (to_jsonb(r) ->> 'prqual' IS NOT NULL OR to_jsonb(r) ->> 'prattrs' IS NOT NULL)
        ) AS filtered
    FROM pg_publication p WHERE pubname = %s
"""
_HARMED = """
    SELECT c.oid::bigint AS oid, n.nspname || '.' || c.relname AS title
    FROM pg_publication p CROSS JOIN pg_get_publication_tables(p.pubname) t
    JOIN pg_class c ON c.oid = t.relid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE p.pubname = %s AND (p.pubupdate OR p.pubdelete) AND c.relreplident <> 'f'
      AND NOT EXISTS (
        SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisvalid AND i.indimmediate
          AND CASE c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident END)
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
    filtered: tuple[str, ...]
    """Tables of which it leaves out rows or columns, as SQL writes them."""


def ask_publication(connection: DatabaseConnection, name: str) -> PublicationFacts | None:
    """Return a publication's facts; None where there is none of this name."""
    row = connection.execute(_FACTS, (name,)).fetchone()
    if row is None:
        return None
    sets = {key: frozenset(row[key]) for key in ("tables", "named")}
    return PublicationFacts(**{**row, **sets, "filtered": tuple(row["filtered"])})


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


def publish_every_change(connection: DatabaseConnection, name: str) -> None:
    """Let a publication send all kinds of changes, whatever it was made with."""
    connection.execute(_statement("ALTER PUBLICATION {} SET ", name) + _options(connection))


def publish(
    connection: DatabaseConnection, name: str, tables: Collection[Oid]
) -> Mapping[Oid, str]:
    """Add tables to a publication. Each is committed when this returns.

    Only the tables themselves are added, none that inherits from them. A table that is locked for
    longer than a second is not waited for.

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
    is published. Taking it out of the publication lets the source's own statements succeed.
    """
    return {row["oid"]: row["title"] for row in connection.execute(_HARMED, (name,))}


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

    def alter(part: Sequence[tuple[Oid, str]]) -> None:
        names = ", ".join(f"ONLY {quoted}" for _, quoted in part)
        with connection.transaction():
            connection.execute(_raw(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'"))
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
        words = f"another session holds a lock on it for longer than {_LOCK_TIMEOUT}"
    except psycopg.errors.UndefinedTable:
        words = ""
    except (psycopg.errors.ProgrammingError, psycopg.errors.DataError) as error:
        words = error.diag.message_primary or str(error)
    else:
        return {}
    if len(part) == 1:
        return {part[0][0]: words} if words else {}
    return {oid: why for one in part for oid, why in _each(alter, [one]).items()}
