"""Connections to the test's own database."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from openmirror.cdc.postgresql.connecting import DatabaseConnection, connected
from openmirror.cdc.postgresql.settings import DatabaseUrl, StreamSettings
from standins.postgres import connected as as_owner


@pytest.fixture
def owner(database: DatabaseUrl) -> Iterator[psycopg.Connection]:
    """The superuser's connection to the database, each statement a transaction."""
    with as_owner(database) as connection:
        yield connection


@pytest.fixture
def reader(settings: StreamSettings) -> Iterator[DatabaseConnection]:
    """A connection as a stream has it."""
    with connected(settings.url, settings.slot) as connection:
        yield connection
