"""Random transactions in a MariaDB database, with what makes a stream of them hard to follow."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import pymysql

MARIADB_TABLES = {"orders": ("id",), "order_lines": ("order_id", "no"), "kinds": ("id",)}

_DDL = (
    "CREATE TABLE orders (id BIGINT PRIMARY KEY, text VARCHAR(40), price DECIMAL(12, 3), "
    "at DATETIME(6), changed TIMESTAMP(3) NULL, large LONGTEXT)",
    "CREATE TABLE order_lines (order_id INT UNSIGNED, no SMALLINT, ok BOOLEAN, day DATE, "
    "ratio DOUBLE, data VARBINARY(20), PRIMARY KEY (order_id, no))",
    "CREATE TABLE kinds (id BIGINT UNSIGNED PRIMARY KEY, tiny TINYINT UNSIGNED, "
    "wide DECIMAL(50,2), flag BIT(1), year YEAR, kind ENUM('a', 'ü'), kinds SET('x', 'y'), "
    "doc JSON, fixed CHAR(5), blank BINARY(4), span TIME(6), uuid UUID)",
    "CREATE TABLE marks (id INT PRIMARY KEY)",
)


@dataclass
class MariaDbWorkload:
    """Changes a database by a seed."""

    random: Random
    connection: pymysql.Connection[Any]
    marks: int = 0
    columns: int = 0

    def begin(self) -> None:
        """Make the tables, with some rows."""
        for statement in _DDL:
            self._execute(statement)
        for number in range(20):
            self._upsert(number)

    def transactions(self, many: int) -> None:
        """Commit, or roll back, so many."""
        for _ in range(many):
            self.connection.begin()
            for _ in range(self.random.randint(1, 8)):
                self._change()
            if self.random.random() < 0.1:
                self.connection.rollback()
            else:
                self.connection.commit()

    def mark(self) -> int:
        """Commit a row behind everything before."""
        self.marks += 1
        self._execute("INSERT INTO marks VALUES (%s)", self.marks)
        return self.marks

    def add_column(self) -> None:
        """A nullable column without a default, which needs no new snapshot."""
        self.columns += 1
        self._execute(f"ALTER TABLE orders ADD COLUMN more_{self.columns} INT")

    def fill_column(self) -> None:
        """A column whose value for old rows has no event; then a change that shows it."""
        self.columns += 1
        number = self.columns
        self._execute(f"ALTER TABLE orders ADD COLUMN filled_{number} INT DEFAULT {number}")
        self._upsert(number)
        self._execute("UPDATE orders SET text = 'filled'")

    def empty(self) -> None:
        """A table loses all rows; it gets some again."""
        self._execute("TRUNCATE TABLE order_lines")
        self._lines(4)

    def _change(self) -> None:
        number = self.random.randint(0, 60)
        changes = (self._upsert, self._update, self._delete, self._move, self._lines, self._kinds)
        self.random.choice(changes)(number)

    def _upsert(self, number: int) -> None:
        self._execute(
            "INSERT INTO orders (id, text, price, at, changed, large) "
            "VALUES (%s, %s, %s / 1000, %s, %s, %s) ON DUPLICATE KEY UPDATE price = NULL",
            *(number, f"ü{number}", self.random.randint(-(10**9), 10**9)),
            *("2026-01-02 03:04:05.123456", "2026-07-01 00:00:00.5"),
            "x" * self.random.choice((0, 20_000)),
        )

    def _update(self, number: int) -> None:
        text = f"v{self.random.randint(0, 999)}"
        self._execute("UPDATE orders SET text = %s WHERE id >= %s", text, number)

    def _delete(self, number: int) -> None:
        self._execute("DELETE FROM orders WHERE id = %s", number)
        self._execute("DELETE FROM order_lines WHERE order_id = %s", number)

    def _move(self, number: int) -> None:
        self._execute(
            "UPDATE IGNORE orders SET id = id + 100 WHERE id IN (%s, %s)", number, number + 1
        )

    def _lines(self, number: int) -> None:
        for no in range(self.random.randint(1, 3)):
            self._execute(
                "INSERT INTO order_lines VALUES (%s, %s, TRUE, '2026-01-01', %s, x'00ff') "
                "ON DUPLICATE KEY UPDATE ok = NOT ok, ratio = -0.1",
                *(number + (1 << 31), no, 0.1 * no),
            )

    def _kinds(self, number: int) -> None:
        self._execute(
            "REPLACE INTO kinds VALUES (%s, 255, -12345678901234567890123456789012345678.91, "
            "%s, 2026, 'ü', 'x,y', '{\"a\": 1}', 'ab', x'01', '-838:59:59', UUID())",
            *((1 << 64) - 1 - number, self.random.choice((0, 1, None))),
        )

    def _execute(self, statement: str, *values: object) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values or None)
