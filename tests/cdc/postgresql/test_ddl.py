"""Definitions that change while a table is mirrored: its rows stay the source's, by themselves.

Unless a test states otherwise, the stream is open and reads nothing while the statements run, so
that they all come between two readings of the catalogue.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from openmirror.cdc.postgresql import gate
from openmirror.cdc.postgresql import stream as stream_of_a_log
from openmirror.cdc.postgresql.reload_limits import ReloadLimits, ReloadWindow
from openmirror.cdc.postgresql.settings import StreamSettings
from openmirror.cdc.stream_zone import StreamZone
from openmirror.errors import WrongRequest
from openmirror.ports import FileStore
from openmirror.protocol.names import TablePath
from openmirror.protocol.rows import EXTENSIONS
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import landing_zone
from openmirror.wiring.cdc import want_load
from standins.postgres import PostgresServer, connected, postgres_server
from tests.cdc.postgresql.driven import DrivenStream, make_marks
from tests.cdc.postgresql.roles import as_reader
from tests.cdc.postgresql.selected import Source
from tests.harness.dying import Killed
from tests.harness.stores import Call, WatchedStore
from tests.zone import MIRROR

_ZONE = landing_zone(MIRROR)
_TABLES = """
    CREATE TYPE mood AS ENUM ('glad', 'sad');
    CREATE TABLE t (id int PRIMARY KEY, a text, b text, m mood);
    INSERT INTO t VALUES (1, 'a1', 'b1', 'glad'), (2, 'a2', 'b2', 'sad');
    CREATE TABLE quiet (id int PRIMARY KEY, m mood, n int);
    INSERT INTO quiet VALUES (1, 'glad', 7);
"""
_BETWEEN = {
    "a column comes with a default": "ALTER TABLE t ADD c int DEFAULT 5",
    "a default that is dropped at once": (
        "ALTER TABLE t ADD c int DEFAULT 5; ALTER TABLE t ALTER c DROP DEFAULT"
    ),
    "columns exchange their names": (
        "ALTER TABLE t RENAME a TO x; ALTER TABLE t RENAME b TO a; ALTER TABLE t RENAME x TO b"
    ),
    "columns exchange their names and change back": (
        "ALTER TABLE t RENAME a TO x; ALTER TABLE t RENAME b TO a; ALTER TABLE t RENAME x TO b;"
        "UPDATE t SET a = 'now a' WHERE id = 1;"
        "ALTER TABLE t RENAME a TO x; ALTER TABLE t RENAME b TO a; ALTER TABLE t RENAME x TO b"
    ),
    "a column is made again under its name": "ALTER TABLE t DROP a; ALTER TABLE t ADD a text",
    "a type is changed with other values": "ALTER TABLE t ALTER a TYPE text USING a || '!'",
    "a type is changed and changed back": (
        "ALTER TABLE t ALTER a TYPE varchar(3); UPDATE t SET a = 'xyz' WHERE id = 1;"
        "ALTER TABLE t ALTER a TYPE text"
    ),
    "a label is renamed": "ALTER TYPE mood RENAME VALUE 'glad' TO 'happy'",
    "a label is renamed and renamed back": (
        "ALTER TYPE mood RENAME VALUE 'glad' TO 'happy'; UPDATE t SET b = 'u' WHERE id = 1;"
        "ALTER TYPE mood RENAME VALUE 'happy' TO 'glad'"
    ),
    "a table is renamed, changed, and renamed back": (
        "ALTER TABLE t RENAME TO away; INSERT INTO away VALUES (3, 'x', 'y', 'sad');"
        "DELETE FROM away WHERE id = 1; ALTER TABLE away RENAME TO t"
    ),
    "a table is moved, changed, and moved back": (
        "CREATE SCHEMA other; ALTER TABLE t SET SCHEMA other;"
        "DELETE FROM other.t WHERE id = 1; ALTER TABLE other.t SET SCHEMA public"
    ),
    "tables exchange their names": (
        "BEGIN; ALTER TABLE t RENAME TO x; CREATE TABLE t (id int PRIMARY KEY, a text);"
        "INSERT INTO t VALUES (9, 'nine'); COMMIT; UPDATE x SET a = 'in x'"
    ),
    "a table is made again": (
        "DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, z numeric);INSERT INTO t VALUES (7, 1.5)"
    ),
    "a key becomes another": "ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (id, a)",
    "a key goes and comes back": (
        "ALTER TABLE t REPLICA IDENTITY FULL; ALTER TABLE t DROP CONSTRAINT t_pkey;"
        "UPDATE t SET id = 5 WHERE id = 1; ALTER TABLE t ADD PRIMARY KEY (id)"
    ),
    "a change of the definition is taken back": (
        "BEGIN; UPDATE t SET a = 'kept' WHERE id = 1; SAVEPOINT s;"
        "ALTER TABLE t ADD c int DEFAULT 5; ROLLBACK TO s;"
        "UPDATE t SET b = 'kept' WHERE id = 2; COMMIT"
    ),
    "a definition changes within a transaction": (
        "BEGIN; UPDATE t SET a = '1'; ALTER TABLE t ADD c int DEFAULT 5; UPDATE t SET c = 6 WHERE "
        "id = 1; ALTER TABLE t ALTER c TYPE text; INSERT INTO t VALUES (4, 'd', 'd', 'sad', 'x');"
        "COMMIT"
    ),
    "a definition changes in a prepared transaction": (
        "BEGIN; ALTER TABLE t ADD c int DEFAULT 5; UPDATE t SET c = 6 WHERE id = 1;"
        "PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p'"
    ),
    "rows are added to an unlogged table that is logged then": (
        "CREATE UNLOGGED TABLE u (id int PRIMARY KEY); INSERT INTO u VALUES (1);"
        "ALTER TABLE u SET LOGGED; INSERT INTO u VALUES (2)"
    ),
    "a generated column becomes a plain one": (
        "ALTER TABLE t ADD g int GENERATED ALWAYS AS (id * 2) STORED;"
        "ALTER TABLE t ALTER g DROP EXPRESSION"
    ),
    "a table comes with rows": (
        "CREATE TABLE made (id int PRIMARY KEY, a text); INSERT INTO made VALUES (1, 'x');"
        "UPDATE made SET a = 'y'"
    ),
}
"""Statements about the tables of one schema, by what they do."""
_OF_PUBLICATION = {
    "a publication sends inserts alone for a while": (
        "ALTER PUBLICATION {slot} SET (publish = 'insert'); UPDATE t SET a = 'lost';"
        "ALTER PUBLICATION {slot} SET (publish = 'insert, update, delete, truncate')"
    ),
    "a table is out of the publication for a while": (
        "ALTER PUBLICATION {slot} DROP TABLE t; UPDATE t SET a = 'lost';"
        "ALTER PUBLICATION {slot} ADD TABLE t"
    ),
    "a table is taken out of the publication": (
        "ALTER PUBLICATION {slot} DROP TABLE t; UPDATE t SET a = 'lost'"
    ),
    "rows of a table are filtered": (
        "ALTER PUBLICATION {slot} SET TABLE t WHERE (id > 1), quiet, marks;UPDATE t SET a = 'lost'"
    ),
}
"""Statements about the publication, by what they do."""
_SERVER = {"max_prepared_transactions": "4"}


@dataclass(frozen=True)
class Changed:
    """A database whose definitions changed while it was mirrored."""

    stream: DrivenStream
    source: Source

    def problems(self, schema: str) -> list[str]:
        """Return what differs between a schema's tables and what has landed of them."""
        return [
            f"{table.title}: {problem}"
            for table in self.source.tables(schema)
            for problem in self.stream.problems(
                TablePath(table.schema, table.name), self.source.select(table.schema, table.name)
            )
        ]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server(_SERVER) as started:
        yield started


@contextmanager
def mirrored(
    server: PostgresServer,
    root: Path,
    schemas: Iterable[str],
    reloads: ReloadLimits = ReloadLimits(a_day=3, at_once=8),  # noqa: B008 - a frozen value
) -> Iterator[tuple[Changed, psycopg.Connection]]:
    """Mirror a database of such schemas, with its stream open."""
    with prepared(server, root, schemas, reloads) as (stream, owner), stream.open():
        stream.catch_up(owner)
        yield Changed(stream, Source(owner)), owner


@contextmanager
def prepared(
    server: PostgresServer,
    root: Path,
    schemas: Iterable[str],
    reloads: ReloadLimits = ReloadLimits(a_day=3, at_once=8),  # noqa: B008 - a frozen value
) -> Iterator[tuple[DrivenStream, psycopg.Connection]]:
    """Make a database of such schemas; its stream is closed."""
    (root / _ZONE).mkdir(parents=True)
    with server.database(f"ddl_{uuid4().hex[:8]}") as url, connected(url) as owner:
        make_marks(owner)
        for schema in schemas:
            owner.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            run(owner, schema, _TABLES)
        settings = StreamSettings(url=url, stream=url.database, reloads=reloads)
        yield DrivenStream(LocalStore(root), _ZONE, settings), owner


def run(owner: psycopg.Connection, schema: str, statements: str) -> None:
    """Run statements in a schema, one after another."""
    owner.execute(f"SET search_path = {schema}")
    for statement in statements.split(";"):
        if statement.strip():
            owner.execute(statement)
    owner.execute("RESET search_path")


def _schema(what: str) -> str:
    return f"s{list(_BETWEEN).index(what)}"


@pytest.fixture(scope="module")
def changed(server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Changed]:
    root = tmp_path_factory.mktemp("ddl")
    schemas = [_schema(what) for what in _BETWEEN]
    with mirrored(server, root, schemas) as (found, owner):
        for what, statements in _BETWEEN.items():
            run(owner, _schema(what), statements)
        with suppress(AssertionError):  # each test says what is wrong with its own schema
            found.stream.turn_until(lambda: not any(map(found.problems, schemas)))
        found.stream.catch_up(owner)
        yield found


@pytest.mark.parametrize("what", _BETWEEN)
def test_rows_are_the_sources_after(what: str, changed: Changed) -> None:
    schema = _schema(what)
    assert not changed.problems(schema)
    assert not [title for title in changed.stream.reasons() if title.startswith(f"{schema}.")]


@pytest.mark.parametrize("what", _OF_PUBLICATION)
def test_rows_are_the_sources_after_a_change_of_the_publication(
    what: str, server: PostgresServer, tmp_path: Path
) -> None:
    with mirrored(server, tmp_path, ["public"]) as (found, owner):
        slot = found.stream.settings.slot
        run(owner, "public", _OF_PUBLICATION[what].format(slot=slot))
        found.stream.turn_until(lambda: not found.problems("public") and not found.stream.reasons())
        owner.execute("UPDATE t SET b = 'later'")
        # A filter is noticed with the next reading of all tables, and its table is loaded again.
        found.stream.turn_until(lambda: not found.problems("public") and not found.stream.reasons())


def test_a_table_that_is_too_large_stops_until_somebody_asks_for_its_load(
    server: PostgresServer, tmp_path: Path
) -> None:
    limits = ReloadLimits(below=0)
    with mirrored(server, tmp_path, ["public"], limits) as (found, owner):
        stream = found.stream
        run(owner, "public", "ALTER TABLE t ADD c int DEFAULT 5")
        stream.turn_until(lambda: "public.t" in stream.reasons())
        reason = stream.reasons()["public.t"]
        assert "'c' was added with a value" in reason
        assert "only tables below 0 GB are loaded again by themselves" in reason
        assert "cdc resnapshot" in reason
        stream.catch_up(owner)
        assert found.problems("public")
        stream.want_load(TablePath("public", "t"))
        stream.turn_until(lambda: not found.problems("public"))
        stream.catch_up(owner)
        assert not stream.reasons()


def test_the_fourth_load_of_a_day_is_not_begun(server: PostgresServer, tmp_path: Path) -> None:
    with mirrored(server, tmp_path, ["public"]) as (found, owner):
        stream = found.stream
        for number in range(3):
            run(owner, "public", f"ALTER TABLE t ADD c{number} int DEFAULT 5")
            stream.turn_until(lambda: not found.problems("public") and not stream.reasons())
        run(owner, "public", "ALTER TABLE t ADD more int DEFAULT 5")
        stream.turn_until(lambda: "public.t" in stream.reasons())
        stream.catch_up(owner)
        assert "loaded again 3 times within a day" in stream.reasons()["public.t"]


def test_loads_wait_for_their_part_of_the_day(server: PostgresServer, tmp_path: Path) -> None:
    never = ReloadWindow(datetime.time(3), datetime.time(3))
    limits = ReloadLimits(within=never)
    with mirrored(server, tmp_path, ["public"], limits) as (found, owner):
        stream = found.stream
        run(owner, "public", "ALTER TABLE t ADD c int DEFAULT 5")
        stream.turn_until(lambda: "public.t" in stream.reasons())
        stream.turn_until(lambda: bool(stream.document.resnapshots))
        for _ in range(5):
            stream.turn()
        assert found.problems("public")
        assert "by itself" in stream.reasons()["public.t"]


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [("01:30-04:00", "03:59", "04:00"), ("22:00-06:00", "05:59", "21:59")],
)
def test_a_part_of_the_day(text: str, inside: str, outside: str) -> None:
    window = ReloadWindow.parse(text)
    assert window.has(datetime.time.fromisoformat(inside))
    assert not window.has(datetime.time.fromisoformat(outside))


@pytest.mark.parametrize("text", ["", "22-06", "22:00-25:00", "22:00", "a22:00-06:00"])
def test_what_is_no_part_of_a_day_is_refused(text: str) -> None:
    with pytest.raises(WrongRequest, match="write 22:00-06:00"):
        ReloadWindow.parse(text)


def test_a_table_that_is_gone_is_wanted_no_longer_though_a_process_died_meanwhile(
    server: PostgresServer, tmp_path: Path
) -> None:
    with prepared(server, tmp_path, ["public"]) as (stream, owner):
        with stream.open():
            stream.catch_up(owner)
        path = TablePath("public", "t")
        zone = StreamZone(stream.store, stream.zone, EXTENSIONS, lineage=False)
        want_load(zone, stream.settings.stream, path)
        owner.execute("DROP TABLE t")
        stream.wrapped = _dies_before_the_second_document
        with suppress(Killed), stream.open():
            raise AssertionError("it did not die")
        stream.wrapped = lambda store: store
        with stream.open():
            stream.catch_up(owner)
        assert path not in stream.document.resnapshots
        assert "public.t" not in stream.reasons()


def test_a_load_that_failed_is_forgotten_with_its_table(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "_SHARE", 0.0)
    path = TablePath("public", "t")
    with mirrored(server, tmp_path, ["public"]) as (found, owner):
        stream = found.stream
        assert stream.stream is not None
        run(owner, "public", "DROP TABLE t")
        stream.stream._loads.lost(path)
        stream.catch_up(owner)
        assert stream.document.log is not None
        assert path not in stream.document.log.tables.values()
        assert not stream.reasons()


def test_a_table_that_lacks_its_name_for_a_moment_is_loaded_all_the_same(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_of_a_log, "_ASK_EVERY", 0.0)
    path = TablePath("public", "t")
    with mirrored(server, tmp_path, ["public"]) as (found, owner):
        stream = found.stream
        assert stream.stream is not None
        zone = StreamZone(stream.store, stream.zone, EXTENSIONS, lineage=False)
        catalogue_gate = stream.stream._landing._gate
        catalogue_gate._next = inf  # no reading sees the other name
        loaded = stream.newest_load(path)
        want_load(zone, stream.settings.stream, path)
        run(owner, "public", "ALTER TABLE t RENAME TO away")
        stream.turn()
        stream.turn()
        run(owner, "public", "ALTER TABLE away RENAME TO t")
        catalogue_gate._next = 0.0
        stream.catch_up(owner)
        assert not stream.reasons()
        assert not found.problems("public")
        assert stream.newest_load(path) != loaded


def test_a_table_is_taken_in_once_its_key_is_not_generated_any_more(
    server: PostgresServer, tmp_path: Path
) -> None:
    with mirrored(server, tmp_path, ["public"]) as (found, owner):
        make = (
            "CREATE TABLE made (id int, k int GENERATED ALWAYS AS (id * 2) STORED PRIMARY KEY);"
            "INSERT INTO made VALUES (1)"
        )
        run(owner, "public", make)
        found.stream.turn_until(lambda: "public.made" in found.stream.reasons())
        run(owner, "public", "ALTER TABLE made ALTER k DROP EXPRESSION")
        found.stream.turn_until(lambda: not found.stream.reasons())
        found.stream.catch_up(owner)
        assert not found.problems("public")


def test_a_session_that_alters_the_publication_is_not_waited_for(
    server: PostgresServer, tmp_path: Path
) -> None:
    with mirrored(server, tmp_path, ["public"]) as (found, owner):
        stream = found.stream
        alter = f"ALTER PUBLICATION {stream.settings.slot} SET (publish = 'insert')"
        run(owner, "public", alter)
        with connected(stream.settings.url) as other:
            other.execute(f"BEGIN; {alter}".encode())
            run(owner, "public", "UPDATE t SET a = 'lost'")
            ends = time.monotonic() + 2.0
            stream.turn_until(lambda: time.monotonic() > ends)
        stream.turn_until(lambda: not found.problems("public") and not stream.reasons())


def test_a_table_that_is_locked_at_a_start_is_taken_in_later(
    server: PostgresServer, tmp_path: Path
) -> None:
    with prepared(server, tmp_path, ["public"]) as (stream, owner):
        with stream.open():
            stream.catch_up(owner)
        run(owner, "public", "CREATE TABLE made (id int PRIMARY KEY); INSERT INTO made VALUES (1)")
        with connected(stream.settings.url) as other:
            other.execute("BEGIN; LOCK TABLE made IN SHARE UPDATE EXCLUSIVE MODE")
            with stream.open():
                stream.catch_up(owner)
                assert "public.made" in stream.reasons()
                other.execute("ROLLBACK")
                stream.turn_until(lambda: not stream.reasons())
                stream.catch_up(owner)
                assert not Changed(stream, Source(owner)).problems("public")


def _dies_before_the_second_document(inner: FileStore) -> FileStore:
    written = 0

    def die(call: Call) -> None:
        nonlocal written
        written += call.method == "write" and "streams" in str(call.path)
        if written > 1:
            raise Killed(call)

    return WatchedStore(inner, die)


def test_a_table_comes_once_its_schema_may_be_used(server: PostgresServer, tmp_path: Path) -> None:
    (tmp_path / _ZONE).mkdir(parents=True)
    with server.database("rights") as url, connected(url) as owner:
        make_marks(owner)
        owner.execute("CREATE SCHEMA closed; CREATE TABLE closed.t (id int PRIMARY KEY)")
        owner.execute("INSERT INTO closed.t VALUES (1)")
        with as_reader(StreamSettings(url=url, stream="rights"), owner) as settings:
            owner.execute(f"CREATE PUBLICATION {settings.slot} FOR ALL TABLES".encode())
            owner.execute(f"GRANT SELECT ON public.marks, closed.t TO {settings.url.user}".encode())
            stream = DrivenStream(LocalStore(tmp_path), _ZONE, settings)
            with stream.open():
                stream.catch_up(owner)
                assert "may not read" in stream.reasons()["closed.t"]
                owner.execute(f"GRANT USAGE ON SCHEMA closed TO {settings.url.user}".encode())
                stream.turn_until(lambda: stream.landed_files(TablePath("closed", "t")) == 1)


def test_a_table_goes_on_once_a_column_that_cannot_be_read_is_gone(
    server: PostgresServer, tmp_path: Path
) -> None:
    with mirrored(server, tmp_path, ["public"]) as (found, owner):
        stream = found.stream
        run(owner, "public", "ALTER TABLE t ADD r regclass; UPDATE t SET r = 't'::regclass")
        stream.turn_until(lambda: "public.t" in stream.reasons())
        stream.catch_up(owner)
        assert "regclass" in stream.reasons()["public.t"]
        time.sleep(0.3)  # until a reading has it as it stopped
        stream.turn()
        run(owner, "public", "ALTER TABLE t DROP r; UPDATE t SET a = 'goes on'")
        stream.turn_until(lambda: not stream.reasons())
        stream.catch_up(owner)
        assert not found.problems("public")
