"""Random types, rows and transactions: the log, the rows and `SELECT` say the same, by seed.

The stream is killed at any call of its store, and the server crashes now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import psycopg
import pytest

from openmirror.cdc.postgresql.settings import DatabaseUrl, StreamSettings
from openmirror.errors import OpenmirrorError
from openmirror.ports import FileStore
from openmirror.protocol.names import TablePath
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import landing_zone
from standins.postgres import PostgresServer, connected, postgres_server
from standins.postgres_versions import VERSIONS, programs_of
from tests.cdc.postgresql.driven import DrivenStream, make_marks
from tests.cdc.postgresql.random_tables import SCHEMA, RandomTables
from tests.cdc.postgresql.selected import Source
from tests.harness.dying import Killed
from tests.harness.stores import Call, WatchedStore

SEEDS = 500
_CRASHES = 30
_ROUNDS = 6
_SETTINGS = {"max_prepared_transactions": "10"}
_CRASHED = (psycopg.Error, OpenmirrorError, OSError)
"""What a crash of the server lets fail."""


class DyingProcess:
    """Kills a stream at a random call of its store; nothing that it began goes on after that."""

    def __init__(self, random: Random, chance: float) -> None:
        self._random = random
        self._chance = chance

    def store(self, inner: FileStore) -> FileStore:
        """Return the store of one more process."""
        dead = False

        def die(call: Call) -> None:
            nonlocal dead
            dead = dead or self._random.random() < self._chance
            if dead:
                raise Killed(call)

        return WatchedStore(inner, die, die)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server(_SETTINGS) as started:
        yield started


def _driven(root: Path, url: DatabaseUrl) -> DrivenStream:
    zone = landing_zone("random")
    (root / zone).mkdir(parents=True)
    return DrivenStream(LocalStore(root), zone, StreamSettings(url=url, stream="random"))


def _some_turns(
    stream: DrivenStream,
    random: Random,
    tables: RandomTables,
    between: Callable[[], None] = lambda: None,
) -> None:
    """Turn a stream while its database changes, until that is over or the stream is killed."""
    slots = "SELECT FROM pg_replication_slots WHERE database = current_database()"
    if tables.connection.execute(slots).fetchone() is None:
        tables.end()  # for which the stream would wait
    with suppress(Killed), stream.open():
        for _ in range(random.randint(1, 6)):
            tables.transactions(random.randint(0, 6))
            between()
            stream.turn()


def _all_problems(stream: DrivenStream, connection: psycopg.Connection) -> list[str]:
    source, reasons = Source(connection), stream.reasons()
    found = [f"{name}: {reason}" for name, reason in reasons.items()]
    # Nothing here makes that necessary: the slot stands where the stream has acknowledged.
    found += [note for note in stream.notes if "begins anew" in note]
    for table in (one.name for one in source.tables(SCHEMA)):
        selected = source.select(SCHEMA, table)
        if selected.rows or stream.landed_files(TablePath(SCHEMA, table)):
            problems = stream.problems(TablePath(SCHEMA, table), selected)
            found += [f"{table}: {problem}" for problem in problems]
    return found


@pytest.mark.soak
# A stream is killed in whichever of its threads calls the store.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_lands_is_what_the_tables_have(
    server: PostgresServer, tmp_path: Path, seed: int
) -> None:
    random = Random(seed)
    with server.database(f"random_{seed}") as url, connected(url) as connection:
        make_marks(connection)
        tables = RandomTables(Random(seed), connection)
        tables.begin()
        stream = _driven(tmp_path, url)
        dying = DyingProcess(random, random.choice((0.0, 0.005, 0.03)))
        stream.wrapped = dying.store
        for _ in range(_ROUNDS):
            _some_turns(stream, random, tables)
        tables.end()
        stream.wrapped = lambda store: store
        with stream.open():
            stream.catch_up(connection)
        if stream.load_unavailable():
            with stream.open():
                stream.catch_up(connection)
        problems = _all_problems(stream, connection)
        assert not problems, "\n".join(problems)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("version", VERSIONS)
def test_crashes_of_server_and_stream_lose_nothing(tmp_path: Path, version: str) -> None:
    with postgres_server(_SETTINGS, programs_of(version)) as server:
        for seed in range(_CRASHES):
            _crash(server, tmp_path / str(seed), seed)


def _crash(server: PostgresServer, root: Path, seed: int) -> None:
    """Follow one history through crashes of the server and kills of the stream."""
    random = Random(seed)
    with server.database(f"random_{seed}") as url:
        with connected(url) as connection:
            make_marks(connection)
            tables = RandomTables(random, connection, loses=random.random() < 0.5)
            tables.begin()
        stream = _driven(root, url)
        stream.wrapped = DyingProcess(random, random.choice((0.0, 0.01))).store
        for _ in range(_ROUNDS):
            connection = connected(url)
            tables.reconnected(connection)
            with suppress(*_CRASHED):
                _some_turns(stream, random, tables, lambda: _crashed(server, random))
            connection.close()
        stream.wrapped = lambda store: store
        with connected(url) as connection:
            tables.reconnected(connection)
            tables.end()
            with stream.open():
                stream.catch_up(connection)
            if stream.load_unavailable():
                with stream.open():
                    stream.catch_up(connection)
            problems = _all_problems(stream, connection)
    assert not problems, f"seed {seed}\n" + "\n".join(problems)


def _crashed(server: PostgresServer, random: Random) -> None:
    """Let the server crash now and then; what uses it fails then."""
    if random.random() < 0.25:
        server.stop("immediate")
        server.start()
