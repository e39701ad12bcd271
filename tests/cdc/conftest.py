"""One PostgreSQL server for the whole run; an empty database for each test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from openmirror.cdc.capture.jars import capture_class_path
from openmirror.cdc.capture.settings import CaptureSettings, DatabaseUrl
from openmirror.spark.jars import default_cache
from standins.postgres import PostgresServer, postgres_server
from tests.harness.jvm import quick_embedded


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in quick_embedded(os.environ).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[DatabaseUrl]:
    with postgres.database(f"shop_{uuid4().hex[:8]}") as url:
        yield url


@pytest.fixture
def settings(database: DatabaseUrl, tmp_path: Path) -> CaptureSettings:
    return CaptureSettings(
        url=database,
        stream="shop",
        spool=tmp_path / "spool",
        class_path=capture_class_path(default_cache(), lambda line: None),
        heartbeat_seconds=0.5,
    )
