"""Loads beside a real server's log; each precaution is shown by what it prevents."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from random import Random
from uuid import uuid4

import psycopg
import pytest

from openmirror.cdc.postgresql import copying, loading, ranges
from openmirror.cdc.postgresql.load_events import (
    LoaderSettings,
    LoadGivenUp,
    LoadWaits,
    WritersEnded,
)
from openmirror.cdc.postgresql.load_steps import LoadUnderway
from openmirror.cdc.postgresql.settings import DatabaseUrl
from openmirror.protocol.streams import StopCode
from standins.postgres import connected, postgres_server
from standins.postgres_versions import VERSIONS, programs_of
from tests.cdc.postgresql.load_stream import PREFIX, LoadStream

Make = Callable[..., LoadStream]


@pytest.fixture
def make(database: DatabaseUrl) -> Iterator[Make]:
    made: list[LoadStream] = []

    def begun(url: DatabaseUrl = database, **changes: object) -> LoadStream:
        settings = LoaderSettings(application="loads", mark_prefix=PREFIX)
        made.append(LoadStream(url, replace(settings, **changes)))
        return made[-1]

    yield begun
    for stream in made:
        stream.close()


def _table(stream: LoadStream, name: str = "a", rows: int = 1000) -> None:
    stream.owner.execute(f"CREATE TABLE {name} (id bigint PRIMARY KEY, small int, big text)")
    stream.owner.execute(f"ALTER TABLE {name} ALTER COLUMN big SET STORAGE EXTERNAL")
    stream.owner.execute(
        f"INSERT INTO {name} SELECT i, i, repeat(md5(i::text), 100) FROM generate_series(1, %s) i",
        (rows,),
    )


def test_a_load_of_several_tables_gives_their_rows(make: Make) -> None:
    stream = make(most_rows=300)
    for name in ("a", "b", "empty"):
        _table(stream, name, 0 if name == "empty" else 1000)
    stream.begin("a", "b", "empty")
    stream.until_ready("a", "b", "empty")
    stream.check("a", "b", "empty")
    ranges = stream.table("a").ready.state.ranges
    assert [part.rows for part in ranges] == [300, 300, 300, 100]


class Writers:
    """Changes a table from several connections until it is stopped."""

    def __init__(self, url: DatabaseUrl, name: str, count: int, seed: int) -> None:
        self._stopping = threading.Event()
        self.failures: list[Exception] = []
        self._threads = [
            threading.Thread(target=self._work, args=(url, name, Random(seed + at)))
            for at in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        assert not self.failures

    def _work(self, url: DatabaseUrl, name: str, random: Random) -> None:
        statements = (
            f"UPDATE {name} SET small = %(v)s WHERE id = %(k)s",
            f"UPDATE {name} SET big = repeat(md5(%(v)s::text), 100) WHERE id = %(k)s",
            f"UPDATE {name} SET id = %(to)s WHERE id = %(k)s",
            f"UPDATE {name} SET id = %(to)s, small = %(v)s WHERE id = %(k)s",
            f"DELETE FROM {name} WHERE id = %(k)s",
            f"INSERT INTO {name} VALUES (%(k)s, %(v)s, repeat(md5(%(v)s::text), 100))",
        )
        with connected(url) as connection:
            while not self._stopping.is_set():
                values = {
                    "k": random.randint(1, 1500),
                    "to": random.randint(1, 1500),
                    "v": random.randint(1, 10**6),
                }
                try:
                    with connection.transaction():
                        for _ in range(random.choice((1, 1, 3))):
                            connection.execute(random.choice(statements), values)
                except (psycopg.errors.UniqueViolation, psycopg.errors.DeadlockDetected):
                    continue
                except psycopg.Error as error:
                    self.failures.append(error)
                    return


@pytest.mark.parametrize("seed", [1])
def test_a_load_beside_writers_is_exact(make: Make, seed: int) -> None:
    _beside_writers(make(most_rows=60), seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 140))
def test_many_loads_beside_writers_are_exact(make: Make, seed: int) -> None:
    _beside_writers(make(most_rows=60), seed)


@pytest.mark.soak
@pytest.mark.parametrize("version", VERSIONS)
def test_a_load_beside_writers_is_exact_on_each_version(version: str) -> None:
    programs = programs_of(version)
    with postgres_server(programs=programs) as server, server.database("shop") as url:
        settings = LoaderSettings(application="loads", mark_prefix=PREFIX, most_rows=60)
        with closing(LoadStream(url, settings)) as stream:
            _beside_writers(stream, 1)


def _beside_writers(stream: LoadStream, seed: int) -> None:
    _table(stream)
    writers = Writers(stream.url, "a", 2, seed)
    try:
        stream.begin("a")
        stream.until(lambda: bool(stream.table("a").ready or stream.table("a").given_up))
    finally:
        writers.stop()
    if given_up := stream.table("a").given_up:
        # Rows change their keys all the time here.
        assert given_up.stop
        assert given_up.stop.code is StopCode.VALUE_UNAVAILABLE
        return
    stream.check("a")


def test_a_transaction_that_wrote_before_the_publication_is_waited_for(make: Make) -> None:
    stream = make()
    _table(stream)
    stream.make_slot()
    with connected(stream.url) as writer:
        writer.execute("BEGIN")
        writer.execute("INSERT INTO a VALUES (5000, 1, 'not in the log')")
        stream.publish("a")
        stream.loader.start()
        stream.want("a")
        stream.until(lambda: any(isinstance(event, LoadWaits) for event in stream.events))
        assert "waits for the end of a transaction: pid" in str(stream.events)
        assert stream.table("a").is_loading is False
        writer.execute("COMMIT")
    stream.until_ready("a")
    stream.check("a")


def test_the_first_mark_can_wait_for_an_answer(make: Make) -> None:
    stream = make(asks_before_mark=True)
    _table(stream, rows=3)
    stream.begin("a")
    stream.until(lambda: any(isinstance(event, WritersEnded) for event in stream.events))
    time.sleep(0.5)
    stream.turn()
    assert not stream.table("a").is_loading
    stream.loader.begin(stream.table("a").load.number)
    stream.until_ready("a")
    stream.check("a")


def test_a_range_counts_once_a_later_mark_has_come(make: Make) -> None:
    stream = make(most_rows=4)
    _table(stream, rows=10)
    stream.begin("a")
    stream.until(lambda: stream.table("a").is_loading)
    stream.passes_marks = False
    stream.until(lambda: bool(stream.held))
    time.sleep(0.3)
    stream.turn()
    state = stream.table("a").load.staged.state
    assert state.is_begun
    assert not state.ranges
    stream.feed_held()
    stream.until_ready("a")
    stream.check("a")


def test_rows_without_a_mark_are_read_again_after_the_connection_failed(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an asynchronous commit showed can be gone after a crash of the server."""
    stream = make(most_rows=4)
    _table(stream, rows=10)
    emit, fails = loading.emit_mark, threading.Event()

    def failing(connection: psycopg.Connection, prefix: str, content: str) -> object:
        if fails.is_set():
            fails.clear()
            stream.owner.execute("DELETE FROM a WHERE id = 3")
            stream.turn()
            stream.owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                "application_name = 'loads'"
            )
        return emit(connection, prefix, content)

    monkeypatch.setattr(loading, "emit_mark", failing)
    stream.begin("a")
    stream.until(lambda: stream.table("a").is_loading)
    fails.set()
    stream.until_ready("a")
    stream.check("a")
    assert sum(part.rows for part in stream.table("a").ready.state.ranges) == 9


def test_a_load_goes_on_from_its_confirmed_ranges(make: Make) -> None:
    stream = make(most_rows=100)
    _table(stream, rows=1000)
    stream.begin("a")
    table = stream.table("a")
    stream.until(lambda: len(table.load.staged.state.ranges) >= 2)
    stream.loader.stop(10)
    stream.turn()
    before = table.load.staged.state.ranges
    opened = stream.staging.open(table.load.number)
    assert opened is not None
    stream.loader = type(stream.loader)(stream.url, stream.settings)
    stream.loader.start()
    table.load = replace(table.load, staged=opened)
    stream.owner.execute("UPDATE a SET small = -1 WHERE id % 3 = 0")
    stream.loader.want(table.load)
    stream.until_ready("a")
    assert table.ready.state.ranges[: len(before)] == before
    stream.check("a")


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE a ADD COLUMN more int DEFAULT 7",
        "ALTER TABLE a ALTER COLUMN small TYPE bigint",
        "ALTER TABLE a ALTER COLUMN small TYPE int USING small + 1",
        "ALTER TABLE a RENAME TO other",
        "ALTER TABLE a RENAME TO other; CREATE TABLE a (LIKE other INCLUDING ALL)",
        "ALTER TABLE a DROP CONSTRAINT a_pkey; ALTER TABLE a ADD PRIMARY KEY (id, small)",
    ],
)
def test_another_definition_gives_up_the_load(make: Make, change: str) -> None:
    stream = make(most_rows=10)
    _table(stream, rows=30)
    stream.passes_marks = False
    stream.begin("a")
    stream.until(lambda: bool(stream.held))
    stream.feed_held()
    stream.passes_marks = False
    table = stream.table("a")
    stream.until(lambda: table.load.staged.state.is_begun)
    with stream.owner.transaction():
        for statement in change.split("; "):
            stream.owner.execute(statement)
    other = stream.loader
    stream.until(lambda: bool(table.given_up) or table.load.staged.state.has_all_rows or True)
    # A further range, also where all were read before the change.
    other.drop(table.load.number)
    again = stream.staging.open(table.load.number)
    assert again is not None
    other.want(replace(table.load, staged=again))
    stream.until(lambda: bool(table.given_up))
    assert table.given_up.stop is None


def test_a_dropped_table_stops(make: Make) -> None:
    stream = make()
    _table(stream, rows=3)
    _table(stream, "b", rows=3)
    stream.passes_marks = False
    stream.begin("a", "b")
    stream.until(lambda: bool(stream.held))
    stream.owner.execute("DROP TABLE a")
    stream.feed_held()
    stream.until(lambda: bool(stream.table("a").given_up))
    stream.until_ready("b")
    assert "was dropped" in stream.table("a").given_up.stop.detail


def test_a_role_that_row_security_filters_stops_the_table_alone(
    make: Make, database: DatabaseUrl
) -> None:
    role = f"reader_{uuid4().hex[:8]}"
    with connected(database) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN REPLICATION PASSWORD 'p'")
        try:
            stream = make()
            _table(stream, rows=3)
            _table(stream, "b", rows=3)
            _table(stream, "c", rows=3)
            owner.execute(f"GRANT SELECT ON a, b TO {role}")
            owner.execute("ALTER TABLE a ENABLE ROW LEVEL SECURITY")
            owner.execute("CREATE POLICY p ON a USING (id = 1)")
            stream.loader = type(stream.loader)(
                replace(database, user=role, password="p"), stream.settings
            )
            stream.begin("a", "b", "c")
            stream.until_ready("b")
            stream.until(lambda: bool(stream.table("a").given_up and stream.table("c").given_up))
            assert "BYPASSRLS" in stream.table("a").given_up.stop.remedy
            assert "GRANT SELECT ON public.c" in stream.table("c").given_up.stop.remedy
            stream.loader.stop(10)
        finally:
            owner.execute(f"DROP OWNED BY {role}")
            owner.execute(f"DROP ROLE {role}")


def test_a_value_that_delta_cannot_hold_stops_the_table_alone(make: Make) -> None:
    stream = make()
    stream.owner.execute("CREATE TABLE a (id int PRIMARY KEY, n numeric(5,2))")
    stream.owner.execute("INSERT INTO a VALUES (1, 1), (2, 'NaN'), (3, 3)")
    _table(stream, "b", rows=3)
    stream.begin("a", "b")
    stream.until_ready("b")
    stream.until(lambda: bool(stream.table("a").given_up))
    stop = stream.table("a").given_up.stop
    assert stop.code is StopCode.SOURCE_VALUE_INVALID
    assert "public.a.n" in stop.detail
    assert "id=2" in stop.detail
    assert "--as-text" in stop.remedy


def _slowed(monkeypatch: pytest.MonkeyPatch, milliseconds: int) -> list[bytes]:
    """Let the server take long for each row; return the statements that were sent."""
    sent: list[bytes] = []
    plain = ranges.SourceRows.range

    def slow(self: ranges.SourceRows, after: object, high: object, limit: int) -> bytes:
        statement = plain(self, after, high, limit)  # type: ignore[arg-type]
        wait = b"CASE WHEN pg_sleep(%f) IS NULL THEN small ELSE small END" % (milliseconds / 1000)
        sent.append(statement)
        return statement.replace(b'"small"', wait, 1)

    monkeypatch.setattr(ranges.SourceRows, "range", slow)
    return sent


def _plain(stream: LoadStream, rows: int) -> None:
    stream.owner.execute("CREATE TABLE a (id int PRIMARY KEY, small int)")
    stream.owner.execute("INSERT INTO a SELECT i, i FROM generate_series(1, %s) i", (rows,))


def test_a_range_that_takes_too_long_is_cut_and_the_next_is_smaller(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = make(range_seconds=0.5)
    _plain(stream, 60)
    sent = _slowed(monkeypatch, 20)
    stream.begin("a")
    stream.until_ready("a")
    stream.check("a")
    limits = [int(statement.split(b"LIMIT ")[1].split(b")")[0]) for statement in sent]
    assert limits[0] == 10_000
    assert all(limit < 30 for limit in limits[1:])
    assert len(limits) < 20


def test_a_row_that_takes_too_long_stops_its_table(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = make(range_seconds=0.3)
    _plain(stream, 3)
    _slowed(monkeypatch, 3000)
    stream.begin("a")
    stream.until(lambda: bool(stream.table("a").given_up))
    assert "--range-time" in stream.table("a").given_up.stop.remedy


def test_others_wait_for_our_lock_at_most_a_second(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = make(range_seconds=30.0)
    _plain(stream, 300)
    sent = _slowed(monkeypatch, 30)
    stream.begin("a")
    stream.until(lambda: bool(sent))
    time.sleep(0.3)
    begun = time.monotonic()
    stream.owner.execute("ALTER TABLE a ALTER COLUMN small SET NOT NULL")
    waited = time.monotonic() - begun
    assert 0.1 < waited < 1.3
    monkeypatch.undo()
    stream.until_ready("a")
    stream.check("a")


def test_a_table_that_others_lock_delays_no_other_load(make: Make) -> None:
    stream = make()
    _table(stream, rows=3)
    _table(stream, "b", rows=3)
    stream.passes_marks = False
    stream.begin("a", "b")
    stream.until(lambda: bool(stream.held))
    with connected(stream.url) as other:
        other.execute("BEGIN")
        other.execute("LOCK TABLE a IN ACCESS EXCLUSIVE MODE")
        stream.feed_held()
        stream.until_ready("b")
        stream.until(lambda: "another process holds" in str(stream.events))
        other.execute("COMMIT")
    stream.until_ready("a")
    stream.check("a", "b")


@pytest.mark.parametrize("moves_on", [False, True])
def test_a_row_that_moves_between_ranges_is_read_once_more(make: Make, moves_on: bool) -> None:
    stream = make(most_rows=10)
    _table(stream, rows=30)
    stream.passes_marks = False
    stream.begin("a")
    stream.until(lambda: bool(stream.held))
    table = stream.table("a")
    number = table.load.number
    staged = table.load.staged
    stream.owner.execute("DELETE FROM a WHERE id = 5")
    read = stream.loader._steps._read_range
    moved = threading.Event()

    def between(load: LoadUnderway) -> None:
        read(load)
        if not moved.is_set() and load.at == (b"11",):
            moved.set()
            # Into the range that was read, out of one that will be read.
            stream.owner.execute("UPDATE a SET id = 5, small = 55 WHERE id = 25")

    stream.loader._steps._read_range = between  # type: ignore[method-assign]
    stream.feed_held()
    stream.until(lambda: bool(table.ready))
    assert moved.is_set()
    assert staged.state.number == number
    assert [part.rows for part in table.ready.state.rereads] == [1]
    if moves_on:
        stream.owner.execute("UPDATE a SET small = 66 WHERE id = 5")
    stream.check("a")


def test_composite_and_text_keys_are_read_in_their_own_order(make: Make) -> None:
    stream = make(most_rows=7)
    stream.owner.execute("CREATE EXTENSION citext")
    stream.owner.execute(
        'CREATE TABLE a (e citext, t text COLLATE "C", d date, n int, PRIMARY KEY (t, e, d))'
    )
    stream.owner.execute(
        "INSERT INTO a SELECT chr(96 + i % 7) || CASE WHEN i % 2 = 0 THEN 'X''\\\"' ELSE 'y,' END,"
        " md5((i % 5)::text), date '2024-01-01' + i, i FROM generate_series(1, 60) i"
    )
    stream.owner.execute("CREATE TABLE b (e citext PRIMARY KEY, n int)")
    stream.owner.execute(
        "INSERT INTO b SELECT CASE WHEN i % 2 = 0 THEN 'a' ELSE 'B' END || i, i"
        " FROM generate_series(1, 60) i"
    )
    stream.owner.execute("CREATE TABLE c (f float8, b bytea, PRIMARY KEY (f, b))")
    stream.owner.execute(
        "INSERT INTO c SELECT x::float8, decode(md5(i::text), 'hex') FROM generate_series(1, 20) i,"
        " unnest(ARRAY['NaN', '-Infinity', '0.1', '1e-300']) x"
    )
    stream.begin("a", "b", "c")
    stream.until_ready("a", "b", "c")
    stream.check("a", "b")
    assert len(stream.mirror("c")) == 80


def test_a_definition_that_changed_before_a_load_goes_on(make: Make) -> None:
    stream = make()
    _table(stream, rows=3)
    stream.publish("a")
    stream.make_slot()
    stream.loader.start()
    load, _ = stream._wanted("a")
    columns = (replace(load.definition.columns[0], name="other"), *load.definition.columns[1:])
    stream.loader.want(replace(load, definition=replace(load.definition, columns=columns)))
    stream.until(lambda: bool(stream.events), 10) if stream.events else time.sleep(0.3)
    stream.turn()
    assert isinstance(stream.events[-1], LoadGivenUp)


def test_a_truncate_beside_a_load_leaves_only_what_came_behind_it(make: Make) -> None:
    stream = make(most_rows=10)
    _table(stream, rows=30)
    stream.passes_marks = False
    stream.begin("a")
    stream.until(lambda: bool(stream.held))
    read, done = stream.loader._steps._read_range, threading.Event()

    def between(load: LoadUnderway) -> None:
        read(load)
        if not done.is_set() and load.at == (b"20",):
            done.set()
            with stream.owner.transaction():
                stream.owner.execute("TRUNCATE a")
                stream.owner.execute("INSERT INTO a VALUES (3, 3, repeat('x', 5000)), (4, 4, '')")
            # Its unchanged value is only in the row.
            stream.owner.execute("UPDATE a SET id = 25 WHERE id = 3")

    stream.loader._steps._read_range = between  # type: ignore[method-assign]
    stream.feed_held()
    # A rewritten table, so that the load begins again.
    stream.until(lambda: bool(stream.table("a").given_up))
    stream.table("a").is_loading = False
    stream.want("a")
    stream.until_ready("a")
    stream.check("a")


def test_rows_that_are_too_many_bytes_come_in_smaller_ranges(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "_MOST_BYTES", 1 << 20)
    monkeypatch.setattr(copying, "_PIECE_BYTES", 1 << 18)
    stream = make()
    _table(stream, rows=5000)
    stream.begin("a")
    stream.until_ready("a")
    stream.check("a")
    assert len(stream.table("a").ready.state.ranges) > 2


@pytest.mark.soak
def test_rows_that_a_crash_took_back_are_not_loaded() -> None:
    settings = {"wal_writer_delay": "10s", "fsync": "on"}
    with postgres_server(settings) as server, server.database("shop") as url:
        stream = LoadStream(url)
        _table(stream, rows=10)
        read, done = stream.loader._steps._read_range, threading.Event()

        def crashing(load: LoadUnderway) -> None:
            if done.is_set():
                read(load)
                return
            with connected(url) as writer:
                writer.execute("SET synchronous_commit = off")
                writer.execute("UPDATE a SET small = -1 WHERE id = 3")
                read(load)
            done.set()
            server.stop("immediate")
            server.start()

        stream.loader._steps._read_range = crashing  # type: ignore[method-assign]
        stream.begin("a")
        limit = time.monotonic() + 60
        while not stream.tables or not stream.table("a").ready:
            assert time.monotonic() < limit, stream.events
            try:
                stream.turn()
            except psycopg.OperationalError:
                stream.reconnect()
        assert done.is_set()
        assert {row["id"]: row["small"] for row in stream.source("a")}[3] == 3
        stream.check("a")
        stream.close()
