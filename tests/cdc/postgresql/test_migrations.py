"""Ordinary migrations of a database that is mirrored: rows stay the source's, by themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from standins.postgres import postgres_server
from tests.cdc.postgresql.migrations_run import (
    Migration,
    MigrationsRun,
    migrated,
    read_migrations,
)

_ALL = read_migrations()
_FIGURES = {
    "column": (33, 12, 0),
    "constraint": (9, 0, 0),
    "data": (7, 0, 0),
    "enum": (8, 5, 1),
    "flow": (10, 2, 2),
    "index": (6, 0, 0),
    "key": (6, 3, 1),
    "rights": (4, 0, 1),
    "table": (25, 6, 12),
    "type": (24, 21, 0),
}
"""Migrations by kind: all, those that load a table again, and those by which a table comes. The
table of docs/SOURCES.md has these figures."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MigrationsRun]:
    root = tmp_path_factory.mktemp("migrations")
    with postgres_server() as server, migrated(server, root, _ALL) as found:
        yield found


@pytest.mark.parametrize("name", [one.name for one in _ALL])
def test_each_table_is_the_sources_after(run: MigrationsRun, name: str) -> None:
    assert not run.problems[name], "\n".join(run.problems[name])


def test_another_start_changes_nothing(run: MigrationsRun) -> None:
    assert not run.again


@pytest.mark.parametrize("one", _ALL, ids=lambda one: one.name)
def test_no_table_is_loaded_again_that_does_not_need_it(run: MigrationsRun, one: Migration) -> None:
    assert run.loaded[one.name] == one.loaded


def test_as_many_migrations_load_tables_again_as_is_documented(run: MigrationsRun) -> None:
    all_ = Counter(one.kind for one in _ALL)
    again = Counter(one.kind for one in _ALL if run.loaded[one.name])
    came = Counter(one.kind for one in _ALL if run.came[one.name])
    assert {kind: (all_[kind], again[kind], came[kind]) for kind in all_} == _FIGURES
