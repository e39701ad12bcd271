"""Random DDL amid random changes of rows, by seed, in two databases at once.

One database is mirrored. The other one is not, and shows which statements PostgreSQL refuses by
itself. The generator keeps no model of rows or definitions: before each statement it asks the
catalogue of the second database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

import psycopg

from tests.cdc.postgresql.found_tables import (
    OTHER_SCHEMA,
    SCHEMA,
    FoundColumn,
    FoundTable,
    FoundTables,
)
from tests.cdc.postgresql.random_statements import Ddl, RandomStatements
from tests.cdc.postgresql.random_tables import TYPE_STATEMENTS
from tests.cdc.postgresql.twin_databases import Twins

_PREPARED_AT_ONCE = 2


@dataclass
class RandomDdl:
    """Changes both databases by a seed."""

    random: Random
    twins: Twins
    publication: str
    between: Callable[[], None] = lambda: None
    """Called between statements: the stream may turn."""
    _prepared: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: iter(range(1_000_000)))

    def __post_init__(self) -> None:
        self._there = FoundTables(self.random, self.twins.plain)
        self.statements = RandomStatements(self.random, self._there, self.publication)

    def begin(self) -> None:
        """Make types and tables, with some rows."""
        for connection in (self.twins.plain, self.twins.mirrored):
            connection.execute(f"CREATE SCHEMA {SCHEMA}; CREATE SCHEMA {OTHER_SCHEMA}".encode())
            self._prepare_connection(connection)
            connection.execute(TYPE_STATEMENTS.encode())
            connection.execute("CREATE SEQUENCE numbers; CREATE TYPE state AS ENUM ('sad', 'glad')")
        self._there.name_types()
        for _ in range(self.random.randint(2, 4)):
            self._apply(self.statements.create(), is_quiet=True)
        for _ in range(self.random.choice((3, 10, 30))):
            self._change_rows()

    def step(self) -> None:
        """Let one piece of DDL come amid changes of rows, in one of many ways."""
        if self._prepared and self.random.random() < 0.4:
            self._end_prepared()
        ddl = self.statements.chosen()
        if ddl is None:
            self._some_changes(3)
            return
        how = self.random.random()
        if ddl.is_alone or how < 0.3:
            self._apply(ddl)
            self._some_changes(3)
            if self.random.random() < 0.5:
                self._take_back(ddl)
        elif how < 0.5:
            # All of it between two readings of the catalogue.
            between, self.between = self.between, lambda: None
            self._apply(ddl)
            self._some_changes(2)
            self._take_back(ddl)
            self.between = between
        else:
            self._in_transaction(ddl)
        self._some_changes(2)

    def end(self) -> None:
        """Commit or roll back what is prepared."""
        while self._prepared:
            self._end_prepared()

    def changes(self, many: int) -> None:
        """Change rows alone."""
        for _ in range(many):
            self._change_rows()

    # How DDL comes.

    def _in_transaction(self, ddl: Ddl) -> None:
        twins = self.twins
        twins.begin()
        self._some_changes(2)
        if self.random.random() < 0.3:
            twins.savepoint("s")
            self._apply(ddl)
            self._some_changes(2)
            if self.random.random() < 0.6:
                twins.rollback_to("s")
        else:
            self._apply(ddl)
        self._some_changes(3)
        if self.random.random() < 0.2:
            self._take_back(ddl)
        elif (
            self.random.random() < 0.3 and (more := self.statements.chosen()) and not more.is_alone
        ):
            self._apply(more)
            self._some_changes(2)
        how = self.random.random()
        if how < 0.1 and len(self._prepared) < _PREPARED_AT_ONCE:
            name = f"{self.publication}_{next(self._numbers)}"
            if twins.prepare(name):
                self._prepared.append(name)
        else:
            twins.end("ROLLBACK" if how < 0.25 else "COMMIT")
        self.between()

    def _apply(self, ddl: Ddl, *, is_quiet: bool = False) -> None:
        for statement in ddl.statements:
            if statement.startswith("ALTER PUBLICATION"):
                self.twins.run_on_mirrored(statement)
            else:
                self.twins.run(statement, is_alone=ddl.is_alone)
            if not is_quiet:
                self.between()

    def _take_back(self, ddl: Ddl) -> None:
        self._apply(Ddl(ddl.inverse, is_alone=ddl.is_alone))

    def _some_changes(self, most: int) -> None:
        for _ in range(self.random.randint(0, most)):
            self._change_rows()
            self.between()

    def _end_prepared(self) -> None:
        name = self._prepared.pop(self.random.randrange(len(self._prepared)))
        self.twins.end_prepared(name, self.random.choice(("COMMIT", "COMMIT", "ROLLBACK")))

    # Changes of rows.

    def _change_rows(self) -> None:
        tables = self._there.tables()
        if not tables:
            return
        table = self.random.choice(tables)
        change = self.random.choice(
            (*(self._insert,) * 4, *(self._update,) * 3, self._delete, self._upsert)
        )
        statement = change(table)
        if statement is not None:
            self.twins.run(statement)

    def _insert(self, table: FoundTable) -> str:
        columns = [
            one
            for one in table.columns
            if not one.generated
            and one.identity != "a"
            and (one.is_key or not one.has_default or self.random.random() < 0.6)
        ]
        if not columns:
            return f"INSERT INTO {table.title} DEFAULT VALUES"
        names = ", ".join(one.name for one in columns)
        rows = ", ".join(
            "(" + ", ".join(self._value(one) for one in columns) + ")"
            for _ in range(self.random.choice((1, 1, 2, 3)))
        )
        return f"INSERT INTO {table.title} ({names}) VALUES {rows}"

    def _upsert(self, table: FoundTable) -> str | None:
        others = [one.name for one in table.others if not one.generated and one.identity != "a"]
        if not table.keys or not others:
            return None
        keys, name = ", ".join(table.keys), self.random.choice(others)
        return f"{self._insert(table)} ON CONFLICT ({keys}) DO UPDATE SET {name} = excluded.{name}"

    def _update(self, table: FoundTable) -> str | None:
        able = [one for one in table.columns if not one.generated and one.identity != "a"]
        able = [one for one in able if not one.is_key or self.random.random() < 0.4]
        if not able:
            return None
        chosen = self.random.sample(able, self.random.randint(1, min(3, len(able))))
        sets = ", ".join(f"{one.name} = {self._value(one)}" for one in chosen)
        return f"UPDATE {table.title} SET {sets} WHERE {self._some(table)}"

    def _delete(self, table: FoundTable) -> str:
        return f"DELETE FROM {table.title} WHERE {self._some(table)}"

    def _some(self, table: FoundTable) -> str:
        """Choose some rows, the same ones each time that a seed is used."""
        at, many = self.random.choice((0, 0, 1, 2, 5)), self.random.choice((1, 1, 2, 20))
        return (
            "(tableoid, ctid) IN (SELECT tableoid, ctid "
            f'FROM {table.title} AS "whole row" ORDER BY "whole row"::text COLLATE "C" '
            f"OFFSET {at} LIMIT {many})"
        )

    def _value(self, column: FoundColumn) -> str:
        if not column.is_required and not column.is_key and self.random.random() < 0.2:
            return "NULL"
        if column.name == "id" and column.type in ("integer", "bigint", "smallint"):
            return str(self.random.randint(1, 40))
        return self._there.value_of(column.type)

    def _prepare_connection(self, connection: psycopg.Connection) -> None:
        # A prepared transaction holds its locks until it ends.
        connection.execute(
            f"SET search_path = {SCHEMA}, public; SET lock_timeout = '50ms'".encode()
        )
