"""Encodings, settings, networks, zones and tables that a reader of a database has to live with."""

from __future__ import annotations

import errno
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest import mock
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from openmirror.cdc.postgresql.settings import DatabaseUrl, StreamSettings
from openmirror.cdc.postgresql.table_files import StreamFolders
from openmirror.errors import PublishRefused, Unavailable
from openmirror.protocol.names import TablePath
from openmirror.protocol.streams import LogSource, StreamDocument, StreamIdentity
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import join, landing_zone
from standins.postgres import PostgresServer, connected, postgres_server
from tests.cdc.postgresql.driven import DrivenStream, make_marks
from tests.cdc.postgresql.selected import Source
from tests.cdc.postgresql.test_stream import STREAM, Follower, running, until
from tests.harness.stores import Call, WatchedStore
from tests.publishing.zones import landed, mirrored
from tests.zone import MIRROR

ZONE = landing_zone(MIRROR)
ORDERS = TablePath("public", "orders")
NO_BYTES = b"a\xff"


@pytest.fixture
def stream(settings: StreamSettings, owner: psycopg.Connection, tmp_path: Path) -> Follower:
    make_marks(owner)
    return follower(settings, tmp_path)


def follower(settings: StreamSettings, root: Path) -> Follower:
    (root / ZONE).mkdir(parents=True)
    return Follower(LocalStore(root), ZONE, replace(settings, stream=STREAM))


def problems(
    stream: DrivenStream, owner: psycopg.Connection, schema: str = "public"
) -> dict[str, list[str]]:
    """Compare every table of a schema that has not stopped with its rows."""
    source, reasons = Source(owner), stream.reasons()
    names = [one.name for one in source.tables(schema) if one.title not in reasons]
    found = {
        name: stream.problems(TablePath(schema, name), source.select(schema, name))
        for name in names
    }
    return {name: wrong for name, wrong in found.items() if wrong}


@contextmanager
def raw(url: DatabaseUrl, encoding: str) -> Iterator[psycopg.Connection]:
    """A connection that sends and gets text in an encoding, whatever psycopg thinks of it."""
    with connected(url) as connection:
        connection.execute(f"SET client_encoding = {encoding}")
        yield connection


@pytest.mark.parametrize(
    ("encoding", "text"),
    [("WIN1252", "naïve €ÿ"), ("SQL_ASCII", "日本 ÿ"), ("EUC_JP", "日本\uff5e")],
)
def test_text_outside_of_ascii_in_other_encodings(
    postgres: PostgresServer, tmp_path: Path, encoding: str, text: str
) -> None:
    with (
        postgres.database(f"shop_{uuid4().hex[:8]}", encoding) as url,
        raw(url, "UTF8") as owner,
    ):
        make_marks(owner)
        statements = f"""
            CREATE SCHEMA "s {text}";
            CREATE TYPE "s {text}".mood AS ENUM ('{text}', 'plain');
            CREATE TABLE "s {text}"."t {text}" (
                "k {text}" text, n int, v text[], m "s {text}".mood, PRIMARY KEY ("k {text}", n)
            );
            INSERT INTO "s {text}"."t {text}" VALUES
                ('{text}', 1, ARRAY['{text}'], '{text}'), ('plain', 2, NULL, 'plain'),
                ('{text}', 3, NULL, NULL)
        """
        owner.execute(statements.encode())
        stream = follower(StreamSettings(url=url, stream=STREAM), tmp_path)
        with stream.open():
            stream.catch_up(owner)
            changes = f"""
                INSERT INTO "s {text}"."t {text}" VALUES ('x{text}', 4, ARRAY['{text}'], '{text}');
                UPDATE "s {text}"."t {text}" SET "k {text}" = 'y{text}' WHERE n = 1;
                DELETE FROM "s {text}"."t {text}" WHERE n = 3
            """
            owner.execute(changes.encode())
            stream.catch_up(owner)
        assert stream.reasons() == {}
        folder = stream.folder(TablePath(f"s {text}", f"t {text}"))
        keys = (f"k {text}", "n")
        rows = mirrored(stream.store, keys, folder).rows
        assert sorted(tuple(row.values()) for row in rows) == [
            ("plain", 2, None, "plain"),
            (f"x{text}", 4, f'["{text}"]', text),
            (f"y{text}", 1, f'["{text}"]', text),
        ]


def test_bytes_that_are_no_text_stop_their_tables_only(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    with (
        postgres.database(f"shop_{uuid4().hex[:8]}", "SQL_ASCII") as url,
        connected(url) as owner,
    ):
        make_marks(owner)
        owner.execute(
            b"CREATE TABLE loaded (id int PRIMARY KEY, v text);"
            b"INSERT INTO loaded VALUES (1, '%b');"
            b"CREATE TABLE logged (id int PRIMARY KEY, v text);"
            b"CREATE TABLE listed (id int PRIMARY KEY, v text[]);"
            b"INSERT INTO listed VALUES (1, ARRAY['%b']);"
            b"CREATE TYPE mood AS ENUM ('%b', 'fine');"
            b"CREATE TABLE labels (id int PRIMARY KEY, v mood);"
            b"INSERT INTO labels VALUES (1, 'fine');"
            b'CREATE TABLE "%b" (id int PRIMARY KEY);'
            b'CREATE TABLE named (id int PRIMARY KEY, "%b" int);'
            b"CREATE TABLE later (id int PRIMARY KEY); CREATE TABLE sound (id int PRIMARY KEY)"
            % ((NO_BYTES,) * 5)
        )
        stream = follower(StreamSettings(url=url, stream=STREAM), tmp_path)
        with stream.open():
            stream.catch_up(owner)
            owner.execute(b"INSERT INTO logged VALUES (1, '%b')" % NO_BYTES)
            owner.execute(b"INSERT INTO labels VALUES (2, '%b')" % NO_BYTES)
            owner.execute(b'ALTER TABLE later ADD "%b" int' % NO_BYTES)
            owner.execute("INSERT INTO later VALUES (1); INSERT INTO sound VALUES (1)")
            stream.catch_up(owner)
        reasons = stream.reasons()
        stopped = {"loaded", "logged", "listed", "labels", "named", "later", r"a\udcff"}
        assert {title.removeprefix("public.") for title in reasons} == stopped
        assert all("--as-text" not in reason for reason in reasons.values()), reasons
        sound = mirrored(stream.store, ("id",), stream.folder(TablePath("public", "sound"))).rows
        assert [row["id"] for row in sound] == [1]


_HOSTILE_SETTINGS = (
    "DateStyle TO 'German'",
    "IntervalStyle TO 'iso_8601'",
    "bytea_output TO 'escape'",
    "extra_float_digits TO -15",
    "TimeZone TO 'America/New_York'",
    "search_path TO nowhere",
    "quote_all_identifiers TO on",
    "statement_timeout TO '1ms'",
    "lock_timeout TO '1ms'",
    "idle_session_timeout TO '1s'",
    "default_transaction_read_only TO on",
    "default_transaction_isolation TO 'serializable'",
    "standard_conforming_strings TO off",
    "client_encoding TO 'LATIN1'",
    "row_security TO off",
    "xmlbinary TO hex",
    "synchronous_commit TO off",
    "wal_sender_timeout TO '1s'",
)


def test_settings_of_databases_and_roles_change_no_value(
    postgres: PostgresServer, database: DatabaseUrl, tmp_path: Path
) -> None:
    role = f"reader_{uuid4().hex[:8]}"
    with connected(database) as owner:
        make_marks(owner)
        owner.execute(
            "CREATE TYPE pair AS (d date, b bytea); CREATE TABLE kinds (id int PRIMARY KEY,"
            ' d date, t timestamptz, i interval, b bytea, f float8, m money, x xml, "q Q" text,'
            " da date[], fa float8[], ba bytea[], p pair, r tstzrange)"
        )
        insert = (
            "INSERT INTO kinds VALUES (%s, '2020-02-03', '2020-07-03 04:05:06.7+00', "
            r"'1 year -3 days', '\x00ff5c27', 0.1::float8 + 0.2, 1234.56, '<a>x</a>', E'a\\b\'', "
            r"'{2020-02-03}', ARRAY[0.1::float8 + 0.2], ARRAY['\x5c00'::bytea], "
            r"ROW('2020-02-03', '\x01'), '[2020-07-03 04:05+00,)')"
        )
        owner.execute(insert, (1,))
        owner.execute(f"CREATE ROLE {role} SUPERUSER LOGIN PASSWORD 'secret'")
        try:
            for setting in _HOSTILE_SETTINGS:
                owner.execute(f"ALTER DATABASE {database.database} SET {setting}")
                owner.execute(f"ALTER ROLE {role} SET {setting}")
            url = replace(database, user=role, password="secret")
            stream = follower(StreamSettings(url=url, stream=STREAM), tmp_path)
            with stream.open():
                stream.catch_up(owner)
                owner.execute(insert, (2,))
                stream.catch_up(owner)
            assert problems(stream, owner) == {}
        finally:
            owner.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_texts_that_copy_writes_in_odd_ways(stream: Follower, owner: psycopg.Connection) -> None:
    texts = ["", "\n", "\n\n", "a\nb", "\t", "\\", "\\.", "\\N", "\n\\.\n", '"', '""', "'", "\r"]
    texts += ["\r\n", "\ufeff", '\ufeff"', ",", " ", "NULL", "\u2028", "\x01", "\U0001f600"]
    owner.execute("CREATE TABLE only_key (k text PRIMARY KEY)")
    owner.execute("CREATE TABLE around (v text, id int PRIMARY KEY, w text)")
    for at, text in enumerate(texts):
        # Whatever comes first in a COPY may be read in another way.
        first = sql.Identifier(f"first_{at}")
        owner.execute(sql.SQL("CREATE TABLE {} (k text PRIMARY KEY)").format(first))
        owner.execute(sql.SQL("INSERT INTO {} VALUES (%s)").format(first), (text,))

    def insert(beyond: str, add: int) -> None:
        for at, text in enumerate(texts):
            owner.execute("INSERT INTO only_key VALUES (%s)", (text + beyond,))
            owner.execute("INSERT INTO around VALUES (%s, %s, %s)", (text, at + add, text[::-1]))
        owner.execute(
            "INSERT INTO around VALUES (NULL, %s, NULL), ('', %s, NULL)", (add + 90, add + 91)
        )

    insert("", 0)
    with stream.open():
        stream.catch_up(owner)
        insert("log", 100)
        stream.catch_up(owner)
    assert problems(stream, owner) == {}


def test_columns_that_were_dropped(stream: Follower, owner: psycopg.Connection) -> None:
    owner.execute(
        "CREATE TABLE between_ (a text, id int PRIMARY KEY, b text, c int, d text);"
        "INSERT INTO between_ VALUES ('a', 1, 'b', 3, 'd');"
        "ALTER TABLE between_ DROP COLUMN a, DROP COLUMN c;"
        "INSERT INTO between_ VALUES (2, 'b', 'd');"
        "CREATE TABLE nothing (id int PRIMARY KEY); INSERT INTO nothing VALUES (1);"
        "ALTER TABLE nothing DROP COLUMN id"
    )
    with stream.open():
        stream.catch_up(owner)
        owner.execute(
            "UPDATE between_ SET d = 'new' WHERE id = 1; INSERT INTO nothing DEFAULT VALUES"
        )
        owner.execute("INSERT INTO between_ VALUES (3, 'b', NULL)")
        stream.catch_up(owner)
    assert "has no primary key" in stream.reasons()["public.nothing"]
    assert problems(stream, owner) == {}


def test_types_of_extensions(stream: Follower, owner: psycopg.Connection) -> None:
    owner.execute("CREATE EXTENSION hstore; CREATE EXTENSION ltree; CREATE EXTENSION citext")
    owner.execute(
        "CREATE TABLE kinds (c citext PRIMARY KEY, h hstore, l ltree, q lquery, ha hstore[],"
        " la ltree[])"
    )
    insert = (
        "INSERT INTO kinds VALUES (%s, hstore(ARRAY['a', 'b \"q\"'], ARRAY[NULL, 'y,z']), 'a.b', "
        "'*.foo', ARRAY[hstore('a', 'b'), NULL], ARRAY['a.b'::ltree])"
    )
    owner.execute(insert, ("Aa",))
    with stream.open():
        stream.catch_up(owner)
        owner.execute(insert, ("Bb",))
        owner.execute("UPDATE kinds SET c = 'AA' WHERE c = 'aa'; DELETE FROM kinds WHERE c = 'bB'")
        owner.execute(insert, ("cC",))
        stream.catch_up(owner)
    assert problems(stream, owner) == {}


def test_what_a_slot_waits_for_is_reported_once(
    stream: Follower, owner: psycopg.Connection, database: DatabaseUrl
) -> None:
    owner.execute("CREATE TABLE elsewhere (id int PRIMARY KEY)")
    with connected(database) as writer:
        writer.execute("SET application_name = 'nightly job'")
        writer.execute("BEGIN; INSERT INTO elsewhere VALUES (1)")
        late = threading.Timer(2.6, writer.execute, ["COMMIT"])
        late.start()
        with stream.open():
            late.join()
            stream.catch_up(owner)
    waits = [note for note in stream.notes if "replication slot" in note]
    assert len(waits) == 1, stream.notes
    assert "of nightly job, open since" in waits[0]


def test_a_load_that_fails_says_why_in_place_of_what_wanted_it(
    stream: Follower, owner: psycopg.Connection
) -> None:
    owner.execute("CREATE TABLE orders (id int PRIMARY KEY, item numeric(4, 1))")
    with stream.open():
        stream.catch_up(owner)
    # The next opening loads the table again, because it is another one under the same name.
    owner.execute("DROP TABLE orders; CREATE TABLE orders (id int PRIMARY KEY, item numeric(4, 1))")
    owner.execute("INSERT INTO orders VALUES (1, 'NaN')")
    with stream.open():
        stream.catch_up(owner)
    assert "NaN" in stream.reasons()["public.orders"]
    assert "--without-column public.orders.item" in stream.reasons()["public.orders"]


@dataclass
class CuttingProxy:
    """Passes connections on, and cuts each after so many bytes of the server."""

    port: int
    most: int
    cuts: int = 0
    _listener: socket.socket = field(init=False)

    def __enter__(self) -> CuttingProxy:
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    @property
    def own_port(self) -> int:
        """Where it listens."""
        return int(self._listener.getsockname()[1])

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self.port))
                for ends, most in (((client, server), 1 << 60), ((server, client), self.most)):
                    threading.Thread(target=self._pass, args=(*ends, most), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket, most: int) -> None:
        with suppress(OSError):
            while data := one.recv(4096):
                other.sendall(data[:most])
                most -= len(data)
                if most <= 0:
                    self.cuts += 1
                    break
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        one.close()


@mock.patch("openmirror.cdc.postgresql.running._WAITS", (0.05,))
@mock.patch("openmirror.cdc.postgresql.loading._WAITS", (0.05,))
def test_connections_that_are_cut_amid_a_message_lose_and_repeat_nothing(
    stream: Follower, owner: psycopg.Connection, database: DatabaseUrl
) -> None:
    owner.execute("CREATE TABLE orders (id int PRIMARY KEY, item text)")
    insert = (
        "INSERT INTO orders SELECT g, repeat('x', 100) FROM generate_series(%s::int, %s::int) g"
    )
    owner.execute(insert, (1, 20_000))
    # The first range is of 1 MB, so each connection that reads it is cut.
    with CuttingProxy(database.port, 400_000) as proxy:
        url = replace(stream.settings.url, port=proxy.own_port)
        stream.settings = replace(stream.settings, url=url)
        with running(stream) as (thread, done, _):
            until(lambda: any(ORDERS in one.anew for one in done), thread)
            of_the_load = proxy.cuts
            for first in range(20_001, 24_000, 1000):
                owner.execute(insert, (first, first + 999))
            proxy.most = 1 << 60
            owner.execute(insert, (50_000, 50_000))
            until(lambda: 50_000 in stream.orders(), thread)
    assert of_the_load
    assert proxy.cuts > of_the_load
    assert stream.orders() == dict(owner.execute("SELECT id, item FROM orders").fetchall())
    assert sum(len(file) for file in stream.markers()) == 24_001


@mock.patch("openmirror.cdc.postgresql.running._WAITS", (0.05,))
@mock.patch("openmirror.cdc.postgresql.loading._WAITS", (0.05,))
def test_a_full_disk_and_a_zone_that_is_away_lose_and_repeat_nothing(
    stream: Follower, owner: psycopg.Connection
) -> None:
    owner.execute("CREATE TABLE orders (id int PRIMARY KEY, item text)")
    owner.execute("INSERT INTO orders SELECT g, 'x' FROM generate_series(1, 100) g")
    failures = (OSError(errno.ENOSPC, "No space left on device"), Unavailable("the zone is away"))
    count = 0

    def failing(call: Call) -> None:
        nonlocal count
        if call.method in ("write", "append", "finish", "move_file", "stream"):
            count += 1
            if count < 24 and count % 4 == 0:
                raise failures[count // 4 % 2]

    store = WatchedStore(stream.store)
    stream.store = store
    with running(stream) as (thread, done, troubles):
        store.before = failing
        until(lambda: any(ORDERS in one.anew for one in done), thread)
        count = 0
        for number in range(101, 130):
            owner.execute("INSERT INTO orders VALUES (%s, 'log')", (number,))
            time.sleep(0.02)
        until(lambda: 129 in stream.orders(), thread)
    assert troubles
    assert stream.orders() == dict(owner.execute("SELECT id, item FROM orders").fetchall())
    assert sum(len(file) for file in stream.markers()) == 129


def test_a_schema_is_listed_once_for_many_tables(tmp_path: Path) -> None:
    store = WatchedStore(LocalStore(tmp_path))
    files = StreamFolders(store, ZONE, STREAM, StreamIdentity(uuid4().hex))
    for number in range(20):
        files.opened(TablePath("public", f"t{number}"), ("id",))
    assert store.asked("list_folder").count(join(ZONE, "public.schema")) <= 1
    with pytest.raises(PublishRefused, match="one table"):
        files.opened(TablePath("public", "T7"), ("id",))
    # A folder that is not of this stream is refused until it has gone.
    other = StreamFolders(store, ZONE, "other", StreamIdentity(uuid4().hex))
    with pytest.raises(PublishRefused, match="one table"):
        other.opened(TablePath("public", "T7"), ("id",))
    store.delete_folder(files.folder(TablePath("public", "t7")))
    other.opened(TablePath("public", "T7"), ("id",))


def test_a_document_of_ten_thousand_tables_is_written_and_read_fast() -> None:
    paths = [TablePath("public", f"table_{number}") for number in range(10_000)]
    document = StreamDocument(identity=StreamIdentity(uuid4().hex), tables=frozenset(paths))
    document = document.wanting_all({path: uuid4().hex for path in paths})
    began = time.process_time()
    again = StreamDocument.from_json(document.as_json())
    again = again.resumed(*paths).without_resnapshots(*paths)
    assert time.process_time() - began < 1.0
    assert not again.resnapshots
    assert again.tables == document.tables


def test_a_name_that_is_no_text_can_be_in_a_document() -> None:
    source = LogSource(system="1", database=2, timeline=1, publication=3)
    source = replace(source, left_out={"public.a\udcff": "it has no primary key"})
    document = StreamDocument(identity=StreamIdentity(uuid4().hex), log=source)
    written = json.loads(document.as_json().decode("ascii"))
    assert list(written["log"]["leftOut"]) == ["public.a\udcff"]
    assert StreamDocument.from_json(document.as_json()) == document


@pytest.mark.soak
def test_types_of_postgis(stream: Follower, owner: psycopg.Connection) -> None:
    there = owner.execute("SELECT FROM pg_available_extensions WHERE name = 'postgis'").fetchone()
    if there is None:
        pytest.skip("PostGIS is not installed: apt-get install postgresql-15-postgis-3")
    owner.execute("CREATE EXTENSION postgis")
    owner.execute(
        "CREATE TABLE places (id int PRIMARY KEY, g geometry, p geometry(Point, 4326), e geography,"
        " b box2d, c box3d, a geometry[])"
    )
    insert = (
        "INSERT INTO places SELECT g, ST_MakePoint(g, 2.5), ST_SetSRID(ST_MakePoint(g, 0.1), 4326),"
        " 'SRID=4326;POINT(-110 30)', 'BOX(1 2,3 4)', 'BOX3D(1 2 3,4 5 6)',"
        " ARRAY[ST_MakePoint(1, 2)] FROM generate_series(%s::int, %s::int) g"
    )
    owner.execute(insert, (1, 3))
    with stream.open():
        stream.catch_up(owner)
        owner.execute(insert, (4, 6))
        # Of a size that is stored beside the row, and then left out of the log.
        owner.execute("UPDATE places SET g = ST_Buffer(g, 10, 400) WHERE id = 1")
        owner.execute("UPDATE places SET b = NULL WHERE id = 1; DELETE FROM places WHERE id = 2")
        stream.catch_up(owner)
    assert stream.reasons() == {}
    assert problems(stream, owner) == {}


@pytest.mark.soak
def test_tables_of_1600_columns(stream: Follower, owner: psycopg.Connection) -> None:
    columns = ", ".join(f"c{number} int" for number in range(1599))
    for name in ("wide", "whole"):
        owner.execute(f"CREATE TABLE {name} (id int PRIMARY KEY, {columns})")
        values = ", ".join(["g"] * 1599)
        owner.execute(f"INSERT INTO {name} SELECT g, {values} FROM generate_series(1, 300) g")
    owner.execute("ALTER TABLE whole REPLICA IDENTITY FULL")
    with stream.open():
        stream.catch_up(owner)
        for name in ("wide", "whole"):
            owner.execute(
                f"UPDATE {name} SET c5 = 7 WHERE id < 200; DELETE FROM {name} WHERE id > 250"
            )
            owner.execute(f"INSERT INTO {name} (id, c1) VALUES (1000, 1)")
        stream.catch_up(owner)
    assert problems(stream, owner) == {}


@pytest.mark.soak
def test_a_zone_that_takes_longer_than_the_servers_timeout_keeps_the_connection(
    stream: Follower, postgres: PostgresServer, owner: psycopg.Connection
) -> None:
    owner.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, item text); INSERT INTO orders VALUES (1)"
    )
    postgres.reload(wal_sender_timeout="5s")
    slow = 0

    def before(call: Call) -> None:
        nonlocal slow
        if slow and call.method == "write" and "orders" in str(call.path):
            slow -= 1
            time.sleep(20)

    stream.store = WatchedStore(stream.store, before)
    try:
        with running(stream) as (thread, done, troubles):
            until(lambda: any(ORDERS in one.anew for one in done), thread)
            slow = 1
            owner.execute("INSERT INTO orders SELECT g, 'x' FROM generate_series(2, 50000) g")
            owner.execute("INSERT INTO orders VALUES (0, 'last')")
            until(lambda: 0 in stream.orders(), thread)
        assert not troubles
        assert sum(len(file) for file in stream.markers()) == 50_001
    finally:
        postgres.reload(wal_sender_timeout="60s")


@pytest.mark.soak
def test_a_row_that_the_server_can_neither_send_nor_read_stops_its_table_only(
    stream: Follower, owner: psycopg.Connection
) -> None:
    owner.execute("CREATE TABLE orders (id int PRIMARY KEY, item text)")
    owner.execute("CREATE TABLE large (id int PRIMARY KEY, v bytea)")
    owner.execute("ALTER TABLE large ALTER v SET STORAGE EXTERNAL")
    with running(stream) as (thread, done, _):
        until(lambda: any(ORDERS in one.anew for one in done), thread)
        # Twice as many bytes as text, which is beyond the server's limit of 1 GB.
        half = f"decode(repeat('00', {275 << 20}), 'hex')"
        owner.execute(f"INSERT INTO large SELECT 1, {half} || {half}")
        owner.execute("INSERT INTO orders VALUES (1, 'behind')")
        until(lambda: sum(ORDERS in one.anew for one in done) > 1, thread)
        until(lambda: not stream.document.resnapshots, thread)
        owner.execute("INSERT INTO orders VALUES (2, 'later')")
        until(lambda: 2 in stream.orders(), thread)
    assert stream.orders() == {1: "behind", 2: "later"}
    reason = stream.reasons()["public.large"]
    assert "invalid memory alloc request size" in reason
    assert "cannot be read" in reason
    assert "--without-column" in reason


@pytest.mark.soak
def test_three_thousand_tables(tmp_path: Path) -> None:
    count, at_once = 3000, 300
    with (
        postgres_server({"max_locks_per_transaction": "512"}) as server,
        server.database("shop") as url,
        connected(url) as owner,
    ):
        make_marks(owner)
        for first in range(0, count, at_once):
            numbers = range(first, first + at_once)
            owner.execute(";".join(f"CREATE TABLE t{one} (id int PRIMARY KEY)" for one in numbers))
        stream = follower(StreamSettings(url=url, stream=STREAM), tmp_path)
        with stream.open():
            began = time.monotonic()
            while stream.document.resnapshots:
                assert time.monotonic() - began < 0.15 * count
                stream.turn()
            owner.execute("INSERT INTO t1 VALUES (1); INSERT INTO t2 VALUES (1)")
            began = time.monotonic()
            stream.catch_up(owner)
            assert time.monotonic() - began < 10
        assert stream.notes == []
        assert len(landed(stream.store, stream.folder(TablePath("public", "t1")))) == 2
