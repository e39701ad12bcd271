"""What the catalogue says of tables and types, and who writes, waits and sees what."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from openmirror.cdc.postgresql.catalogue import (
    Snapshot,
    blocked_by,
    definition_of,
    definitions_of,
    emit_mark,
    open_writers,
    snapshot_now,
    types_of,
    widened,
)
from openmirror.cdc.postgresql.connecting import DatabaseConnection, opened
from openmirror.cdc.postgresql.definitions import ReplicaIdentity, TypeFacts, TypeKind
from openmirror.cdc.postgresql.settings import StreamSettings
from standins.postgres import PostgresServer, postgres_server
from standins.postgres import connected as as_owner
from tests.cdc.eventually import eventually


def oid_of(connection: psycopg.Connection, table: str) -> int:
    row = connection.execute("SELECT %s::regclass::oid::bigint", (table,)).fetchone()
    assert row is not None
    return int(row[0])


@contextmanager
def transaction(settings: StreamSettings, *statements: str) -> Iterator[psycopg.Connection]:
    """An open transaction of another session."""
    with as_owner(settings.url) as connection:
        connection.execute("BEGIN")
        for statement in statements:
            connection.execute(statement)
        yield connection


# --- Definitions ----------------------------------------------------------------------------------


def test_a_table_is_defined_as_the_catalogue_has_it(
    owner: psycopg.Connection, reader: DatabaseConnection
) -> None:
    owner.execute(
        """
        CREATE DOMAIN price AS numeric(10,2) DEFAULT 1;
        CREATE TABLE a (gone int, b int NOT NULL, p price, c text, k int, n int UNIQUE NOT NULL,
            g int GENERATED ALWAYS AS (k + 1) STORED, i int GENERATED ALWAYS AS IDENTITY,
            PRIMARY KEY (k, b) INCLUDE (c));
        ALTER TABLE a DROP COLUMN gone;
        ALTER TABLE a ADD COLUMN late int DEFAULT 7;
        """
    )
    found = definition_of(reader, oid_of(owner, "a"))
    assert found is not None
    assert found.title == "public.a"
    assert found.keys == ("k", "b")
    assert found.identity is ReplicaIdentity.DEFAULT
    columns = {column.name: column for column in found.columns}
    assert list(columns) == ["b", "p", "c", "k", "n", "g", "i", "late"]
    assert columns["b"].number == 2
    assert not columns["b"].nullable
    assert [name for name, one in columns.items() if one.is_generated] == ["g"]


def test_a_key_that_does_not_keep_rows_apart_is_none(
    owner: psycopg.Connection, reader: DatabaseConnection
) -> None:
    owner.execute("CREATE TABLE a (id int PRIMARY KEY DEFERRABLE, n int NOT NULL)")
    owner.execute(
        "CREATE UNIQUE INDEX a_n ON a (n); ALTER TABLE a REPLICA IDENTITY USING INDEX a_n"
    )
    found = definition_of(reader, oid_of(owner, "a"))
    assert found is not None
    assert (found.keys, found.key_index) == ((), 0)
    assert found.identity_index_keys == ("n",)


def test_a_key_that_is_made_again_is_another_one(
    owner: psycopg.Connection, reader: DatabaseConnection
) -> None:
    owner.execute("CREATE TABLE a (id int, CONSTRAINT k PRIMARY KEY (id))")
    oid = oid_of(owner, "a")
    before = definition_of(reader, oid)
    owner.execute("ALTER TABLE a DROP CONSTRAINT k, ADD CONSTRAINT k PRIMARY KEY (id)")
    after = definition_of(reader, oid)
    assert before is not None
    assert after is not None
    assert before != after
    assert before.keys == after.keys


def test_tables_without_columns_and_tables_that_are_gone(
    owner: psycopg.Connection, reader: DatabaseConnection
) -> None:
    owner.execute("CREATE TABLE none (a int); ALTER TABLE none DROP COLUMN a; CREATE TABLE b ()")
    none, other = oid_of(owner, "none"), oid_of(owner, "b")
    owner.execute("DROP TABLE b")
    found = definitions_of(reader, (none, other))
    assert {oid: one.columns for oid, one in found.items()} == {none: ()}
    assert definition_of(reader, other) is None


def test_types_come_with_all_that_they_are_made_of(
    owner: psycopg.Connection, reader: DatabaseConnection
) -> None:
    owner.execute(
        """
        CREATE TYPE mood AS ENUM ('sad');
        CREATE TYPE pair AS (m mood, r regclass);
        CREATE DOMAIN pairs AS pair[];
        CREATE DOMAIN price AS numeric(10,2);
        CREATE TABLE a (p pairs, v int2vector, m int4multirange, b box[], n price)
        """
    )
    found = definition_of(reader, oid_of(owner, "a"))
    assert found is not None
    types = types_of(reader, [column.type for column in found.columns])
    names = {one.name: one for one in types.values()}
    parts = {"pairs", "_pair", "pair", "mood", "regclass", "int4multirange", "int4range", "int4"}
    assert names.keys() >= {*parts, "_box", "box", "price", "numeric", "int2vector"}
    assert named(types, names["pairs"].base) == "_pair"
    assert named(types, names["_pair"].element) == "pair"
    assert [named(types, one) for one in names["pair"].parts] == ["mood", "regclass"]
    assert names["int2vector"].element == 0
    assert names["box"].delimiter == ";"
    assert names["price"].base_modifier == ((10 << 16) | 2) + 4
    assert names["mood"].kind is TypeKind.ENUM
    assert types_of(reader, [4_000_000_000]) == {}


def named(types: object, oid: int) -> str:
    assert isinstance(types, dict)
    found = types[oid]
    assert isinstance(found, TypeFacts)
    return found.name


# --- Transactions ---------------------------------------------------------------------------------


def test_open_writers_are_found_until_they_end(
    settings: StreamSettings, owner: psycopg.Connection, reader: DatabaseConnection
) -> None:
    owner.execute("CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY)")
    owner.execute("CREATE TABLE child () INHERITS (a)")
    oids = [oid_of(owner, "a")]
    with (
        transaction(settings, "INSERT INTO a VALUES (1)") as first,
        transaction(settings, "SELECT FROM a", "INSERT INTO b VALUES (1)"),
    ):
        (writer,) = open_writers(reader, oids)
        assert writer.pid == first.info.backend_pid
        assert f"pid {writer.pid}" in str(writer)
        with transaction(settings, "DELETE FROM ONLY child"):
            assert len(open_writers(reader, oids) - {writer}) == 1
        first.execute("COMMIT")
        first.execute("BEGIN; INSERT INTO a VALUES (2)")
        later = open_writers(reader, oids)
        assert len(later) == 1
        assert writer not in later


def test_those_who_only_maintain_or_read_a_table_are_no_writers(
    settings: StreamSettings, owner: psycopg.Connection, reader: DatabaseConnection
) -> None:
    owner.execute("CREATE TABLE a (id int PRIMARY KEY)")
    oids = [oid_of(owner, "a")]
    maintain = ("LOCK TABLE a IN SHARE UPDATE EXCLUSIVE MODE", "SELECT FROM a FOR UPDATE")
    with transaction(settings, *maintain):
        assert open_writers(reader, oids) == frozenset()
    with transaction(settings, "LOCK TABLE a IN SHARE ROW EXCLUSIVE MODE"):
        assert len(open_writers(reader, oids)) == 1


def test_prepared_transactions_are_open_writers() -> None:
    with postgres_server({"max_prepared_transactions": "5"}) as server:
        settings = StreamSettings(url=server.url, stream="x")
        with as_owner(server.url) as owner, connected_reader(settings) as reader:
            owner.execute("CREATE TABLE a (id int PRIMARY KEY)")
            owner.execute("BEGIN; INSERT INTO a VALUES (1)")
            (before,) = open_writers(reader, [oid_of(owner, "a")])
            owner.execute("PREPARE TRANSACTION 'two ''phases'")
            (writer,) = open_writers(reader, [oid_of(owner, "a")])
            assert writer == before
            assert (writer.pid, writer.gid) == (None, "two 'phases")
            assert "prepared transaction" in str(writer)
            assert writer.since is not None
        server.stop("immediate")
        server.start()
        with as_owner(server.url) as owner, connected_reader(settings) as reader:
            assert open_writers(reader, [oid_of(owner, "a")]) == {before}
            owner.execute("COMMIT PREPARED 'two ''phases'")
            assert open_writers(reader, [oid_of(owner, "a")]) == frozenset()


def connected_reader(settings: StreamSettings) -> DatabaseConnection:
    return opened(settings.url, settings.slot)


def test_a_snapshot_sees_what_is_committed(
    settings: StreamSettings, owner: psycopg.Connection, reader: DatabaseConnection
) -> None:
    def xid(connection: psycopg.Connection) -> int:
        row = connection.execute(
            "SELECT pg_current_xact_id()::text::bigint & 4294967295"
        ).fetchone()
        assert row is not None
        return int(row[0])

    with transaction(settings) as other:
        open_, done = xid(other), xid(owner)
        before = snapshot_now(reader)
        assert not before.sees(open_)
        assert before.sees(done)
        other.execute("COMMIT")
        assert snapshot_now(reader).sees(open_)
        assert not before.sees(xid(owner))


@pytest.mark.parametrize(
    ("xid", "xmax", "wide"),
    [
        (10, 20, 10),
        (30, 20, 30),
        (10, (1 << 32) + 20, (1 << 32) + 10),
        ((1 << 32) - 5, (1 << 32) + 20, (1 << 32) - 5),
        (3, (1 << 32) - 20, (1 << 32) + 3),
        ((1 << 32) - 5, (5 << 32) + 20, (5 << 32) - 5),
        (3_000_000_000, 3_000_000_001, 3_000_000_000),
        # Without an earlier epoch there is nothing that it could be of.
        (4_000_000_000, 3, 4_000_000_000),
    ],
)
def test_a_transactions_number_is_widened_by_one_of_its_time(
    xid: int, xmax: int, wide: int
) -> None:
    assert widened(xid, xmax) == wide


def test_a_snapshot_is_read_from_its_text() -> None:
    found = Snapshot.parse("10:20:12,14")
    assert [xid for xid in range(8, 22) if not found.sees(xid)] == [12, 14, 20, 21]
    assert Snapshot.parse("10:10:") == Snapshot(10, 10, frozenset())
    with pytest.raises(ValueError, match="unpack"):
        Snapshot.parse("10:20")


def test_a_mark_is_in_the_log(
    settings: StreamSettings, owner: psycopg.Connection, reader: DatabaseConnection
) -> None:
    slot = f"{settings.slot}_test"
    owner.execute("SELECT pg_create_logical_replication_slot(%s, 'test_decoding')", (slot,))
    lsn = emit_mark(reader, "openmirror:x", "load 1")
    changes = owner.execute("SELECT data FROM pg_logical_slot_get_changes(%s, NULL, NULL)", (slot,))
    (_, message, _) = [row[0] for row in changes.fetchall()]
    assert "transactional: 1 prefix: openmirror:x, sz: 6 content:load 1" in message
    row = owner.execute(
        "SELECT %s::pg_lsn <= pg_current_wal_flush_lsn()", (f"0/{lsn:X}",)
    ).fetchone()
    assert row == (True,)


def test_it_is_noticed_that_somebody_waits_for_our_lock(
    settings: StreamSettings, owner: psycopg.Connection, reader: DatabaseConnection
) -> None:
    owner.execute("CREATE TABLE a (id int PRIMARY KEY)")
    with (
        transaction(settings, "LOCK TABLE a IN ACCESS SHARE MODE") as ours,
        as_owner(settings.url) as other,
    ):
        pid = ours.info.backend_pid
        assert not blocked_by(reader, pid)
        waiter = threading.Thread(target=other.execute, args=("ALTER TABLE a ADD COLUMN b int",))
        waiter.start()
        eventually(lambda: blocked_by(reader, pid))
        assert not blocked_by(reader, pid, 60)
        eventually(lambda: blocked_by(reader, pid, 0.2))
        ours.execute("ROLLBACK")
        waiter.join()
        assert not blocked_by(reader, pid)


def test_a_database_of_the_same_server_has_other_locks(
    postgres: PostgresServer,
    settings: StreamSettings,
    owner: psycopg.Connection,
    reader: DatabaseConnection,
) -> None:
    # A catalogue has the same OID in every database.
    with transaction(settings, "INSERT INTO pg_description VALUES (1, 1, 1, 'a')") as other:
        oid = oid_of(owner, "pg_description")
        assert len(open_writers(reader, [oid])) == 1
        with connected_reader(StreamSettings(url=postgres.url, stream="x")) as elsewhere:
            assert open_writers(elsewhere, [oid]) == frozenset()
        other.execute("ROLLBACK")
