"""One COPY of rows in a short transaction that gives way to others.

A transaction of ours that touches a user's table ends within the time that the operator allows, and
cancels itself where another process waits for its lock. The rows that came until then are complete
up to the last of them, because they come in key order from one snapshot.

The order of statements matters. The lock comes before the first snapshot. A snapshot that was older
than a TRUNCATE would find the table empty, and one that was older than an ALTER TABLE could read
rows by a definition that they do not have any more.
"""

from __future__ import annotations

import select
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import psycopg
from psycopg import errors, pq

from openmirror.cdc.postgresql.catalogue import blocked_by, definition_of
from openmirror.cdc.postgresql.connecting import DatabaseConnection, opened
from openmirror.cdc.postgresql.definitions import Oid
from openmirror.cdc.postgresql.load_state import definition_facts
from openmirror.cdc.postgresql.ranges import KeyColumn, SourceRows
from openmirror.cdc.postgresql.settings import DatabaseUrl

_MOST_BYTES = 128 << 20
"""A COPY of more is cancelled; what came counts."""
_PIECE_BYTES = 8 << 20
_WATCH_EVERY = 0.25
_WAITS_TOO_LONG = 0.4
"""Seconds that another process waits for our lock before a COPY is cancelled."""
_LOCK_SECONDS = 0.5
_SECONDS_TO_CANCEL = 5.0
_KEY_COLUMNS = """
    WITH RECURSIVE bases (type, base) AS (
        SELECT a.atttypid, a.atttypid FROM pg_attribute a WHERE a.attrelid = %(table)s::oid
        UNION SELECT b.type, t.typbasetype FROM bases b JOIN pg_type t ON t.oid = b.base
        WHERE t.typtype = 'd'
    )
    SELECT a.attname AS name, format_type(b.base, -1) AS type, o.amopstrategy AS strategy,
        format('OPERATOR(%%I.%%s)', n.nspname, p.oprname) AS operator
    FROM pg_index i
    CROSS JOIN LATERAL unnest(i.indkey::int2[], i.indclass::oid[]) WITH ORDINALITY
        AS k (number, class, at)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
    JOIN bases b ON b.type = a.atttypid
    JOIN pg_type t ON t.oid = b.base AND t.typtype <> 'd'
    JOIN pg_opclass c ON c.oid = k.class
    JOIN pg_amop o ON o.amopfamily = c.opcfamily AND o.amoplefttype = c.opcintype
        AND o.amoprighttype = c.opcintype AND o.amoppurpose = 's'
    JOIN pg_operator p ON p.oid = o.amopopr
    JOIN pg_namespace n ON n.oid = p.oprnamespace
    WHERE i.indrelid = %(table)s::oid AND i.indisprimary
    ORDER BY k.at, o.amopstrategy
"""
_AT_MOST, _EQUAL, _AT_LEAST, _GREATER = 2, 3, 4, 5
"""Strategies of B-trees."""


class DefinitionChanged(Exception):
    """The table is not, or not any more, as it was when its load began."""


class LockBusy(Exception):
    """Another process holds the table's lock, or waits for it."""


class CopyCut(Enum):
    """Why a COPY was cancelled."""

    TIME = auto()
    WAITERS = auto()
    """Another process waited for our lock."""
    SIZE = auto()


@dataclass(frozen=True, kw_only=True)
class ExpectedTable:
    """The facts that a table must have at each range."""

    oid: Oid
    definition: Mapping[str, Any]
    storage: int | None
    """The file node; None before the first snapshot."""


@dataclass(frozen=True, kw_only=True)
class Copied:
    """Rows that one COPY sent, as lines of CSV in the server's encoding."""

    pieces: list[bytes]
    """Whole lines, many at once."""
    rows: int
    last: bytes
    """The last line; empty without rows."""
    storage: int
    """The table's file node."""
    seconds: float
    """How long the transaction lasted."""
    size: int
    cut: CopyCut | None
    """None for a COPY that sent all that it was asked for."""


class RowConnection:
    """The connection that copies rows, and one that watches who waits for it.

    Errors of the database are raised as psycopg's. After any of them, `close`: the next statement
    connects anew. Use it from one thread.
    """

    def __init__(self, url: DatabaseUrl, application: str, range_seconds: float) -> None:
        self._url = url
        self._application = application
        self._range_seconds = range_seconds
        self._connection: DatabaseConnection | None = None
        self._watcher: DatabaseConnection | None = None

    @property
    def main(self) -> DatabaseConnection:
        """The connection that copies; each statement is a transaction of its own."""
        if self._connection is None:
            self._connection = opened(self._url, self._application)
        return self._connection

    @property
    def encoding(self) -> str:
        """The server's encoding."""
        return (self.main.pgconn.parameter_status(b"server_encoding") or b"").decode()

    @property
    def is_lost(self) -> bool:
        """Whether a connection has failed, so that the server may have crashed."""
        return any(one is not None and one.broken for one in (self._connection, self._watcher))

    def close(self) -> None:
        """Close both connections."""
        for connection in (self._connection, self._watcher):
            if connection is not None:
                connection.close()
        self._connection = self._watcher = None

    def key_columns(self, oid: Oid) -> tuple[KeyColumn, ...]:
        """Return how a table's primary key is compared, in the order of the key's index."""
        found: dict[str, dict[str, str]] = {}
        for row in self.main.execute(_KEY_COLUMNS, {"table": oid}):
            one = found.setdefault(row["name"], {"type": row["type"]})
            one[str(row["strategy"])] = row["operator"]
        return tuple(
            KeyColumn(
                name=name,
                type=one["type"],
                greater=one[str(_GREATER)],
                equal=one[str(_EQUAL)],
                at_least=one[str(_AT_LEAST)],
                at_most=one[str(_AT_MOST)],
            )
            for name, one in found.items()
        )

    def copy(self, rows: SourceRows, expected: ExpectedTable, statement: bytes) -> Copied:
        """Copy rows in a transaction of their own.

        Args:
            rows: The table that is locked.
            expected: What the table must be.
            statement: A COPY of the table's rows.

        Raises:
            DefinitionChanged: The table is another one, or has another definition.
            LockBusy: The lock was not free in time.
        """
        begun = time.monotonic()
        with self._transaction(rows):
            storage = self._need(expected)
            watch = _Watch(self, begun + self._range_seconds)
            received, cut = self._copied(statement, watch)
        return Copied(
            pieces=[bytes(piece) for piece in received.pieces],
            rows=received.rows,
            last=bytes(received.last),
            storage=storage,
            seconds=time.monotonic() - begun,
            size=watch.size,
            cut=cut,
        )

    @contextmanager
    def _transaction(self, rows: SourceRows) -> Iterator[None]:
        main, milliseconds = self.main, int(self._range_seconds * 1000)
        try:
            main.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            # Index scans: a sort would read the whole table for each range.
            main.execute(
                "SET LOCAL row_security = off; SET LOCAL enable_seqscan = off;"
                "SET LOCAL enable_sort = off; SET LOCAL max_parallel_workers_per_gather = 0;"
                f"SET LOCAL lock_timeout = {int(_LOCK_SECONDS * 1000)};"
                f"SET LOCAL statement_timeout = {milliseconds};"
                f"SET LOCAL idle_in_transaction_session_timeout = {milliseconds}"
            )
            try:
                main.execute(rows.locking())
            except errors.LockNotAvailable as error:
                raise LockBusy(str(error)) from error
            except (errors.UndefinedTable, errors.InvalidSchemaName) as error:
                raise DefinitionChanged(str(error)) from error
            yield
        except BaseException:
            # A connection that was lost amid a COPY takes no statement, and its own error counts.
            with suppress(psycopg.Error):
                main.execute("ROLLBACK")
            raise
        # Nothing was written.
        main.execute("ROLLBACK")

    def _need(self, expected: ExpectedTable) -> int:
        found = definition_of(self.main, expected.oid)
        if found is None or definition_facts(found) != expected.definition:
            raise DefinitionChanged("its definition is another one")
        storage = self._storage(expected.oid)
        if expected.storage not in (None, storage):
            # ALTER TABLE … TYPE … USING can rewrite all rows and leave the definition as it was.
            raise DefinitionChanged("its rows were rewritten")
        return storage

    def _storage(self, oid: Oid) -> int:
        row = self.main.execute(
            "SELECT coalesce(pg_relation_filenode(%s::oid), 0)::bigint AS node", (oid,)
        ).fetchone()
        assert row is not None
        return int(row["node"])

    def _copied(self, statement: bytes, watch: _Watch) -> tuple[_Received, CopyCut | None]:
        connection, received = self.main.pgconn, _Received()
        connection.send_query(statement)
        while connection.flush():
            self._wait(watch, is_writing=True)
        result = self._result(watch)
        if result is None or result.status != pq.ExecStatus.COPY_OUT:
            self._end_of(result)
            return received, None
        while not received.take(connection):
            watch.size = received.size
            self._wait(watch)
            connection.consume_input()
        watch.size = received.size
        return received, self._ended(watch)

    def _ended(self, watch: _Watch) -> CopyCut | None:
        """Read what ends the COPY; return why it was cancelled, None where it was not."""
        try:
            self._end_of(self._result(watch))
        except errors.QueryCanceled:
            # By us, or by `statement_timeout`.
            return watch.cut or CopyCut.TIME
        return None

    def _result(self, watch: _Watch) -> pq.abc.PGresult | None:
        connection = self.main.pgconn
        while connection.is_busy():
            self._wait(watch)
            connection.consume_input()
        return connection.get_result()

    def _end_of(self, result: pq.abc.PGresult | None) -> None:
        """Read every further result, and raise the first error."""
        failed = None
        while result is not None:
            if failed is None and result.status == pq.ExecStatus.FATAL_ERROR:
                failed = errors.error_from_result(result)
            result = self.main.pgconn.get_result()
        if failed is not None:
            raise failed

    def _wait(self, watch: _Watch, *, is_writing: bool = False) -> None:
        """Wait for the server without the interpreter's lock, and watch who waits for us."""
        sockets = [self.main.pgconn.socket]
        select.select(sockets, sockets if is_writing else [], [], _WATCH_EVERY)
        if watch.is_due():
            watch.check()

    def cancel(self) -> None:
        """Cancel the statement that runs."""
        self.main.cancel_safe(timeout=_SECONDS_TO_CANCEL)

    def is_waited_for(self) -> bool:
        """Return whether another process has waited for our lock for too long."""
        if self._watcher is None:
            self._watcher = opened(self._url, self._application)
        return blocked_by(self._watcher, self.main.info.backend_pid, _WAITS_TOO_LONG)


class _Received:
    """Lines that have come."""

    def __init__(self) -> None:
        self.pieces: list[bytearray] = []
        self.rows = 0
        self.last: bytes | memoryview = b""
        self._full = 0

    @property
    def size(self) -> int:
        """Bytes of all lines."""
        return self._full + (len(self.pieces[-1]) if self.pieces else 0)

    def take(self, connection: pq.abc.PGconn) -> bool:
        """Take the lines that are there; return whether the COPY has ended."""
        get, rows, piece = connection.get_copy_data, 0, self._open()
        size, line = get(1)
        last = self.last
        while size > 0:
            piece += line
            last = line
            rows += 1
            if len(piece) >= _PIECE_BYTES:
                piece = self._open()
            size, line = get(1)
        self.last = last
        self.rows += rows
        return size < 0

    def _open(self) -> bytearray:
        """Return the piece that lines are added to; a full one is followed by another."""
        if not self.pieces or len(self.pieces[-1]) >= _PIECE_BYTES:
            self._full = self.size
            self.pieces.append(bytearray())
        return self.pieces[-1]


class _Watch:
    """Cancels one COPY in time."""

    def __init__(self, connection: RowConnection, until: float) -> None:
        self._connection = connection
        self._until = until
        self._checked_at = time.monotonic()
        self.size = 0
        """Bytes that have come."""
        self.cut: CopyCut | None = None

    def is_due(self) -> bool:
        """Return whether to check now; never again once the COPY is cancelled."""
        if self.cut is not None:
            return False
        now = time.monotonic()
        return now > self._until or now - self._checked_at > _WATCH_EVERY or self.size > _MOST_BYTES

    def check(self) -> None:
        """Cancel the COPY where it is too long, too large, or in somebody's way."""
        self._checked_at = time.monotonic()
        if self._checked_at > self._until:
            self.cut = CopyCut.TIME
        elif self.size > _MOST_BYTES:
            self.cut = CopyCut.SIZE
        elif self._connection.is_waited_for():
            self.cut = CopyCut.WAITERS
        if self.cut is not None:
            self._connection.cancel()


def is_lost(error: psycopg.Error) -> bool:
    """Return whether an error says that the connection has ended."""
    # Without a code, libpq itself failed; 08 is a connection's, 57P a server's that stops.
    code = error.sqlstate
    return code is None or code.startswith(("08", "57P"))
