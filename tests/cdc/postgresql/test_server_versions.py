"""Every supported version of PostgreSQL is asked, published from and given a slot alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from openmirror.cdc.postgresql.catalogue import definitions_of, emit_mark, snapshot_now, types_of
from openmirror.cdc.postgresql.connecting import connected, replication_connection
from openmirror.cdc.postgresql.preparing import bring_publication, check, prepare
from openmirror.cdc.postgresql.publication import ask_publication, harmed_tables
from openmirror.cdc.postgresql.settings import StreamSettings
from openmirror.cdc.postgresql.slots import ask_slot, identify_system, make_slot, must_reconnect
from openmirror.protocol.names import TablePath
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import landing_zone
from standins.postgres import PostgresServer, postgres_server
from standins.postgres_standby import standby_of, take_over, wait_for_log, wait_for_slot
from standins.postgres_versions import VERSIONS, programs_of
from tests.cdc.postgresql.driven import DrivenStream, make_marks
from tests.cdc.postgresql.selected import Source

pytestmark = pytest.mark.soak


@pytest.fixture(params=VERSIONS)
def server(request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    with postgres_server(programs=programs_of(request.param)) as server:
        assert server.version.startswith(request.param)
        yield server


def test_a_publication_is_asked_while_one_of_its_tables_is_locked(server: PostgresServer) -> None:
    settings = StreamSettings(url=server.url, stream="shop")
    with server.connect() as owner, connected(server.url, settings.slot) as connection:
        owner.execute("CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int)")
        owner.execute(f"CREATE PUBLICATION {settings.slot} FOR TABLE a, b")
        asked = ask_publication(connection, settings.slot)
        connection.execute("SET lock_timeout = '1s'")
        owner.execute("BEGIN; LOCK TABLE a, b")
        assert ask_publication(connection, settings.slot) == asked
        assert list(harmed_tables(connection, settings.slot).values()) == ["public.b"]


def test_a_table_is_harmed_only_for_a_moment_by_a_generated_column(
    server: PostgresServer, tmp_path: Path
) -> None:
    virtual = "VIRTUAL" if server.version >= "18" else "STORED"
    zone = landing_zone("versions")
    (tmp_path / zone).mkdir(parents=True)
    with server.connect() as owner:
        make_marks(owner)
        owner.execute("CREATE TABLE a (id int PRIMARY KEY); ALTER TABLE a REPLICA IDENTITY FULL")
        owner.execute("INSERT INTO a VALUES (1)")
        settings = StreamSettings(url=server.url, stream="shop")
        stream = DrivenStream(LocalStore(tmp_path), zone, settings)
        with stream.open():
            stream.catch_up(owner)
            owner.execute(f"ALTER TABLE a ADD v int GENERATED ALWAYS AS (id * 2) {virtual}")
            stream.turn_until(lambda: bool(stream.reasons()) or virtual == "STORED")
            owner.execute("UPDATE a SET id = 2")


def test_a_database_of_every_version_is_prepared(server: PostgresServer) -> None:
    settings = StreamSettings(url=server.url, stream="shop")
    with server.connect() as owner:
        owner.execute(
            """
            CREATE TABLE a (id int PRIMARY KEY, b int4multirange, c text[]);
            CREATE TABLE generated (id int PRIMARY KEY, s int GENERATED ALWAYS AS (id) STORED);
            CREATE TABLE late (id int PRIMARY KEY DEFERRABLE)
            """
        )
    prepared = prepare(settings)
    assert [table.title for table in prepared.tables] == ["public.a", "public.generated"]
    left = {"public.late"} if server.version >= "18" else {"public.late", "public.generated.s"}
    assert prepared.left_out.keys() == left
    with connected(server.url, settings.slot) as connection:
        done = bring_publication(connection, settings, prepared)
        assert done.refused == {}
        begins = make_slot(
            server.url, settings.slot, on_wait=lambda _: None, should_stop=lambda: False
        )
        found = ask_slot(connection, settings.slot)
        assert found is not None
        assert (found.confirmed, found.is_lost) == (begins, False)
        assert found.is_failover is (connection.info.server_version >= 170000)
        tables = definitions_of(connection, done.tables)
        types = types_of(connection, [c.type for one in tables.values() for c in one.columns])
        assert {"int4multirange", "_text"} <= {one.name for one in types.values()}
        assert emit_mark(connection, "openmirror:shop", "1") > (begins or 0)
        assert snapshot_now(connection).xmax > 0
        assert must_reconnect(connection.info.server_version) is (server.version == "15.10")
    server.stop("immediate")
    server.start()
    again = prepare(settings)
    assert again.facts.publication is not None
    assert again.facts.publication.is_whole
    assert again.facts.publication.tables == done.tables
    log = replication_connection(server.url, settings.slot)
    try:
        assert identify_system(server.url, log).system == again.facts.server.system
        started = log.exec_(
            f"START_REPLICATION SLOT {settings.slot} LOGICAL 0/0 (proto_version '1',"
            f" publication_names '{settings.slot}', messages 'true')".encode()
        )
        assert started.error_message == b""
    finally:
        log.finish()


def test_generated_columns_come_from_the_version_that_sends_them(tmp_path: Path) -> None:
    zone = landing_zone("versions")
    (tmp_path / zone).mkdir(parents=True)
    with postgres_server(programs=programs_of("18")) as server, server.connect() as owner:
        make_marks(owner)
        owner.execute(
            """
            CREATE SCHEMA made; CREATE TABLE made.t (
                id int PRIMARY KEY, s int GENERATED ALWAYS AS (id * 2) STORED, n int);
            CREATE TABLE made.k (id int, s int GENERATED ALWAYS AS (id * 2) STORED PRIMARY KEY);
            INSERT INTO made.t (id) VALUES (1), (2); INSERT INTO made.k (id) VALUES (1), (2)
            """
        )
        settings = StreamSettings(url=server.url, stream="shop")
        driven = DrivenStream(LocalStore(tmp_path), zone, settings)
        with driven.open():
            driven.catch_up(owner)
            owner.execute("INSERT INTO made.t (id) VALUES (3); UPDATE made.t SET n = 1")
            owner.execute("UPDATE made.k SET id = 7 WHERE id = 2; INSERT INTO made.k VALUES (8)")
            driven.catch_up(owner)
        assert driven.reasons() == {}
        source = Source(owner)
        for name in ("t", "k"):
            path = TablePath("made", name)
            assert driven.problems(path, source.select("made", name)) == []


IDENTITIES = {
    "virtual_full": "(id int PRIMARY KEY, n int, v int GENERATED ALWAYS AS (n) VIRTUAL)",
    "stored_full": "(id int PRIMARY KEY, n int, s int GENERATED ALWAYS AS (n) STORED)",
    "virtual": "(id int PRIMARY KEY, n int, v int GENERATED ALWAYS AS (n) VIRTUAL)",
    "stored_key": "(n int, s int GENERATED ALWAYS AS (n) STORED PRIMARY KEY)",
    "stored_index": "(n int, s int GENERATED ALWAYS AS (n) STORED PRIMARY KEY)",
}
"""Tables with generated columns; the names say their replica identity."""


def test_tables_whose_generated_columns_are_in_their_identity_can_still_be_changed() -> None:
    with postgres_server(programs=programs_of("18")) as server, server.connect() as owner:
        for name, columns in IDENTITIES.items():
            owner.execute(f"CREATE TABLE {name} {columns}; INSERT INTO {name} VALUES (1)")
            if name.endswith("_full"):
                owner.execute(f"ALTER TABLE {name} REPLICA IDENTITY FULL")
        owner.execute("ALTER TABLE stored_index REPLICA IDENTITY USING INDEX stored_index_pkey")
        settings = StreamSettings(url=server.url, stream="shop")
        prepared = prepare(settings)
        assert prepared.left_out.keys() == {"public.virtual_full", "public.virtual.v"}
        with connected(server.url, settings.slot) as connection:
            bring_publication(connection, settings, prepared)
            for name in IDENTITIES:
                owner.execute(f"UPDATE {name} SET n = 2; DELETE FROM {name}")
            assert harmed_tables(connection, settings.slot) == {}
            # Published all the same, it is a table that the server lets nobody change.
            owner.execute(f"ALTER PUBLICATION {settings.slot} ADD TABLE virtual_full")
            owner.execute("INSERT INTO virtual_full VALUES (1)")
            for statement in ("UPDATE virtual_full SET n = 2", "DELETE FROM virtual_full"):
                with pytest.raises(psycopg.Error, match="Replica identity"):
                    owner.execute(statement)
            assert list(harmed_tables(connection, settings.slot).values()) == [
                "public.virtual_full"
            ]
            (found,) = [one for one in check(settings) if "virtual_full" in one.what]
            owner.execute(found.remedy)
            owner.execute("UPDATE virtual_full SET n = 2")
            assert "public.virtual_full" not in prepare(settings).left_out


def test_a_stream_goes_on_after_a_failover_with_its_slot(tmp_path: Path) -> None:
    zone = landing_zone("versions")
    (tmp_path / zone).mkdir(parents=True)
    more = {"hot_standby_feedback": "on"}
    with (
        postgres_server(more, programs_of("17")) as primary,
        standby_of(primary) as standby,
    ):
        settings = StreamSettings(url=primary.url, stream="shop")
        driven = DrivenStream(LocalStore(tmp_path), zone, settings)
        with primary.connect() as owner:
            make_marks(owner)
            owner.execute("CREATE TABLE public.t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
            with driven.open():
                driven.catch_up(owner)
                wait_for_slot(primary, standby, settings.slot, lambda: driven.catch_up(owner))
                owner.execute("INSERT INTO public.t VALUES (2)")
                driven.catch_up(owner)
            owner.execute("INSERT INTO public.t VALUES (3)")
        wait_for_log(primary, standby)
        take_over(primary, standby)
        loaded = driven.landed_files(TablePath("public", "t"))
        with standby.connect() as owner:
            owner.execute("INSERT INTO public.t VALUES (4)")
            with driven.open(replace(settings, url=standby.url)):
                assert driven.document.resnapshots == {}
                driven.catch_up(owner)
            path = TablePath("public", "t")
            assert driven.problems(path, Source(owner).select("public", "t")) == []
            assert driven.landed_files(path) > loaded
