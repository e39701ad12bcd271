"""The command line over a local root, drained by an engine that only keeps the books."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from openmirror import wiring
from openmirror.cli.app import app
from openmirror.protocol.names import TableFolder
from openmirror.stores.local.store import LocalStore
from openmirror.table import layout
from tests.harness.paper import PaperEngine
from tests.harness.publishing import land


def run(
    *words: str, root: Path | None = None, env: Mapping[str, str] | None = None, columns: int = 80
) -> Result:
    """One command, on a terminal that is so wide."""
    places = ["--root", str(root)] if root else []
    settings = {
        "COLUMNS": str(columns),
        "OPENMIRROR_METADATA_GRACE": "0",
        "OPENMIRROR_DROP_GRACE": "0",
        **(env or {}),
    }
    return CliRunner().invoke(app, [*words, *places], env=settings)


@dataclass
class Root:
    """A local root with one mirror."""

    path: Path

    @property
    def store(self) -> LocalStore:
        return LocalStore(self.path)

    def land(self, folder: TableFolder, *numbers: int) -> None:
        land(self.store, folder, *numbers)

    def folder(self, folder: TableFolder) -> Path:
        return self.path / layout.table_folder(folder)

    def put(self, folder: TableFolder, name: str, data: bytes) -> None:
        self.store.write(layout.join(layout.table_folder(folder), name), data)

    def run(self, *words: str, columns: int = 80) -> Result:
        return run(*words, root=self.path, columns=columns)

    def tables(self) -> list[Any]:
        data: list[Any] = json.loads(self.run("status", "--json").stdout)["data"]
        return data

    def table_status(self, name: str) -> Any:
        return next(entry for entry in self.tables() if entry["sourceTableName"] == name)

    def history(self, name: str) -> list[Any]:
        data: list[Any] = json.loads(self.run("history", name, "--json").stdout)["data"]
        return data


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Root:
    """A root with the mirror `m`, whose tables are on paper."""
    made = Root(tmp_path / "root")
    (made.path / layout.landing_zone("m")).mkdir(parents=True)

    @contextmanager
    def engine(settings: object, say: object = None) -> Iterator[PaperEngine]:
        yield PaperEngine(made.store)

    monkeypatch.setattr(wiring, "local_engine", engine)
    return made
