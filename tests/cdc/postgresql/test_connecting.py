"""Connections send the same text whatever the server, the role or the environment is set to."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest
from psycopg import pq, sql
from psycopg.pq.abc import PGconn

from openmirror.cdc.postgresql.asking import ask
from openmirror.cdc.postgresql.connecting import (
    ServerAway,
    connected,
    opened,
    replication_connection,
)
from openmirror.cdc.postgresql.requirements import choice
from openmirror.cdc.postgresql.settings import DatabaseUrl, StreamSettings
from openmirror.errors import CannotStart
from standins.postgres import PASSWORD, PostgresServer
from standins.postgres import connected as as_owner

HOSTILE = {
    "DateStyle": "German",
    "IntervalStyle": "iso_8601",
    "TimeZone": "Asia/Kathmandu",
    "bytea_output": "escape",
    "extra_float_digits": "-15",
    "lc_monetary": "en_US.UTF-8",
    "xmloption": "document",
    "search_path": "nowhere",
    "quote_all_identifiers": "on",
    "standard_conforming_strings": "off",
    "statement_timeout": "1ms",
    "lock_timeout": "1ms",
    "idle_in_transaction_session_timeout": "1ms",
    "default_transaction_read_only": "on",
    "default_transaction_isolation": "serializable",
    "synchronous_commit": "off",
    "client_encoding": "LATIN1",
    "wal_sender_timeout": "1ms",
}
"""What a role or database may be set to, as far as the server knows these values."""
TEXTS = (
    "timestamptz '2024-02-03 04:05:06.7+00'",
    "interval '1 year 2 days'",
    r"'\x00ff'::bytea",
    "1e-7::float8 / 3",
    "'1234.5'::numeric::money",
    "'pg_type'::regclass",
    "quote_ident('plain')",
)
EXPECTED = [
    "2024-02-03 04:05:06.7+00",
    "1 year 2 days",
    r"\x00ff",
    "3.3333333333333334e-08",
    "$1,234.50",
    "pg_type",
    "plain",
]

NAMES = "COPY (SELECT relname FROM pg_class WHERE relnamespace = 2200 AND relkind = 'r') TO STDOUT"


def set_for(connection: psycopg.Connection, what: sql.Composed) -> None:
    for name, value in HOSTILE.items():
        if name == "lc_monetary" and not has_locale(connection, value):
            continue
        connection.execute(
            sql.SQL("ALTER {} SET {} = {}").format(what, sql.Identifier(name), value)
        )


def has_locale(connection: psycopg.Connection, locale: str) -> bool:
    try:
        connection.execute(sql.SQL("SET lc_monetary = {}").format(locale))
    except psycopg.Error:
        return False
    return True


@pytest.fixture(params=["database", "role"])
def hostile(request: pytest.FixtureRequest, database: DatabaseUrl) -> Iterator[DatabaseUrl]:
    """A database, or its user, with settings that change what is sent."""
    url = database
    with as_owner(database) as connection:
        if request.param == "database":
            set_for(connection, sql.SQL("DATABASE {}").format(sql.Identifier(url.database)))
        else:
            url = replace(url, user=f"{url.database}_user", password="reads")
            connection.execute(
                sql.SQL("CREATE ROLE {} LOGIN REPLICATION PASSWORD 'reads'").format(
                    sql.Identifier(url.user)
                )
            )
            set_for(connection, sql.SQL("ROLE {}").format(sql.Identifier(url.user)))
    yield url
    if url.user != database.user:
        with as_owner(replace(database, database="postgres")) as connection:
            connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(url.user)))


def asked(connection: PGconn, query: str) -> list[str]:
    result = connection.exec_(query.encode())
    assert result.status == pq.ExecStatus.TUPLES_OK, result.error_message
    return [(result.get_value(0, n) or b"").decode() for n in range(result.nfields)]


def test_no_setting_changes_what_a_connection_sends(
    hostile: DatabaseUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGDATESTYLE", "SQL, DMY")
    monkeypatch.setenv("PGTZ", "Europe/Berlin")
    monkeypatch.setenv("PGOPTIONS", "-c bytea_output=escape")
    query = "SELECT " + ", ".join(f"({text})::text" for text in TEXTS)
    with connected(hostile, "openmirror_x") as connection:
        assert asked(connection.pgconn, query) == EXPECTED
        found = connection.execute(
            "SELECT application_name AS name FROM pg_stat_activity WHERE pid = pg_backend_pid()"
        ).fetchone()
        assert found == {"name": "openmirror_x"}
        connection.execute("SELECT pg_sleep(0.05)")  # no timeout
    log = replication_connection(hostile, "openmirror_x")
    try:
        assert asked(log, query) == EXPECTED
        assert asked(log, "SHOW wal_sender_timeout") == ["1min"]
        assert asked(log, "SHOW client_encoding") == ["UTF8"]
        assert log.nonblocking
    finally:
        log.finish()


@pytest.mark.parametrize(
    ("encoding", "stored", "read"),
    [
        ("UTF8", "café €".encode(), "café €"),
        ("WIN1252", "café €".encode("cp1252"), "café €"),
        ("SQL_ASCII", "café €".encode(), "café €"),
        ("SQL_ASCII", b"caf\xe9", "caf\udce9"),
        ("WIN1252", b"a\x81", "a\udc81"),
    ],
)
def test_names_are_read_in_every_encoding(
    postgres: PostgresServer, encoding: str, stored: bytes, read: str
) -> None:
    with postgres.database("of_another_encoding", encoding) as url:
        name = b'"' + stored + b'"'
        with as_owner(url) as owner:
            owner.execute(sql.SQL("SET client_encoding = {}").format(encoding))
            owner.execute(b"CREATE TABLE public." + name + b" (id int PRIMARY KEY)")
        settings = StreamSettings(url=url, stream="other")
        with connected(url) as connection:
            facts = ask(connection, settings.slot)
            with connection.cursor().copy(NAMES) as copying:
                copied = b"".join(copying)
        assert [table.name for table in facts.tables] == [read]
        assert copied.strip() == stored
        chosen = choice(settings, facts)
        refused = "\udc81" in read or "\udce9" in read
        assert [bool(chosen.tables), bool(chosen.left_out)] == [not refused, refused]
        for one in chosen.left_out:
            assert "is no Unicode text" in str(one.finding)
            str(one.finding).encode()


@pytest.mark.parametrize("connect", [opened, replication_connection])
def test_a_server_that_is_away_is_named(database: DatabaseUrl, connect: object) -> None:
    assert callable(connect)
    with socket.socket() as nobody:  # bound, and nobody listens
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        with pytest.raises(ServerAway, match="Start the server") as caught:
            connect(replace(database, port=port), "openmirror_x")
    assert f"127.0.0.1:{port}" in str(caught.value)


@pytest.mark.parametrize("connect", [opened, replication_connection])
def test_what_a_server_refuses_comes_with_its_remedy(
    database: DatabaseUrl, connect: object
) -> None:
    assert callable(connect)
    with pytest.raises(CannotStart, match="Correct the user or the password") as caught:
        connect(replace(database, password="guessed"), "x")
    assert "guessed" not in str(caught.value)
    with pytest.raises(CannotStart, match="Correct the database's name"):
        connect(replace(database, database="nowhere"), "x")


def test_a_connection_that_is_cut_is_a_server_that_is_away(
    database: DatabaseUrl, owner: psycopg.Connection
) -> None:
    def ask() -> None:
        with connected(database) as connection:
            owner.execute("SELECT pg_terminate_backend(%s)", (connection.info.backend_pid,))
            connection.execute("SELECT 1")

    with pytest.raises(ServerAway):
        ask()


def test_the_password_is_never_shown(database: DatabaseUrl) -> None:
    assert PASSWORD not in repr(database) + str(database)
