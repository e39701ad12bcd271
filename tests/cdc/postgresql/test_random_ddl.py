"""Random DDL amid random transactions: each table is its source, or is named, by seed.

A seed that fails prints what ran, and is run again by its number: `-m soak 'PATH::TEST[17]'`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import psycopg
import pytest

from openmirror.cdc.postgresql import gate
from openmirror.cdc.postgresql.connecting import connected as as_reader
from openmirror.cdc.postgresql.publication import harmed_tables
from openmirror.cdc.postgresql.reload_limits import ReloadLimits
from openmirror.cdc.postgresql.settings import StreamSettings
from openmirror.protocol.names import TablePath
from openmirror.protocol.streams import StopCode
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import landing_zone
from standins.postgres import PostgresServer, connected, postgres_server
from tests.cdc.postgresql.case_run import reason_of
from tests.cdc.postgresql.driven import DrivenStream, make_marks
from tests.cdc.postgresql.found_tables import COLUMNS, OTHER_SCHEMA, SCHEMA
from tests.cdc.postgresql.random_ddl import RandomDdl
from tests.cdc.postgresql.selected import Source, SourceTable
from tests.cdc.postgresql.test_random_history import DyingProcess
from tests.cdc.postgresql.twin_databases import Twins
from tests.harness.dying import Killed

_FEW = range(5)
_MANY = range(5, 505)
_ROUNDS = 3
_SETTINGS = {"max_prepared_transactions": "10", "autovacuum": "off"}
_NOTICED_WITHIN = 8.0
"""Seconds within which a change of the catalogue has to be mended or named."""
_GONE = frozenset({"id", "k", "n", "away", *(name.strip('"') for name in COLUMNS)})
"""Every name that a column ever has: Delta may keep a column that is gone."""
_FITS = """
    SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_index k ON k.indrelid = c.oid AND k.indisprimary AND k.indimmediate AND k.indisvalid
    WHERE n.nspname = %s AND c.relname = %s AND c.relkind = 'r' AND c.relpersistence = 'p'
        AND NOT c.relispartition AND c.relreplident IN ('d', 'f')
        AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid
            AND a.attnum = ANY (k.indkey) AND a.attgenerated <> '')
"""
"""Whether nothing of a table's definition keeps it from being mirrored."""
_WITH_SCHEMAS = """
    SELECT s.oid FROM pg_publication_namespace s JOIN pg_publication p ON p.oid = s.pnpubid
    WHERE p.pubname = %s
"""
_OF_VALUES = frozenset({StopCode.SOURCE_TYPE_UNSUPPORTED, StopCode.SOURCE_VALUE_INVALID})
"""Reasons that a table which fits may stop for."""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server(_SETTINGS) as started:
        yield started


@pytest.fixture(autouse=True)
def _reads_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "_SHARE", 0.0)


@dataclass
class Follower:
    """A stream that turns now and then while the database changes."""

    stream: DrivenStream
    random: Random
    is_dead: bool = False

    def follow(self, some_steps: Callable[[], None]) -> None:
        """Open the stream for some steps, unless it is killed."""
        self.is_dead = False
        with suppress(Killed), self.stream.open():
            some_steps()

    def turn(self) -> None:
        """Turn, or do not; the statement that follows does not wait for it."""
        stream = self.stream.stream
        if stream is None or self.is_dead or self.random.random() > 0.15:
            return
        try:
            if self.random.random() < 0.5:
                stream.turn()
            else:
                self.stream.turn()
        except Killed:
            self.is_dead = True


def _problems(stream: DrivenStream, connection: psycopg.Connection) -> list[str]:
    source, reasons, there = Source(connection), stream.reasons(), stream.document
    found = [f"{title} is published, so that its UPDATE is refused" for title in _harmed(stream)]
    found += [note for note in stream.notes if "begins anew" in note]
    for table in source.tables(SCHEMA):
        title, path = table.title, TablePath(table.schema, table.name)
        reason = reason_of(table, reasons)
        if reason is not None:
            stop = there.stopped.get(path)
            is_of_values = stop is not None and stop.stop.code in _OF_VALUES
            if not is_of_values and _fits(connection, table):
                found.append(f"{title} is left out, though it fits: {reason}")
            continue
        without = [
            name
            for name in source.columns(table.schema, table.name)
            if f"{title}.{name}" in reasons
        ]
        selected = source.select(table.schema, table.name, without=without)
        problems = stream.problems(path, selected, gone=_GONE)
        found += [f"{title}: {problem}" for problem in problems]
    return found


def _harmed(stream: DrivenStream) -> list[str]:
    """Return the tables whose UPDATE is refused; none while somebody has added whole schemas."""
    slot = stream.settings.slot
    with as_reader(stream.settings.url, slot) as reader:
        if reader.execute(_WITH_SCHEMAS, (slot,)).fetchone():
            return []
        return sorted(harmed_tables(reader, slot).values())


def _fits(connection: psycopg.Connection, table: SourceTable) -> bool:
    row = connection.execute(_FITS, (table.schema, table.name)).fetchone()
    assert row is not None
    return bool(row[0])


def _at_rest(stream: DrivenStream, connection: psycopg.Connection) -> list[str]:
    """Let an open stream catch up, and return what is wrong then."""
    ends = time.monotonic() + _NOTICED_WITHIN
    stream.catch_up(connection)
    while True:
        if stream.load_unavailable():
            stream.turn_until(lambda: bool(stream.document.resnapshots))
            stream.catch_up(connection)
        problems = _problems(stream, connection)
        if not problems or time.monotonic() > ends:
            return problems
        stream.catch_up(connection)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    "seed", [*_FEW, *(pytest.param(seed, marks=pytest.mark.soak) for seed in _MANY)]
)
def test_a_table_is_its_source_or_is_named(
    server: PostgresServer,
    tmp_path: Path,
    seed: int,
    record_property: Callable[[str, object], None],
) -> None:
    random = Random(seed)
    zone = landing_zone("random")
    (tmp_path / zone).mkdir(parents=True)
    with (
        server.database(f"mirrored_{seed}") as url,
        server.database(f"plain_{seed}") as other,
        connected(url) as connection,
        connected(other) as plain,
        connected(url) as asking,
    ):
        make_marks(connection)
        reloads = ReloadLimits(a_day=1000, at_once=8)
        settings = StreamSettings(url=url, stream=url.database, reloads=reloads)
        stream = DrivenStream(LocalStore(tmp_path), zone, settings)
        stream.wrapped = DyingProcess(Random(seed), random.choice((0.0, 0.0, 0.002, 0.02))).store
        follower = Follower(stream, random)
        twins = Twins(connection, plain)
        ddl = RandomDdl(Random(seed), twins, settings.slot, follower.turn)
        ddl.begin()
        try:
            _run(ddl, follower, random)
            _end_transactions(ddl, stream, asking)
        except BaseException as error:
            error.add_note("\n".join([f"seed {seed}", *twins.ran, *stream.notes[-20:]]))
            raise
        finally:
            # What ran, and what was refused for a moment because its table was published.
            for counts in (ddl.statements.counts, twins.counts, twins.refused):
                for name, many in counts.items():
                    record_property(name, many)


def _run(ddl: RandomDdl, follower: Follower, random: Random) -> None:
    """Change the database, with the stream open and closed."""

    def some_steps() -> None:
        for _ in range(random.randint(2, 10)):
            ddl.step()
            follower.turn()

    ddl.end()
    for _ in range(_ROUNDS):
        if follower.stream.stream is None and random.random() < 0.3:
            some_steps()
        slots = "SELECT FROM pg_replication_slots WHERE database = current_database()"
        if ddl.twins.mirrored.execute(slots.encode()).fetchone() is None:
            ddl.end()  # for which the stream would wait
        ddl.twins.ran.append("-- the stream is opened")
        follower.follow(some_steps)
        ddl.twins.ran.append("-- the stream is closed")


def _end_transactions(ddl: RandomDdl, stream: DrivenStream, asking: psycopg.Connection) -> None:
    """Compare once nothing changes any more, after more changes of rows, and after a start."""
    ddl.end()
    ddl.between = lambda: None
    stream.wrapped = lambda store: store
    ddl.twins.ran.append("-- the end")
    with stream.open():
        _need_none("at rest", _at_rest(stream, asking))
        ddl.changes(6)
        _need_none("after changes of rows", _at_rest(stream, asking))
    with stream.open():
        _need_none("after another start", _at_rest(stream, asking))
    _need_none("what only the mirrored database refused", ddl.twins.faults)


def _need_none(when: str, problems: list[str]) -> None:
    assert not problems, f"{when}:\n" + "\n".join(problems)


assert OTHER_SCHEMA.startswith(f"{SCHEMA}__"), "Source.tables finds both"
