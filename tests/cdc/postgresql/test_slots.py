"""Slots and publications are made, changed, described and dropped in a real server."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace

import psycopg
import pytest

from openmirror.cdc.postgresql.catalogue import OpenWriter
from openmirror.cdc.postgresql.connecting import DatabaseConnection, replication_connection
from openmirror.cdc.postgresql.places import Lsn
from openmirror.cdc.postgresql.publication import (
    ask_publication,
    drop_publication,
    harmed_tables,
    make_publication,
    publish,
    publish_every_change,
    unpublish,
)
from openmirror.cdc.postgresql.settings import StreamSettings
from openmirror.cdc.postgresql.slot_size import SlotSize
from openmirror.cdc.postgresql.slots import (
    ask_slot,
    drop_slot,
    identify_system,
    make_slot,
    must_reconnect,
    slot_size,
    timeline_history,
    timeline_switches,
)
from openmirror.errors import CannotStart
from standins.postgres import connected as as_owner
from tests.cdc.eventually import eventually
from tests.cdc.postgresql.test_catalogue import oid_of, transaction

SOON = 0.05


def never() -> bool:
    return False


def unheard(_: Sequence[OpenWriter]) -> None:
    """Take no notice of what is waited for."""


# --- Slots ----------------------------------------------------------------------------------------


def test_a_slot_is_made_and_described(settings: StreamSettings, reader: DatabaseConnection) -> None:
    assert ask_slot(reader, settings.slot) is None
    begins = make_slot(settings.url, settings.slot, on_wait=unheard, should_stop=never)
    found = ask_slot(reader, settings.slot)
    assert found is not None
    assert found.confirmed == begins
    assert (found.plugin, found.is_own, found.is_used) == ("pgoutput", True, False)
    assert (found.state, found.is_lost, found.invalidation) == ("reserved", False, "")
    with pytest.raises(CannotStart, match="already exists"):
        make_slot(settings.url, settings.slot, on_wait=unheard, should_stop=never)
    drop_slot(reader, settings.slot)
    drop_slot(reader, settings.slot)
    assert ask_slot(reader, settings.slot) is None


def test_it_is_shown_who_keeps_a_slot_from_being_made(
    settings: StreamSettings, owner: psycopg.Connection, reader: DatabaseConnection
) -> None:
    owner.execute("CREATE TABLE a (id int PRIMARY KEY)")
    seen: list[OpenWriter] = []
    with transaction(settings, "INSERT INTO a VALUES (1)") as other:
        pid = other.info.backend_pid
        until = time.monotonic() + 20

        def stop() -> bool:
            return bool(seen) or time.monotonic() > until

        made = make_slot(settings.url, settings.slot, on_wait=seen.extend, should_stop=stop)
        assert made is None
        assert [one.pid for one in seen] == [pid]
        assert seen[0].since is not None
        assert ask_slot(reader, settings.slot) is None
        threading.Timer(0.5, other.execute, ("COMMIT",)).start()
        assert make_slot(settings.url, settings.slot, on_wait=unheard, should_stop=never)


def test_what_a_server_says_of_itself(settings: StreamSettings, owner: psycopg.Connection) -> None:
    connection = replication_connection(settings.url, settings.slot)
    try:
        found = identify_system(settings.url, connection)
        assert timeline_history(settings.url, connection, 1) == {}
        with pytest.raises(CannotStart):
            timeline_history(settings.url, connection, 77)
    finally:
        connection.finish()
    row = owner.execute("SELECT system_identifier::text FROM pg_control_system()").fetchone()
    assert row == (found.system,)
    assert found.timeline == 1


def test_a_timelines_history_says_where_each_before_it_ended() -> None:
    content = "1\t0/A000198\tno recovery target specified\n\n# a comment\n2\t1/B\tbefore 2000\n"
    assert timeline_switches(content) == {1: Lsn(0xA000198), 2: Lsn((1 << 32) + 0xB)}
    with pytest.raises((ValueError, IndexError)):
        timeline_switches("nonsense")


def test_versions_whose_sender_must_be_asked_again() -> None:
    old, new = [140017, 150012, 160008, 170004], [140018, 150013, 160009, 170005, 180000, 190001]
    assert [must_reconnect(one) for one in old + new] == [True] * 4 + [False] * 6


def test_a_slots_size_grows_with_the_log_that_nobody_reads(
    settings: StreamSettings, owner: psycopg.Connection
) -> None:
    make_slot(settings.url, settings.slot, on_wait=unheard, should_stop=never)
    owner.execute("CREATE TABLE orders (id int PRIMARY KEY, text text)")
    size = SlotSize(lambda: slot_size(settings.url, settings.slot), SOON)
    assert size.now() is None
    size.start()
    try:
        eventually(lambda: size.now() is not None)
        owner.execute(
            "INSERT INTO orders SELECT n, repeat('x', 1000) FROM generate_series(1, 3000) n"
        )
        eventually(lambda: (size.now() or 0) > 3_000_000)
    finally:
        size.stop()


def test_the_size_of_no_slot_is_unknown(settings: StreamSettings) -> None:
    assert slot_size(settings.url, "other") is None
    with pytest.raises(CannotStart):
        slot_size(replace(settings.url, port=1), settings.slot)


def test_a_size_is_unknown_while_the_server_is_away() -> None:
    answers = iter([7, None, 9])
    asked = threading.Event()

    def ask() -> int:
        found = next(answers, 9)
        if found is None:
            asked.set()
            raise CannotStart("it is away")
        return found

    size = SlotSize(ask, SOON)
    size.start()
    try:
        assert asked.wait(5)
        eventually(lambda: size.now() == 9)
    finally:
        size.stop()


# --- Publications ---------------------------------------------------------------------------------


@pytest.fixture
def tables(owner: psycopg.Connection) -> dict[str, int]:
    owner.execute(
        """
        CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE "B b" (id int PRIMARY KEY);
        CREATE TABLE child (PRIMARY KEY (id)) INHERITS (a); CREATE UNLOGGED TABLE u (id int)
        """
    )
    return {name: oid_of(owner, f'"{name}"') for name in ("a", "B b", "child", "u")}


def test_tables_are_published_one_by_one(
    settings: StreamSettings, reader: DatabaseConnection, tables: dict[str, int]
) -> None:
    name = settings.slot
    assert ask_publication(reader, name) is None
    oid = make_publication(reader, name)
    refused = publish(reader, name, [tables["a"], tables["B b"], tables["u"], 4_000_000_000])
    assert refused.keys() == {tables["u"]}
    assert "cannot add relation" in refused[tables["u"]]
    found = ask_publication(reader, name)
    assert found is not None
    assert found.tables == found.named == {tables["a"], tables["B b"]}  # not the child
    assert (found.oid, found.is_owned, found.is_whole) == (oid, True, True)
    assert unpublish(reader, name, [tables["a"], 4_000_000_000]) == {}
    found = ask_publication(reader, name)
    assert found is not None
    assert found.tables == {tables["B b"]}
    drop_publication(reader, name)
    assert make_publication(reader, name) != oid


def test_a_table_that_is_locked_keeps_no_other_out(
    settings: StreamSettings, reader: DatabaseConnection, tables: dict[str, int]
) -> None:
    make_publication(reader, settings.slot)
    with transaction(settings, "LOCK TABLE a IN SHARE UPDATE EXCLUSIVE MODE"):
        refused = publish(reader, settings.slot, [tables["a"], tables["B b"]])
    assert refused.keys() == {tables["a"]}
    assert "holds a lock" in refused[tables["a"]]
    assert publish(reader, settings.slot, [tables["a"]]) == {}


def test_publishing_lets_no_transaction_of_the_source_end_by_a_deadlock(
    settings: StreamSettings, reader: DatabaseConnection, tables: dict[str, int]
) -> None:
    name, both = settings.slot, [tables["a"], tables["B b"]]
    make_publication(reader, name)
    with as_owner(settings.url) as session:
        session.execute("SET deadlock_timeout = '50ms'")
        session.execute('BEGIN; LOCK TABLE "B b"')
        publishing = threading.Thread(target=publish, args=(reader, name, both))
        publishing.start()
        time.sleep(0.2)
        session.execute("LOCK TABLE a")
        session.execute("COMMIT")
        publishing.join()
    found = ask_publication(reader, name)
    assert found is not None
    assert found.tables == set(both)


def test_a_publication_that_leaves_changes_out_is_made_to_send_them(
    settings: StreamSettings, owner: psycopg.Connection, reader: DatabaseConnection
) -> None:
    owner.execute(
        f"CREATE PUBLICATION {settings.slot}"
        " WITH (publish = 'insert', publish_via_partition_root = true)"
    )
    found = ask_publication(reader, settings.slot)
    assert found is not None
    assert not found.is_whole
    publish_every_change(reader, settings.slot)
    found = ask_publication(reader, settings.slot)
    assert found is not None
    assert found.is_whole


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE a DROP CONSTRAINT a_pkey",
        "ALTER TABLE a REPLICA IDENTITY NOTHING",
        "ALTER TABLE a DROP CONSTRAINT a_pkey, ADD PRIMARY KEY (id) DEFERRABLE",
    ],
)
def test_a_published_table_whose_updates_fail_is_found(
    settings: StreamSettings,
    owner: psycopg.Connection,
    reader: DatabaseConnection,
    tables: dict[str, int],
    change: str,
) -> None:
    name = settings.slot
    make_publication(reader, name)
    publish(reader, name, [tables["a"], tables["B b"]])
    assert harmed_tables(reader, name) == {}
    owner.execute(change)
    update = "UPDATE ONLY a SET id = 2"
    with pytest.raises(psycopg.Error, match="replica identity"):
        owner.execute(update)
    assert harmed_tables(reader, name) == {tables["a"]: "public.a"}
    unpublish(reader, name, harmed_tables(reader, name))
    owner.execute(update)
    with as_owner(settings.url) as other:
        other.execute("DELETE FROM a")
