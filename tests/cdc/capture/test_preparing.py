"""What keeps a database from being captured is named before anything is begun, with its remedy."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from openmirror.cdc.capture.preparing import CapturedTables, prepare
from openmirror.cdc.capture.settings import CaptureSettings
from openmirror.errors import CannotStart
from standins.postgres import PASSWORD, PostgresServer, connected, postgres_server


@pytest.fixture
def owner(settings: CaptureSettings) -> Iterator[psycopg.Connection]:
    """A connection to the database that is captured, which has one table to capture."""
    with connected(settings.url) as connection:
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY)")
        yield connection


def refusal(settings: CaptureSettings, *, is_begun: bool = False) -> str:
    with pytest.raises(CannotStart) as caught:
        prepare(settings, is_begun=is_begun)
    assert PASSWORD not in str(caught.value)
    return str(caught.value)


def make_slot(connection: psycopg.Connection, settings: CaptureSettings) -> None:
    connection.execute(
        "SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (settings.slot,)
    )


def test_tables_with_a_key_are_captured_and_others_are_named(
    settings: CaptureSettings, owner: psycopg.Connection
) -> None:
    owner.execute("CREATE TABLE log (text text)")
    owner.execute('CREATE SCHEMA "Sales"; CREATE TABLE "Sales"."Line items" (a int PRIMARY KEY)')
    prepared = prepare(settings, is_begun=False)
    assert prepared.tables == ("Sales.Line items", "public.orders")
    assert [note.partition(":")[0] for note in prepared.notes] == ["public.log is left out"]


def test_tables_whose_changes_do_not_come_whole_are_left_out(
    settings: CaptureSettings, owner: psycopg.Connection
) -> None:
    owner.execute("CREATE TABLE parts (id int PRIMARY KEY) PARTITION BY RANGE (id)")
    owner.execute("CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM (0) TO (9)")
    owner.execute("CREATE TABLE made (id int PRIMARY KEY, b int GENERATED ALWAYS AS (id) STORED)")
    prepared = prepare(settings, is_begun=False)
    assert prepared.tables == ("public.orders",)
    assert [note.partition(" ")[0] for note in prepared.notes] == ["public.made", "public.parts"]


def test_a_table_that_missed_changes_stays_out(
    settings: CaptureSettings, owner: psycopg.Connection
) -> None:
    owner.execute("CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY)")
    prepare(settings, is_begun=False)
    make_slot(owner, settings)
    owner.execute("DROP TABLE a; CREATE TABLE a (id int PRIMARY KEY)")
    without = prepare(replace(settings, tables=("public.orders",)), is_begun=True)
    assert without.tables == ("public.orders",)
    prepared = prepare(settings, is_begun=True)
    assert prepared.tables == ("public.orders",)
    assert [note.partition(":")[0] for note in prepared.notes] == [
        "public.a is left out",
        "public.b is left out",
    ]


@pytest.mark.parametrize(
    ("patterns", "tables"),
    [
        (("public.*",), ("public.a1", "public.a2", "public.orders")),
        (("public.a*", "public.orders"), ("public.a1", "public.a2", "public.orders")),
        (("*.a2",), ("public.a2",)),
        (("public.a",), ()),
    ],
)
def test_only_the_tables_that_are_wanted_are_captured(
    settings: CaptureSettings,
    owner: psycopg.Connection,
    patterns: tuple[str, ...],
    tables: tuple[str, ...],
) -> None:
    owner.execute("CREATE TABLE a1 (id int PRIMARY KEY); CREATE TABLE a2 (id int PRIMARY KEY)")
    wanted = replace(settings, tables=patterns)
    if tables:
        assert prepare(wanted, is_begun=False).tables == tables
    else:
        assert "no table to capture" in refusal(wanted)


def test_a_table_that_came_after_the_snapshot_waits_for_the_next(
    settings: CaptureSettings, owner: psycopg.Connection
) -> None:
    prepare(settings, is_begun=False)
    make_slot(owner, settings)
    owner.execute("CREATE TABLE later (id int PRIMARY KEY)")
    prepared = prepare(settings, is_begun=True)
    assert prepared.tables == ("public.orders",)
    assert "public.later is left out" in prepared.notes[0]
    assert "--anew" in prepared.notes[0]
    anew = prepare(settings, is_begun=False)
    assert anew == CapturedTables(("public.later", "public.orders"), ())


def test_a_wrong_password_is_named(settings: CaptureSettings) -> None:
    wrong = replace(settings, url=replace(settings.url, password="guessed"))
    why = refusal(wrong)
    assert "password authentication failed" in why
    assert "Correct the user or the password" in why
    assert "guessed" not in why


def test_a_database_that_is_not_there_is_named(settings: CaptureSettings) -> None:
    why = refusal(replace(settings, url=replace(settings.url, database="nowhere")))
    assert 'database "nowhere" does not exist' in why
    assert "Correct the database's name" in why


def test_a_server_that_is_away_is_named(settings: CaptureSettings) -> None:
    with socket.socket() as nobody:  # bound, and nobody listens
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        why = refusal(replace(settings, url=replace(settings.url, port=port)))
    assert f"127.0.0.1:{port}" in why
    assert "Start the server" in why


def test_a_server_whose_log_has_no_rows_is_named(tmp_path: Path) -> None:
    with postgres_server({"wal_level": "replica"}) as server:
        why = refusal(CaptureSettings(url=server.url, stream="shop", spool=tmp_path, class_path=""))
    assert "wal_level = replica" in why
    assert "ALTER SYSTEM SET wal_level = logical, then restart" in why


def as_reader(
    settings: CaptureSettings, owner: psycopg.Connection, attributes: str
) -> CaptureSettings:
    """The settings of a user of its own, with its attributes."""
    name = f"reader_{settings.stream}"
    owner.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'reads' {attributes}")  # type: ignore[call-overload]
    return replace(settings, url=replace(settings.url, user=name, password="reads"))


def drop(owner: psycopg.Connection, user: str) -> None:
    owner.execute(f"DROP OWNED BY {user}; DROP ROLE {user}")  # type: ignore[call-overload]


def test_a_user_who_may_not_replicate_is_named(
    settings: CaptureSettings, owner: psycopg.Connection
) -> None:
    reader = as_reader(settings, owner, "")
    assert f"ALTER ROLE {reader.url.user} REPLICATION" in refusal(reader)
    drop(owner, reader.url.user)


def test_a_user_who_may_not_read_or_publish_a_table_is_named(
    settings: CaptureSettings, owner: psycopg.Connection
) -> None:
    reader = as_reader(settings, owner, "REPLICATION")
    user = reader.url.user
    assert f"GRANT SELECT ON TABLE public.orders TO {user}" in refusal(reader)
    owner.execute(f"GRANT SELECT ON TABLE orders TO {user}")  # type: ignore[call-overload]
    why = refusal(reader)
    assert f"CREATE PUBLICATION {settings.slot} FOR TABLE public.orders" in why
    owner.execute(f"CREATE PUBLICATION {settings.slot} FOR TABLE public.orders")  # type: ignore[call-overload]
    assert prepare(reader, is_begun=False).tables == ("public.orders",)
    owner.execute("CREATE TABLE more (id int PRIMARY KEY)")
    owner.execute(f"GRANT SELECT ON TABLE more TO {user}")  # type: ignore[call-overload]
    why = refusal(reader)
    assert f"ALTER PUBLICATION {settings.slot} SET TABLE public.more, public.orders" in why
    drop(owner, user)


def test_a_slot_that_is_gone_is_named_with_the_new_snapshot(
    settings: CaptureSettings, owner: psycopg.Connection
) -> None:
    why = refusal(settings, is_begun=True)
    assert f"replication slot {settings.slot}" in why
    assert "--anew" in why


def test_a_slot_of_a_stream_that_was_given_up_is_dropped(
    settings: CaptureSettings, owner: psycopg.Connection
) -> None:
    make_slot(owner, settings)
    prepare(settings, is_begun=False)
    found = owner.execute(
        "SELECT count(*) FROM pg_replication_slots WHERE slot_name = %s", (settings.slot,)
    ).fetchone()
    assert found == (0,)


def test_a_server_without_a_free_slot_is_named(
    settings: CaptureSettings, owner: psycopg.Connection, postgres: PostgresServer
) -> None:
    free = owner.execute(
        "SELECT current_setting('max_replication_slots')::int - count(*)::int"
        " FROM pg_replication_slots"
    ).fetchone()
    assert free is not None
    for number in range(free[0]):
        owner.execute("SELECT pg_create_physical_replication_slot(%s)", (f"full_{number}",))
    try:
        assert "raise max_replication_slots" in refusal(settings)
    finally:
        owner.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
            " WHERE slot_name LIKE 'full%'"
        )
