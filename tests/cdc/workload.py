"""Random transactions in a real database, with all that makes a stream hard to follow."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random

import psycopg

TABLES = {"orders": ("id",), "lines": ("order_id", "no"), "pages": ("id",)}

_DDL = """
CREATE TABLE orders (
    id bigint PRIMARY KEY, text text, price numeric(12, 3), at timestamptz, large text);
ALTER TABLE orders REPLICA IDENTITY FULL;
CREATE TABLE lines (
    order_id bigint, no int, ok boolean, day date, ratio float8, data bytea, doc jsonb,
    PRIMARY KEY (order_id, no));
CREATE TABLE pages (id bigint PRIMARY KEY, title text, body text, notes bytea);
-- Or it would be compressed so well that it stays in its row.
ALTER TABLE pages ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE TABLE log (line text);
CREATE TABLE marks (id int PRIMARY KEY);
"""
_LARGE = 20_000
"""Characters that PostgreSQL keeps beside the row, and leaves out of its log where it may."""


@dataclass
class Workload:
    """Changes a database by a seed."""

    random: Random
    connection: psycopg.Connection
    marks: int = 0
    columns: int = 0

    def begin(self) -> None:
        """Make the tables, with some rows."""
        self.connection.execute(_DDL)
        with self.connection.transaction():
            for number in range(20):
                self._insert_order(number)

    def transactions(self, many: int) -> None:
        """Commit, or roll back, so many."""
        for _ in range(many):
            with self.connection.transaction() as transaction:
                for _ in range(self.random.randint(1, 8)):
                    self._change()
                if self.random.random() < 0.1:
                    raise psycopg.Rollback(transaction)

    def mark(self) -> int:
        """Commit a row behind everything before."""
        self.marks += 1
        self.connection.execute("INSERT INTO marks VALUES (%s)", (self.marks,))
        return self.marks

    def add_column(self) -> None:
        """A nullable column without a default, which needs no new snapshot."""
        self.columns += 1
        self.connection.execute(f"ALTER TABLE orders ADD COLUMN more_{self.columns} int")  # type: ignore[call-overload]

    def empty(self) -> None:
        """Two tables lose all rows, amid others of one transaction; then a title is changed."""
        with self.connection.transaction():
            for number in range(3):
                self._pages(number)
            self.connection.execute("TRUNCATE lines, pages")
            self._pages(3)
            self._lines(4)
        self.connection.execute("UPDATE pages SET title = 'after'")

    def fill_column(self) -> None:
        """A column whose value for old rows has no event; then a change that shows it."""
        self.columns += 1
        with self.connection.transaction():
            self.connection.execute(
                f"ALTER TABLE orders ADD COLUMN filled_{self.columns} int DEFAULT {self.columns}"  # type: ignore[call-overload]
            )
            self._insert_order(self.columns)
            self.connection.execute("UPDATE orders SET text = 'filled'")

    @contextmanager
    def running(self) -> Iterator[None]:
        """Transactions of a connection of its own for as long as the block lasts."""
        over = threading.Event()

        def work() -> None:
            with psycopg.connect(
                self.connection.info.dsn, password=self.connection.info.password, autocommit=True
            ) as own:
                load = replace(self, random=Random(self.random.random()), connection=own)
                while not over.is_set():
                    load.transactions(1)
                    time.sleep(0.3)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _change(self) -> None:
        number = self.random.randint(0, 60)
        self.random.choice(
            (
                self._upsert_order,
                self._update,
                self._delete,
                self._move,
                self._swap,
                self._lines,
                self._copied,
                self._logged,
                self._pages,
                self._pages,
            )
        )(number)

    def _insert_order(self, number: int) -> None:
        large = "x" * self.random.choice((0, _LARGE)) + str(number)
        price = self.random.randint(-(10**9), 10**9)
        self.connection.execute(
            "INSERT INTO orders (id, text, price, at, large) "
            "VALUES (%s, %s, %s::numeric / 1000, to_timestamp(%s), %s) ON CONFLICT DO NOTHING",
            (number, f"ü{number}", price, self.random.randint(0, 2**31), large),
        )

    def _upsert_order(self, number: int) -> None:
        self._insert_order(number)
        self.connection.execute("UPDATE orders SET price = NULL WHERE id = %s", (number,))

    def _update(self, number: int) -> None:
        text = f"v{self.random.randint(0, 999)}"
        self.connection.execute("UPDATE orders SET text = %s WHERE id >= %s", (text, number))

    def _delete(self, number: int) -> None:
        self.connection.execute("DELETE FROM orders WHERE id = %s", (number,))
        self.connection.execute("DELETE FROM lines WHERE order_id = %s", (number,))

    def _move(self, number: int) -> None:
        self.connection.execute(
            "UPDATE orders SET id = id + 100 WHERE id = %s "
            "AND NOT EXISTS (SELECT FROM orders WHERE id = %s)",
            (number, number + 100),
        )

    def _swap(self, number: int) -> None:
        """Every moved row comes back, many of them in one statement."""
        self.connection.execute(
            "UPDATE orders a SET id = id - 100 WHERE id > 100 AND id <= %s "
            "AND NOT EXISTS (SELECT FROM orders b WHERE b.id = a.id - 100)",
            (number + 100,),
        )

    def _pages(self, number: int) -> None:
        """Updates of rows whose large values did not change: the log does not have them."""
        page, body = number % 12, str(number) * _LARGE
        notes = self.random.choice((None, b"\0" * number))
        self.connection.execute(
            "INSERT INTO pages VALUES (%s, 'new', %s, %s) ON CONFLICT (id) DO UPDATE "
            "SET title = 't' || %s, notes = excluded.notes",
            (page, body, notes, number),
        )
        if self.random.random() < 0.2:
            self.connection.execute(
                "UPDATE pages SET body = %s WHERE id = %s", (body[: _LARGE // 2], page)
            )
        if self.random.random() < 0.1:
            self.connection.execute("DELETE FROM pages WHERE id = %s", (page,))

    def _lines(self, number: int) -> None:
        for no in range(self.random.randint(1, 3)):
            self.connection.execute(
                "INSERT INTO lines VALUES (%s, %s, %s, %s::date + %s, %s, %s, %s) "
                "ON CONFLICT (order_id, no) DO UPDATE SET ok = NOT lines.ok, ratio = 'NaN'",
                (number, no, True, "2026-01-01", no, 0.1 * no, b"\0\xff", f'{{"n": {no}}}'),
            )

    def _copied(self, number: int) -> None:
        start = 1000 + self.random.randint(0, 10**6) * 100
        with self.connection.cursor().copy("COPY orders (id, text) FROM STDIN") as copy:
            for at in range(number):
                copy.write_row((start + at, "copied"))

    def _logged(self, number: int) -> None:
        """A table without a key, which must not be in anybody's way."""
        self.connection.execute("INSERT INTO log VALUES (%s)", (str(number),))
        self.connection.execute("UPDATE log SET line = line || '.' WHERE line = %s", (str(number),))
