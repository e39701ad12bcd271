"""One stream through what happens to servers, slots, publications, roles and documents."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock
from uuid import uuid4

import psycopg
import pytest

from openmirror.cdc.postgresql.catalogue import Snapshot
from openmirror.cdc.postgresql.gate import PublicationReplaced
from openmirror.cdc.postgresql.loads import StreamLoads
from openmirror.cdc.postgresql.preparing import bring_publication
from openmirror.cdc.postgresql.replication import LogEnded, ReplicationReader, ServerError
from openmirror.cdc.postgresql.running import RunningStream
from openmirror.cdc.postgresql.session import DatabaseStream
from openmirror.cdc.postgresql.settings import StreamSettings
from openmirror.cdc.postgresql.stream import StreamLimits
from openmirror.cdc.relay.document import document_path
from openmirror.cdc.relay.relay import BatchReport
from openmirror.cdc.relay.reporting import RelayReports, report_path
from openmirror.cdc.stops import StreamReplaced
from openmirror.cdc.stream_zone import StreamZone
from openmirror.errors import CannotStart
from openmirror.protocol.names import TablePath
from openmirror.protocol.relay_reports import RelayReport, RelayState
from openmirror.protocol.rows import EXTENSIONS, Marker
from openmirror.protocol.streams import StreamDocument, StreamIdentity
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import landing_zone
from standins.postgres import PostgresServer, connected
from tests.cdc.postgresql.driven import PATIENCE, DrivenStream, make_marks
from tests.cdc.postgresql.test_catalogue import transaction
from tests.publishing.zones import landed, mirrored
from tests.zone import MIRROR

ORDERS = TablePath("public", "orders")
ZONE = landing_zone(MIRROR)
STREAM = "shop"


class Follower(DrivenStream):
    """A stream that lands orders, beside marks."""

    takes = EXTENSIONS
    lineage = False

    def _zone(self, store: Any) -> StreamZone:
        return StreamZone(store, self.zone, self.takes, self.lineage)

    def orders(self) -> dict[object, object]:
        rows = mirrored(self.store, ("id",), self.folder(ORDERS)).rows
        return {row["id"]: row["item"] for row in rows}

    def markers(self) -> list[list[Marker]]:
        files = landed(self.store, self.folder(ORDERS))
        return [[change.marker for change in file.changes] for file in files]


@pytest.fixture
def stream(settings: StreamSettings, owner: psycopg.Connection, tmp_path: Path) -> Follower:
    make_marks(owner)
    owner.execute("CREATE TABLE orders (id int PRIMARY KEY, item text)")
    owner.execute("INSERT INTO orders VALUES (1, 'tea'), (2, 'salt')")
    (tmp_path / ZONE).mkdir(parents=True)
    return Follower(LocalStore(tmp_path), ZONE, replace(settings, stream=STREAM))


@pytest.fixture
def followed(stream: Follower, owner: psycopg.Connection) -> Follower:
    """A stream whose first loads have landed, closed."""
    with stream.open():
        stream.catch_up(owner)
    return stream


def source(owner: psycopg.Connection) -> dict[object, object]:
    return dict(owner.execute("SELECT id, item FROM orders").fetchall())


def test_changes_land_once_however_often_the_stream_is_opened(
    followed: Follower, owner: psycopg.Connection
) -> None:
    for number in range(3, 6):
        owner.execute("INSERT INTO orders VALUES (%s, 'rice')", (number,))
        with followed.open():
            followed.catch_up(owner)
    assert followed.orders() == source(owner)
    assert [len(file) for file in followed.markers()] == [2, 1, 1, 1]


def test_a_transaction_larger_than_memory_lands_as_one_file(
    followed: Follower, owner: psycopg.Connection
) -> None:
    followed.limits = replace(followed.limits, transaction_bytes=20_000, batch_bytes=20_000)
    with followed.open():
        with owner.transaction():
            owner.execute(
                "INSERT INTO orders SELECT g, repeat('x', 50) FROM generate_series(10, 3000) g"
            )
            owner.execute("DELETE FROM orders WHERE id < 20")
            owner.execute("UPDATE orders SET item = 'last' WHERE id = 3000")
        followed.catch_up(owner)
    assert followed.orders() == source(owner)
    assert len(followed.markers()) == 2


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        ("SELECT pg_drop_replication_slot(%(slot)s)", "slot was dropped"),
        (
            "SELECT pg_replication_slot_advance(%(slot)s, pg_current_wal_lsn())",
            "something else has moved it",
        ),
        ("DROP PUBLICATION %(name)s", "publication was dropped"),
        (
            "DROP PUBLICATION %(name)s; CREATE PUBLICATION %(name)s FOR TABLE orders, marks",
            "dropped and made again",
        ),
    ],
)
def test_what_may_have_been_missed_loads_every_table_anew(
    followed: Follower, owner: psycopg.Connection, harm: str, why: str
) -> None:
    owner.execute("DELETE FROM orders WHERE id = 1; INSERT INTO orders VALUES (3, 'rice')")
    slot = followed.settings.slot
    statement = harm.replace("%(slot)s", f"'{slot}'").replace("%(name)s", slot)
    owner.execute(statement)  # type: ignore[call-overload]
    with followed.open():
        followed.catch_up(owner)
    assert followed.orders() == source(owner)
    assert any(why in note for note in followed.notes), followed.notes


def test_a_publication_that_is_dropped_while_it_is_read_ends_the_connection(
    followed: Follower, owner: psycopg.Connection
) -> None:
    with followed.open():
        owner.execute(f"DROP PUBLICATION {followed.settings.slot}")
        with pytest.raises((PublicationReplaced, LogEnded)):
            followed.turn_until(lambda: False)


def test_a_lost_document_loads_every_table_anew(
    followed: Follower, owner: psycopg.Connection
) -> None:
    followed.store.delete_file(document_path(ZONE, STREAM))
    owner.execute("DELETE FROM orders WHERE id = 1")
    with followed.open():
        followed.catch_up(owner)
    assert followed.orders() == source(owner)


def test_another_database_of_the_same_name_is_refused(
    followed: Follower, owner: psycopg.Connection
) -> None:
    path = document_path(ZONE, STREAM)
    there = StreamDocument.from_json(followed.store.read(path).data)
    assert there.log is not None
    other = replace(there, log=replace(there.log, system="7"))
    followed.store.write(path, other.as_json())
    with pytest.raises(StreamReplaced, match=r"another database.*--anew"), followed.open():
        pass
    with followed.open(replace(followed.settings, anew=True)):
        followed.catch_up(owner)
    assert followed.orders() == source(owner)


def test_a_stream_of_an_older_version_begins_anew_under_its_name(
    followed: Follower, owner: psycopg.Connection
) -> None:
    path = document_path(ZONE, STREAM)
    older = StreamDocument(
        identity=StreamIdentity(uuid4().hex), made=uuid4().hex, tables=frozenset({ORDERS})
    )
    followed.store.write(path, older.as_json())
    owner.execute("DELETE FROM orders WHERE id = 1")
    with followed.open():
        followed.catch_up(owner)
    assert followed.orders() == source(owner)
    assert any("older version" in note for note in followed.notes)


def test_a_topics_stream_of_the_same_name_is_left_alone(
    stream: Follower, owner: psycopg.Connection
) -> None:
    topic = StreamDocument(identity=StreamIdentity(uuid4().hex), made=uuid4().hex)
    stream.store.write(document_path(ZONE, STREAM), topic.as_json())
    with pytest.raises(CannotStart, match="--stream"), stream.open():
        pass


def test_a_table_is_loaded_again_when_somebody_asks(
    followed: Follower, owner: psycopg.Connection
) -> None:
    path = document_path(ZONE, STREAM)
    there = StreamDocument.from_json(followed.store.read(path).data)
    followed.store.write(path, there.wanting(ORDERS, uuid4().hex).as_json())
    with followed.open():
        followed.catch_up(owner)
        owner.execute("UPDATE orders SET item = 'green tea' WHERE id = 1")
        followed.catch_up(owner)
    assert followed.orders() == source(owner)
    assert Marker.TRUNCATE in followed.markers()[1]


def test_a_mirror_without_extensions_gets_a_new_folder_where_a_table_is_emptied(
    stream: Follower, owner: psycopg.Connection
) -> None:
    stream.takes = frozenset()
    with stream.open():
        stream.catch_up(owner)
        owner.execute("TRUNCATE orders; INSERT INTO orders VALUES (9, 'after')")
        stream.catch_up(owner)
    assert stream.orders() == {9: "after"}
    assert Marker.TRUNCATE not in stream.markers()[0]
    assert any("emptied" in note for note in stream.notes) or len(stream.markers()) == 1


def test_rows_say_where_they_come_from_where_the_mirror_asks(
    stream: Follower, owner: psycopg.Connection
) -> None:
    stream.lineage = True
    with stream.open():
        stream.catch_up(owner)
        owner.execute("UPDATE orders SET item = 'green tea' WHERE id = 1")
        stream.catch_up(owner)
    rows = {row["id"]: row for row in mirrored(stream.store, ("id",), stream.folder(ORDERS)).rows}
    assert (rows[2]["_op"], rows[2]["_last_op_id"], rows[2]["_source_ts"]) == ("r", None, None)
    assert rows[1]["_op"] == "u"
    assert rows[1]["_source_ts"] is not None
    assert len(str(rows[1]["_last_op_id"])) == 41


def test_tables_come_go_and_come_back_from_start_to_start(
    followed: Follower, owner: psycopg.Connection
) -> None:
    without = replace(followed.settings, excluded=("public.orders",))
    with followed.open(without):
        owner.execute("INSERT INTO orders VALUES (3, 'rice')")
        followed.catch_up(owner)
    assert len(followed.markers()) == 1
    owner.execute("CREATE TABLE carts (id int PRIMARY KEY); INSERT INTO carts VALUES (7)")
    with followed.open(replace(without, excluded=())):
        followed.catch_up(owner)
    assert followed.orders() == source(owner)
    carts = mirrored(followed.store, ("id",), followed.folder(TablePath("public", "carts"))).rows
    assert [row["id"] for row in carts] == [7]


def test_a_table_that_is_made_again_under_its_name_is_loaded_anew(
    followed: Follower, owner: psycopg.Connection
) -> None:
    owner.execute("DROP TABLE orders; CREATE TABLE orders (id int PRIMARY KEY, item text)")
    owner.execute("INSERT INTO orders VALUES (5, 'new')")
    with followed.open():
        followed.catch_up(owner)
    assert followed.orders() == {5: "new"}


@pytest.mark.parametrize("part", ["WHERE (id > 1)", "(id)"])
def test_a_table_of_which_a_part_was_published_is_loaded_again_whoever_dies_meanwhile(
    followed: Follower, owner: psycopg.Connection, part: str
) -> None:
    name = followed.settings.slot
    owner.execute(f"ALTER PUBLICATION {name} SET TABLE marks, orders {part}")
    owner.execute("UPDATE orders SET id = 7 WHERE id = 2")
    owner.execute("INSERT INTO orders VALUES (0, 'rice')")

    def dies(*arguments: Any) -> None:
        bring_publication(*arguments)
        raise KeyboardInterrupt

    if part == "(id)":
        with (
            mock.patch("openmirror.cdc.postgresql.opening.bring_publication", dies),
            pytest.raises(KeyboardInterrupt),
            followed.open(),
        ):
            pass
    with followed.open():
        followed.catch_up(owner)
    assert followed.orders() == source(owner)
    why = "new in the stream" if part == "(id)" else "left out rows or columns of it"
    assert any(why in note for note in followed.notes), followed.notes


def test_a_table_that_cannot_be_taken_out_of_the_publication_is_named(
    followed: Follower, owner: psycopg.Connection
) -> None:
    without = replace(followed.settings, excluded=("public.orders",))
    with (
        transaction(followed.settings, "LOCK TABLE orders IN SHARE UPDATE EXCLUSIVE MODE"),
        followed.open(without),
    ):
        followed.catch_up(owner)
    words = "public.orders could not be taken out of the publication"
    assert any(note.startswith(words) for note in followed.notes), followed.notes


def test_a_stream_refuses_to_be_a_synchronous_standby(
    followed: Follower, postgres: PostgresServer, owner: psycopg.Connection
) -> None:
    words = "synchronous_standby_names"
    with _synchronous(postgres, "*"), pytest.raises(CannotStart, match=words), followed.open():
        pass
    with (
        followed.open(),
        _synchronous(postgres, f'ANY 1 ("{followed.settings.slot}")'),
        pytest.raises(CannotStart, match=words),
    ):
        followed.turn_until(lambda: False)


@contextmanager
def _synchronous(postgres: PostgresServer, names: str) -> Iterator[None]:
    postgres.reload(synchronous_standby_names=names)
    try:
        yield
    finally:
        postgres.reload(synchronous_standby_names="")


def test_a_role_that_loses_its_rights_stops_the_table_that_it_cannot_read(
    stream: Follower, owner: psycopg.Connection
) -> None:
    owner.execute("CREATE ROLE reader_lost LOGIN REPLICATION PASSWORD 'secret'")
    try:
        owner.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader_lost")
        owner.execute(f"CREATE PUBLICATION {stream.settings.slot} FOR TABLE orders, marks")
        url = replace(stream.settings.url, user="reader_lost", password="secret")
        real = StreamLoads.begin_some

        def late(self: StreamLoads) -> None:
            owner.execute("REVOKE SELECT ON orders FROM reader_lost")
            real(self)

        asked = replace(stream.settings, url=url)
        with mock.patch.object(StreamLoads, "begin_some", late), stream.open(asked):
            stream.catch_up(owner)
        stop = stream.document.stopped[ORDERS].stop
        assert "permission denied" in stop.detail
        assert "GRANT SELECT" in stop.remedy
        owner.execute("GRANT SELECT ON orders TO reader_lost")
        again = replace(stream.settings, url=url, again=(ORDERS,))
        with stream.open(again):
            stream.catch_up(owner)
        assert stream.orders() == source(owner)
    finally:
        owner.execute("DROP OWNED BY reader_lost; DROP ROLE reader_lost")


@contextmanager
def running(stream: Follower) -> Iterator[tuple[RunningStream, list[BatchReport], list[str]]]:
    """The stream in a thread of its own, as `cdc run` has it."""
    done: list[BatchReport] = []
    troubles: list[str] = []
    zone = stream._zone(stream.store)
    opener = DatabaseStream(stream.settings, zone, stream.limits, stream.notes.append)
    reports = RelayReports(stream.store, ZONE, stream.settings.stream)
    thread = RunningStream(opener, done.append, troubles.append, reports)
    thread.start()
    try:
        yield thread, done, troubles
    finally:
        opener.stop()
        thread.stop(PATIENCE)


def until(wanted: Callable[[], bool], thread: RunningStream) -> None:
    ends = time.monotonic() + PATIENCE
    while not wanted():
        thread.check()
        assert time.monotonic() < ends
        time.sleep(0.05)


def test_the_stream_goes_on_after_its_connections_are_ended(
    followed: Follower, owner: psycopg.Connection
) -> None:
    with running(followed) as (thread, _, troubles):
        owner.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s",
            (followed.settings.slot,),
        )
        owner.execute("INSERT INTO orders VALUES (3, 'rice')")
        until(lambda: 3 in followed.orders(), thread)
    assert troubles
    assert followed.orders() == source(owner)


def test_the_stream_goes_on_behind_a_transaction_that_the_server_cannot_send(
    followed: Follower, owner: psycopg.Connection
) -> None:
    real = ReplicationReader.take
    ended: set[ReplicationReader] = set()

    def failing(self: ReplicationReader, seconds: float) -> list[bytes]:
        # Frames behind the unsendable one may wait in the queue already: they must never come.
        if self in ended:
            raise LogEnded("it cannot be sent", ServerError("54000", "too large"))
        frames = real(self, seconds)
        for at, frame in enumerate(frames):
            if b"unsendable" in frame:
                ended.add(self)
                return frames[:at]
        return frames

    with (
        mock.patch.object(ReplicationReader, "take", failing),
        running(followed) as (thread, done, _),
    ):
        owner.execute("INSERT INTO orders VALUES (3, 'unsendable')")
        owner.execute("DELETE FROM orders WHERE id = 1")
        until(lambda: any(ORDERS in one.anew for one in done), thread)
        assert followed.orders() == source(owner)
        owner.execute("INSERT INTO orders VALUES (4, 'pepper')")
        until(lambda: 4 in followed.orders(), thread)
    assert followed.orders() == source(owner)
    assert any("cannot send the transaction" in note for note in followed.notes)


def test_the_third_equal_failure_is_a_problem_of_the_stream(
    followed: Follower, owner: psycopg.Connection
) -> None:
    def failing(self: ReplicationReader, seconds: float) -> list[bytes]:
        raise LogEnded("the server says no")

    with (
        mock.patch.object(ReplicationReader, "take", failing),
        mock.patch("openmirror.cdc.postgresql.running._WAITS", (0.01,)),
        running(followed) as (thread, _, troubles),
    ):
        until(lambda: len(troubles) >= 2, thread)
        until(lambda: _report(followed).state is RelayState.FAILED, thread)
        assert "the server says no" in _report(followed).detail
        thread.check()


def _report(stream: Follower) -> RelayReport:
    return RelayReport.from_json(stream.store.read(report_path(ZONE, STREAM)).data)


def test_nothing_lands_before_it_is_visible(followed: Follower, owner: psycopg.Connection) -> None:
    """Under synchronous replication the server sends a commit before others can see it."""
    real = Snapshot.sees
    hidden = threading.Event()
    hidden.set()

    def sees(self: Snapshot, xid: int) -> bool:
        return not hidden.is_set() and real(self, xid)

    with (
        mock.patch.object(Snapshot, "sees", sees),
        mock.patch("openmirror.cdc.postgresql.gate._LONG", 0.2),
        running(followed) as (thread, _, _),
    ):
        before = followed.document.complete_to
        owner.execute("INSERT INTO orders VALUES (3, 'rice')")
        until(lambda: any("not visible yet" in note for note in followed.notes), thread)
        assert 3 not in followed.orders()
        assert followed.document.complete_to == before
        hidden.clear()
        until(lambda: 3 in followed.orders(), thread)
    assert followed.orders() == source(owner)


def test_a_stream_that_waits_for_a_commit_to_be_visible_can_be_stopped(
    followed: Follower, owner: psycopg.Connection
) -> None:
    with (
        mock.patch.object(Snapshot, "sees", return_value=False),
        mock.patch("openmirror.cdc.postgresql.gate._LONG", 0.2),
        running(followed) as (thread, _, _),
    ):
        owner.execute("INSERT INTO orders VALUES (3, 'rice')")
        until(lambda: any("not visible yet" in note for note in followed.notes), thread)
    with followed.open():
        followed.catch_up(owner)
    assert followed.orders() == source(owner)


def test_what_limits_hold_by_default() -> None:
    assert StreamLimits().transaction_bytes >= StreamLimits().batch_bytes


def test_a_server_that_crashes_loses_nothing_that_landed(tmp_path: Path) -> None:
    from standins.postgres import postgres_server

    (tmp_path / ZONE).mkdir(parents=True)
    with postgres_server({"fsync": "on"}) as server, server.database("shop") as url:
        with connected(url) as first:
            make_marks(first)
            first.execute("CREATE TABLE orders (id int PRIMARY KEY, item text)")
        settings = StreamSettings(url=url, stream="shop")
        stream = Follower(LocalStore(tmp_path), ZONE, settings)
        with running(stream) as (thread, _, troubles):
            for round_ in range(3):
                with connected(url) as owner:
                    owner.execute(
                        "INSERT INTO orders SELECT g, 'x' FROM generate_series(%s::int, %s::int) g",
                        (round_ * 100, round_ * 100 + 99),
                    )
                server.stop("immediate")
                server.start()
            with connected(url) as owner:
                owner.execute("INSERT INTO orders VALUES (999, 'last')")
                until(lambda: _has(stream, 999), thread)
                assert stream.orders() == source(owner)
        assert troubles


def _has(stream: Follower, number: int) -> bool:
    try:
        return number in stream.orders()
    except AssertionError:
        raise
    except Exception:  # noqa: BLE001 - there is no folder yet
        return False
