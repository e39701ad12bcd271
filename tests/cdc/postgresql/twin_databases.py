"""Two databases in which the same statements run; one of them is mirrored."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass, field

import psycopg
from psycopg import errors

_PATIENCE = 5.0
"""Seconds for which a statement is tried again while the stream holds a lock that it needs."""
_SHOWN = 300
"""Characters of a statement that people are shown."""
_BY_PUBLICATION = {
    "55000": "replica identity|part of a publication",
    "42P10": "used in the publication",
    "0A000": "publication",
    "2BP01": "publication",
    "22023": "publication",
    "55006": "publication",
}
"""What the server may refuse while a table is published, and words of its message.

The stream takes a table whose UPDATE is refused out of its publication within seconds. Nothing can
be done about SET UNLOGGED, nor about a filter that somebody gave the publication.
"""


@dataclass
class Twins:
    """Two databases in which the same statements run."""

    mirrored: psycopg.Connection
    plain: psycopg.Connection
    refused: Counter[str] = field(default_factory=Counter)
    """How often a statement was refused because its table was published, by SQLSTATE."""
    counts: Counter[str] = field(default_factory=Counter)
    """How many statements ran, and how many were refused."""
    faults: list[str] = field(default_factory=list)
    """Statements that only the mirrored database refused, for a reason that is not allowed."""
    ran: list[str] = field(default_factory=list)
    """What ran, for people."""
    is_open: bool = False
    """Whether a transaction is open in both."""

    def begin(self) -> None:
        """Open a transaction."""
        self._both("BEGIN")
        self.is_open = True

    def end(self, how: str) -> None:
        """End the transaction: `COMMIT` or `ROLLBACK`."""
        self.is_open = False
        self._both(how)

    def prepare(self, name: str) -> bool:
        """Prepare the transaction; return whether that was possible."""
        self.is_open = False
        done = []
        for which, connection in (("p", self.plain), ("m", self.mirrored)):
            try:
                connection.execute(f"PREPARE TRANSACTION '{which}_{name}'".encode())
                done.append(True)
            except psycopg.Error:
                done.append(False)
        self.ran.append(f"PREPARE TRANSACTION '{name}' {done}")
        assert len(set(done)) == 1, self.ran[-5:]
        return done[0]

    def end_prepared(self, name: str, how: str) -> None:
        """Commit or roll back what was prepared."""
        for which, connection in (("p", self.plain), ("m", self.mirrored)):
            connection.execute(f"{how} PREPARED '{which}_{name}'".encode())
        self.ran.append(f"{how} PREPARED '{name}'")

    def savepoint(self, name: str) -> None:
        """Begin a part of the transaction that may be rolled back."""
        self._both(f"SAVEPOINT {name}")

    def rollback_to(self, name: str) -> None:
        """Roll a part of the transaction back."""
        self._both(f"ROLLBACK TO {name}")

    def run(self, statement: str, *, is_alone: bool = False) -> bool:
        """Run a statement in both; in neither where one refuses it. Return whether it ran."""
        if is_alone:
            return self._alone(statement)
        is_inner = self.is_open
        for connection in (self.plain, self.mirrored):
            connection.execute("SAVEPOINT own" if is_inner else "BEGIN")
        refused = _refusal(self.plain, statement)
        if refused is None:
            refused = self._on_mirrored(statement, is_inner=is_inner)
        self.counts["ran" if refused is None else f"not run: {refused.sqlstate}"] += 1
        if refused is None:
            for connection in (self.plain, self.mirrored):
                connection.execute("RELEASE own" if is_inner else "COMMIT")
            self.ran.append(statement[:_SHOWN])
        else:
            for connection in (self.plain, self.mirrored):
                connection.execute("ROLLBACK TO own" if is_inner else "ROLLBACK")
            self.ran.append(f"-- {refused.sqlstate} {str(refused)[:90]!r}: {statement[:_SHOWN]}")
        return refused is None

    def run_on_mirrored(self, statement: str) -> None:
        """Run a statement about the publication, which may refuse it."""
        self.mirrored.execute("SAVEPOINT own" if self.is_open else "BEGIN")
        refused = _refusal(self.mirrored, statement)
        if refused is None:
            self.mirrored.execute("RELEASE own" if self.is_open else "COMMIT")
        else:
            self.mirrored.execute("ROLLBACK TO own" if self.is_open else "ROLLBACK")
        self.ran.append(f"{statement}{'' if refused is None else f' -- {refused}'}")

    def _alone(self, statement: str) -> bool:
        is_refused = False
        for connection in (self.plain, self.mirrored):
            refused = _refusal(connection, statement)
            is_refused = is_refused or refused is not None
        self.ran.append(f"{'-- ' if is_refused else ''}{statement}")
        return not is_refused

    def _on_mirrored(self, statement: str, *, is_inner: bool) -> psycopg.Error | None:
        ends = time.monotonic() + _PATIENCE
        while True:
            refused = _refusal(self.mirrored, statement)
            if refused is None:
                return None
            if isinstance(refused, errors.LockNotAvailable) and time.monotonic() < ends:
                self.refused["lock"] += 1
                self.mirrored.execute("ROLLBACK TO own" if is_inner else "ROLLBACK")
                self.mirrored.execute("SAVEPOINT own" if is_inner else "BEGIN")
                time.sleep(0.02)
                continue
            state = refused.sqlstate or ""
            if isinstance(refused, errors.LockNotAvailable) and self._has_prepared():
                # Only the mirrored database reads the definition again, and waits for its lock.
                self.refused["lock of a prepared transaction"] += 1
            elif re.search(_BY_PUBLICATION.get(state, "$^"), str(refused)):
                self.refused[state] += 1
            else:
                self.faults.append(f"{state} {refused}: {statement}")
            return refused

    def _has_prepared(self) -> bool:
        query = "SELECT FROM pg_prepared_xacts WHERE database = current_database()"
        return self.plain.execute(query).fetchone() is not None

    def _both(self, statement: str) -> None:
        self.ran.append(statement)
        for connection in (self.plain, self.mirrored):
            connection.execute(statement.encode())


def _refusal(connection: psycopg.Connection, statement: str) -> psycopg.Error | None:
    try:
        connection.execute(statement.encode())
    except psycopg.Error as error:
        return error
    return None
