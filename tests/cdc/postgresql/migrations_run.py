"""Ordinary migrations, all in one database that is mirrored while they run.

Each file of `migrations` has a schema of its own, and three parts: the tables as they were, the
migration, and writes of the application that comes with it.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from openmirror.cdc.postgresql.settings import StreamSettings
from openmirror.protocol.names import TablePath
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import landing_zone
from standins.postgres import PostgresServer, connected
from tests.cdc.postgresql.case_facts import run_sql
from tests.cdc.postgresql.driven import DrivenStream, make_marks
from tests.cdc.postgresql.selected import Source, SourceTable
from tests.zone import MIRROR

FOLDER = Path(__file__).parent / "migrations"
_PARTS = re.compile(r"^-- (?:before|migration|after)\n", re.MULTILINE)
_EXTENSIONS = ("hstore",)
"""Extensions that tables have before any migration."""
_NOTICED_WITHIN = 30.0
"""Seconds within which every table has to be the source's."""
Loads = Mapping[TablePath, str | None]


@dataclass(frozen=True)
class Migration:
    """One file."""

    name: str
    before: str
    change: str
    """The migration, and what the application writes behind it."""
    facts: Mapping[str, frozenset[str]]
    """Names of the file's head, by their kind."""

    @property
    def kind(self) -> str:
        """The kind of migration: the first word of its name."""
        return self.name.partition("_")[0]

    @property
    def loaded(self) -> frozenset[str]:
        """Tables that must be loaded again; no other one may be."""
        return self.facts.get("loaded", frozenset())

    @property
    def unfit(self) -> frozenset[str]:
        """Tables that no mirror can take."""
        return self.facts.get("unfit", frozenset())

    def left_out(self, table: str) -> list[str]:
        """Return the columns of a table that the server does not send."""
        named = (one.split(".") for one in self.facts.get("left out", ()))
        return [column for of, column in named if of == table]


def read_migrations() -> list[Migration]:
    """Read every file."""
    return [_read(path) for path in sorted(FOLDER.iterdir())]


def _read(path: Path) -> Migration:
    head, before, *change = _PARTS.split(path.read_text())
    facts = re.findall(r"^-- (loaded|unfit|left out): (.*)$", head, re.MULTILINE)
    return Migration(
        path.stem,
        before,
        "\n".join(change),
        {kind: frozenset(names.split(", ")) for kind, names in facts},
    )


@dataclass(frozen=True)
class MigrationsRun:
    """What came of the migrations."""

    problems: Mapping[str, list[str]]
    """What differs from the source, by migration."""
    loaded: Mapping[str, frozenset[str]]
    """Tables that were loaded again, by migration."""
    came: Counter[str]
    """How many tables came by a migration: made, renamed, or given a key."""
    again: Sequence[str]
    """Tables that another start has changed."""


@contextmanager
def migrated(
    server: PostgresServer, root: Path, migrations: Sequence[Migration]
) -> Iterator[MigrationsRun]:
    """Run migrations in a database of their own while its stream lands; then open it again."""
    zone = landing_zone(MIRROR)
    (root / zone).mkdir(parents=True)
    with server.database("migrations") as url, connected(url) as owner:
        make_marks(owner)
        for extension in _EXTENSIONS:
            owner.execute(f"CREATE EXTENSION {extension}".encode())
        run_sql(url, [_within(one, f"CREATE SCHEMA {one.name};", one.before) for one in migrations])
        stream = DrivenStream(LocalStore(root), zone, StreamSettings(url=url, stream="migrations"))
        run = _Run(stream, owner, migrations)
        with stream.open():
            stream.catch_up(owner)
            before = run.loads()
            changes = [_within(one, "", one.change) for one in migrations]
            with ThreadPoolExecutor(1) as beside:
                statements = beside.submit(run_sql, url, changes)
                stream.turn_until(statements.done)
            statements.result()
            source = Source(owner)  # knows the types that came
            ends = time.monotonic() + _NOTICED_WITHIN
            stream.catch_up(owner)
            while any((problems := run.problems(source)).values()) and time.monotonic() < ends:
                stream.catch_up(owner)
        after, files = run.loads(), run.files()
        with stream.open():
            stream.catch_up(owner)
        yield MigrationsRun(
            problems=problems,
            loaded={
                one.name: frozenset(
                    _shown(one, path)
                    for path, load in after.items()
                    if _is_of(one, path) and before.get(path) not in (None, load)
                )
                for one in migrations
            },
            came=Counter(
                one.name
                for one in migrations
                for path, load in after.items()
                if _is_of(one, path) and before.get(path) is None and load is not None
            ),
            again=sorted(str(path) for path, count in run.files().items() if files[path] != count),
        )


@dataclass
class _Run:
    stream: DrivenStream
    owner: psycopg.Connection
    migrations: Sequence[Migration]

    def paths(self) -> list[TablePath]:
        """Return the tables that the database has now."""
        source = Source(self.owner)
        return [
            TablePath(table.schema, table.name)
            for one in self.migrations
            for table in source.tables(one.name)
        ]

    def loads(self) -> Loads:
        """Return the newest load of each table."""
        return {path: self.stream.newest_load(path) for path in self.paths()}

    def files(self) -> Mapping[TablePath, int]:
        """Return how many files each table has."""
        return {path: self.stream.landed_files(path) for path in self.paths()}

    def problems(self, source: Source) -> dict[str, list[str]]:
        """Compare each table with its rows."""
        reasons = self.stream.reasons()
        return {
            one.name: [
                f"{table.title}: {problem}"
                for table in source.tables(one.name)
                for problem in self._of_table(one, source, table, reasons)
            ]
            for one in self.migrations
        }

    def _of_table(
        self, one: Migration, source: Source, table: SourceTable, reasons: Mapping[str, str]
    ) -> list[str]:
        path = TablePath(table.schema, table.name)
        if table.name in one.unfit:
            is_named = table.title in reasons or (table.root or "") in reasons
            return [] if is_named else ["is neither mirrored nor named"]
        if table.title in reasons:
            return [f"stopped, or left out: {reasons[table.title]}"]
        now = source.columns(path.schema, path.table)
        return self.stream.problems(
            path,
            source.select(path.schema, path.table, without=one.left_out(path.table)),
            # A column that the migration drops may stay in Delta.
            gone=set(re.findall(r"\w+", one.before + one.change)) - now,
        )


def _is_of(one: Migration, path: TablePath) -> bool:
    return path.schema == one.name or path.schema.startswith(f"{one.name}__")


def _shown(one: Migration, path: TablePath) -> str:
    """Return a table's name, with its schema where that is not the migration's."""
    return path.table if path.schema == one.name else f"{path.schema}.{path.table}"


def _within(one: Migration, first: str, statements: str) -> str:
    return f"{first} SET search_path = {one.name}, public;\n{statements}"
