"""Random types, rows and transactions: the log, the rows and `SELECT` say the same, by seed.

The stream is killed at any call of its store, and the server crashes now and then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import psycopg
import pytest

from openmirror.cdc.postgresql.settings import DatabaseUrl, StreamSettings
from openmirror.ports import FileStore
from openmirror.protocol.names import TablePath
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import landing_zone
from standins.postgres import PostgresServer, connected, postgres_server
from tests.cdc.postgresql.driven import DrivenStream, make_marks
from tests.cdc.postgresql.random_tables import SCHEMA, RandomTables
from tests.cdc.postgresql.selected import Source
from tests.harness.dying import Killed
from tests.harness.stores import Call, WatchedStore

SEEDS = 500
_ROUNDS = 6


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
    with postgres_server({"max_prepared_transactions": "10"}) as started:
        yield started


def _driven(root: Path, url: DatabaseUrl) -> DrivenStream:
    zone = landing_zone("random")
    (root / zone).mkdir(parents=True)
    return DrivenStream(LocalStore(root), zone, StreamSettings(url=url, stream="random"))


def _some_turns(stream: DrivenStream, random: Random, tables: RandomTables) -> None:
    """Turn a stream while its database changes, until that is over or the stream is killed."""
    with suppress(Killed), stream.open():
        for _ in range(random.randint(1, 6)):
            tables.transactions(random.randint(0, 6))
            stream.turn()


def _all_problems(stream: DrivenStream, connection: psycopg.Connection) -> list[str]:
    source, reasons = Source(connection), stream.reasons()
    found = [f"{name}: {reason}" for name, reason in reasons.items()]
    for table in source.tables(SCHEMA):
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
