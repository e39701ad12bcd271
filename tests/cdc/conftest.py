"""One PostgreSQL server for the whole run; an empty database for each test."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from openmirror.cdc.postgresql.settings import DatabaseUrl, StreamSettings
from standins.postgres import PostgresServer, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[DatabaseUrl]:
    with postgres.database(f"shop_{uuid4().hex[:8]}") as url:
        yield url


@pytest.fixture
def settings(database: DatabaseUrl) -> StreamSettings:
    # Slots are the server's, so that each test has one of its own.
    return StreamSettings(url=database, stream=database.database)
