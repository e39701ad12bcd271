"""What keeps a database from being mirrored is named before anything begins, with its remedy."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import replace

import psycopg
import pytest

from openmirror.cdc.postgresql.connecting import DatabaseConnection, opened, replication_connection
from openmirror.cdc.postgresql.preparing import bring_publication, check, prepare
from openmirror.cdc.postgresql.publication import ask_publication
from openmirror.cdc.postgresql.requirements import FindingLevel
from openmirror.cdc.postgresql.settings import DatabaseUrl, StreamSettings
from openmirror.errors import CannotStart, WrongRequest
from standins.postgres import PASSWORD, PostgresServer, postgres_server
from tests.cdc.postgresql.roles import as_reader
from tests.cdc.postgresql.test_catalogue import transaction


@pytest.fixture
def orders(owner: psycopg.Connection) -> psycopg.Connection:
    """The owner of a database with one table that can be mirrored."""
    owner.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    return owner


def refusal(settings: StreamSettings) -> str:
    with pytest.raises(CannotStart) as caught:
        prepare(settings)
    assert PASSWORD not in str(caught.value)
    return str(caught.value)


def titles(settings: StreamSettings) -> list[str]:
    return [table.title for table in prepare(settings).tables]


def test_tables_with_a_key_are_mirrored_and_others_are_named(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    orders.execute("CREATE TABLE log (text text)")
    orders.execute('CREATE SCHEMA "Sales"; CREATE TABLE "Sales"."Line items" (a int PRIMARY KEY)')
    prepared = prepare(settings)
    assert [table.title for table in prepared.tables] == ["Sales.Line items", "public.orders"]
    assert [note.partition(":")[0] for note in prepared.notes] == ["public.log is left out"]
    assert prepared.left_out.keys() == {"public.log"}


WANTED: tuple[tuple[tuple[str, ...], tuple[str, ...], list[str]], ...] = (
    (("public.*",), (), ["public.a1", "public.a2", "public.orders"]),
    (("public.a*", "public.orders"), (), ["public.a1", "public.a2", "public.orders"]),
    (("*.a2",), (), ["public.a2"]),
    ((), ("public.a*",), ["public.orders"]),
    (("public.a*",), ("public.a1",), ["public.a2"]),
    ((), ("public.A1",), ["public.a1", "public.a2", "public.orders"]),
)
"""Patterns of `--table`, of `--exclude`, and the tables that they leave."""


def test_only_the_tables_that_are_wanted_are_mirrored(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    orders.execute("CREATE TABLE a1 (id int PRIMARY KEY); CREATE TABLE a2 (id int PRIMARY KEY)")
    for patterns, excluded, tables in WANTED:
        assert titles(replace(settings, tables=patterns, excluded=excluded)) == tables
    assert "no table to mirror" in refusal(replace(settings, tables=("public.a",)))


def test_a_wrong_password_is_named(settings: StreamSettings) -> None:
    why = refusal(replace(settings, url=replace(settings.url, password="guessed")))
    assert "password authentication failed" in why
    assert "Correct the user or the password" in why
    assert "guessed" not in why


def test_a_database_that_is_not_there_is_named(settings: StreamSettings) -> None:
    why = refusal(replace(settings, url=replace(settings.url, database="nowhere")))
    assert 'database "nowhere" does not exist' in why
    assert "Correct the database's name" in why


def test_a_server_that_is_away_is_named(settings: StreamSettings) -> None:
    with socket.socket() as nobody:  # bound, and nobody listens
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        why = refusal(replace(settings, url=replace(settings.url, port=port)))
    assert f"127.0.0.1:{port}" in why
    assert "Start the server" in why


def test_a_server_whose_log_has_no_rows_or_whose_commits_would_wait_is_named() -> None:
    with postgres_server({"wal_level": "replica"}) as server:
        settings = StreamSettings(url=server.url, stream="shop")
        with server.connect() as owner:
            owner.execute("CREATE TABLE orders (id int PRIMARY KEY)")
        why = refusal(settings)
        assert "wal_level = replica" in why
        assert "ALTER SYSTEM SET wal_level = logical, then restart" in why
        assert "every commit of" not in why
        server.reload(synchronous_standby_names='FIRST 1 ("openmirror_SHOP")')
        assert "every commit of" in refusal(settings)


def test_a_user_who_may_not_replicate_is_named(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    with as_reader(settings, orders, "") as reader:
        assert f"ALTER ROLE {reader.url.user} REPLICATION" in refusal(reader)


def test_a_user_who_may_not_read_or_publish_any_table_is_named(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    with as_reader(settings, orders) as reader:
        user = reader.url.user
        why = refusal(reader)
        assert "no table to mirror" in why
        assert f"GRANT SELECT ON TABLE public.orders TO {user}" in why
        orders.execute(f"GRANT SELECT ON TABLE orders TO {user}")
        why = refusal(reader)
        assert f"CREATE PUBLICATION {settings.slot} FOR TABLE public.orders" in why
        orders.execute(f"CREATE PUBLICATION {settings.slot} FOR TABLE public.orders")
        assert titles(reader) == ["public.orders"]


def test_a_reader_that_has_been_killed_is_waited_for_and_one_that_runs_is_not(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    orders.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (settings.slot,))
    orders.execute(f"CREATE PUBLICATION {settings.slot}")
    other = replication_connection(settings.url, settings.slot)
    command = (
        f"START_REPLICATION SLOT {settings.slot} LOGICAL 0/0"
        f" (proto_version '1', publication_names '{settings.slot}')"
    )
    other.exec_(command.encode())
    began = time.monotonic()
    assert [table.title for table in prepare(settings, is_running=True).tables] == ["public.orders"]
    assert FindingLevel.ERROR not in {one.level for one in check(settings)}
    assert time.monotonic() - began < 5  # seconds; a reader that was killed is given 10
    threading.Timer(0.5, other.finish).start()
    assert titles(settings) == ["public.orders"]


# --- The publication ------------------------------------------------------------------------------


def published(settings: StreamSettings, reader: DatabaseConnection) -> set[str]:
    prepared = prepare(settings)
    done = bring_publication(reader, settings, prepared)
    found = ask_publication(reader, settings.slot)
    assert found is not None
    assert found.is_whole
    assert (found.oid, found.tables) == (done.publication, done.tables)
    return {table.title for table in prepare(settings).facts.tables if table.oid in found.named}


def test_a_publication_has_every_table_that_is_mirrored_and_no_other(
    settings: StreamSettings, orders: psycopg.Connection, reader: DatabaseConnection
) -> None:
    orders.execute("CREATE TABLE log (line text)")
    assert published(settings, reader) == {"public.orders"}
    orders.execute("CREATE TABLE later (id int PRIMARY KEY)")
    assert published(settings, reader) == {"public.later", "public.orders"}
    orders.execute(f"ALTER PUBLICATION {settings.slot} ADD TABLE log")
    orders.execute(f"ALTER PUBLICATION {settings.slot} SET (publish = 'insert')")
    without = replace(settings, excluded=("public.later",))
    assert published(without, reader) == {"public.orders"}


def test_a_table_of_which_a_part_was_published_is_published_whole(
    settings: StreamSettings, orders: psycopg.Connection, reader: DatabaseConnection
) -> None:
    orders.execute("CREATE TABLE carts (id int PRIMARY KEY); CREATE TABLE log (line text)")
    name = settings.slot
    orders.execute(f"CREATE PUBLICATION {name} FOR TABLE orders WHERE (id > 3), carts (id), log")
    prepared = prepare(settings)
    of = {table.title: table.oid for table in prepared.facts.tables}
    with transaction(settings, "LOCK TABLE orders, log IN SHARE UPDATE EXCLUSIVE MODE"):
        done = bring_publication(reader, settings, prepared)
    assert (done.tables, done.made_whole) == ({of["public.carts"]}, {of["public.carts"]})
    assert done.refused.keys() == {of["public.orders"]}
    assert done.still_there.keys() == {of["public.orders"], of["public.log"]}
    assert all("holds a lock" in why for why in done.still_there.values())
    done = bring_publication(reader, settings, prepare(settings))
    assert (done.made_whole, done.refused, done.still_there) == ({of["public.orders"]}, {}, {})
    assert published(settings, reader) == {"public.carts", "public.orders"}


def test_somebody_elses_publication_is_taken_as_it_is(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    orders.execute("CREATE TABLE other (id int PRIMARY KEY)")
    orders.execute(f"CREATE PUBLICATION {settings.slot} FOR TABLE orders, other")
    with as_reader(settings, orders) as reader:
        orders.execute(f"GRANT SELECT ON orders TO {reader.url.user}")
        wanted = replace(reader, tables=("public.orders",))
        prepared = prepare(wanted)
        assert not prepared.may_publish
        with opened(wanted.url, wanted.slot) as connection:
            done = bring_publication(connection, wanted, prepared)
        assert done.tables == {table.oid for table in prepared.tables}


# --- Settings -------------------------------------------------------------------------------------


def test_a_url_is_read_without_its_password_being_shown() -> None:
    found = DatabaseUrl.parse("postgresql://re%20ader:p%2Fss@db.example:6432/Shop%201")
    assert found == DatabaseUrl("db.example", 6432, "Shop 1", "re ader", "p/ss")
    assert str(found) == "db.example:6432/Shop 1"
    for text in ("mysql://u:p4ss@h/d", "postgresql://u:p4ss@h", "postgresql://u:p4ss@h:x/d"):
        with pytest.raises(WrongRequest) as caught:
            DatabaseUrl.parse(text)
        assert "p4ss" not in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        {"stream": "1shop"},
        {"stream": "Shop"},
        {"stream": "s" * 41},
        {"tables": ("orders",)},
        {"excluded": ("*",)},
        {"as_text": ("public.orders",)},
        {"without_columns": ("orders",)},
        {"as_text": ("a.b.c",), "without_columns": ("a.b.c",)},
        {"range_seconds": 0.0},
    ],
)
def test_settings_that_mean_nothing_are_refused(
    postgres: PostgresServer, given: dict[str, object]
) -> None:
    with pytest.raises(WrongRequest):
        StreamSettings(**{"url": postgres.url, "stream": "shop", **given})  # type: ignore[arg-type]
