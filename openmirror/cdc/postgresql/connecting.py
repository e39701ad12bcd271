"""Connections to a database, with every setting that changes what it sends fixed.

`ALTER ROLE`, `ALTER DATABASE` and the environment can set any of these; what is fixed here wins.
Text comes in the server's own encoding, because a conversion by the server fails as a whole for
one name or value that it cannot convert.
"""

from __future__ import annotations

import re
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import pq
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Loader
from psycopg.conninfo import make_conninfo
from psycopg.pq.abc import PGconn
from psycopg.rows import dict_row

from openmirror.cdc.postgresql.encodings import UnknownEncoding, codec_of, decoded
from openmirror.cdc.postgresql.settings import DatabaseUrl
from openmirror.errors import CannotStart

DatabaseConnection = psycopg.Connection[dict[str, Any]]

_FIXED = {
    "DateStyle": "ISO,YMD",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "bytea_output": "hex",
    # Every value above 0 means the shortest text that reads back as the same number.
    "extra_float_digits": "1",
    "lc_monetary": "C",
    "xmloption": "content",
    "xmlbinary": "base64",
    "search_path": "pg_catalog",
    "quote_all_identifiers": "off",
    "standard_conforming_strings": "on",
    "array_nulls": "on",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "idle_session_timeout": "0",
    "default_transaction_read_only": "off",
    "default_transaction_deferrable": "off",
    "default_transaction_isolation": "read committed",
    "row_security": "on",
    # A mark is repeated if a crash loses it, and must not wait for a standby.
    "synchronous_commit": "local",
    # Compiling a query over a large catalogue takes longer than running it.
    "jit": "off",
}
_FIXED_TO_SEND = {
    # A landing zone may be slow for longer than an operator's setting for standbys.
    "wal_sender_timeout": "60s",
}
_SECONDS_TO_CONNECT = 10
_KEEPALIVE = {
    # A connection that was cut without a word is noticed within half a minute.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
_TEXT_TYPES = ("text", "name", "varchar", "bpchar", '"char"')


class ServerAway(CannotStart):
    """The database does not answer, or not yet."""


@contextmanager
def connected(url: DatabaseUrl, application: str = "openmirror") -> Iterator[DatabaseConnection]:
    """Open a connection for a block; each statement is a transaction of its own.

    Errors of the database within the block are raised as `opened` raises its own.
    """
    try:
        with opened(url, application) as connection:
            yield connection
    except psycopg.Error as error:
        raise failure(url, error) from error


def opened(url: DatabaseUrl, application: str = "openmirror") -> DatabaseConnection:
    """Open a connection that the caller closes; each statement is a transaction of its own.

    Text is sent in the server's own encoding. Columns of text types are decoded; bytes that are no
    text become surrogates, which `is_unicode` shows. What COPY sends stays bytes.

    Raises:
        CannotStart: The database lets the user not in.
        ServerAway: The database does not answer.
    """
    try:
        connection = psycopg.connect(
            **_parameters(url, application, _FIXED), autocommit=True, row_factory=dict_row
        )
    except psycopg.Error as error:
        raise failure(url, error) from error
    try:
        connection.execute(_setting_statements(connection.pgconn))
    except psycopg.Error as error:
        connection.close()
        raise failure(url, error) from error
    # A prepared statement about a table fails once the table's definition has changed.
    connection.prepare_threshold = None
    for name in _TEXT_TYPES:
        connection.adapters.register_loader(name, _ServerText)
    return connection


def replication_connection(url: DatabaseUrl, application: str) -> PGconn:
    """Open a connection that can send the log, in non-blocking mode; the caller calls `finish`.

    Raises:
        CannotStart: The database lets the user not in, or not as a reader of its log.
        ServerAway: The database does not answer.
    """
    given = _parameters(url, application, _FIXED | _FIXED_TO_SEND)
    connection = pq.PGconn.connect_start(make_conninfo(**given, replication="database").encode())
    try:
        _wait_connected(url, connection)
        _set_rest(url, connection)
        connection.nonblocking = 1
    except BaseException:
        connection.finish()
        raise
    return connection


def failure(url: DatabaseUrl, error: psycopg.Error | str) -> CannotStart:
    """Return what to raise for an error of the database: a CannotStart with its remedy."""
    words = " ".join(str(error).split()) or type(error).__name__
    remedy = next((then for sign, then in _REMEDIES if re.search(sign, words)), None)
    kind = ServerAway if remedy == _START_IT else CannotStart
    return kind(
        f"{url} cannot be read: {words.rstrip('.')}. {remedy or 'Correct this, and begin again'}"
    )


class _ServerText(Loader):
    """Text of the server's own encoding; bytes that are no text become surrogates."""

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        super().__init__(oid, context)
        assert self.connection is not None
        self._encoding = _text_encoding(self.connection.pgconn)

    def load(self, data: Buffer) -> str:
        return decoded(bytes(data), self._encoding, "surrogateescape")


def _parameters(url: DatabaseUrl, application: str, fixed: dict[str, str]) -> dict[str, Any]:
    return {
        "host": url.host,
        "port": url.port,
        "dbname": url.database,
        "user": url.user,
        "password": url.password or None,
        "connect_timeout": _SECONDS_TO_CONNECT,
        "application_name": application,
        # No conversion. The server's own encoding is not known before it answers.
        "client_encoding": "SQL_ASCII",
        "options": " ".join(f"-c {name}={_escaped(value)}" for name, value in fixed.items()),
        **_KEEPALIVE,
    }


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(" ", "\\ ")


def _set_rest(url: DatabaseUrl, connection: PGconn) -> None:
    result = connection.exec_(_setting_statements(connection))
    if result.status != pq.ExecStatus.COMMAND_OK:
        raise failure(url, _words(result.error_message))


def _setting_statements(connection: PGconn) -> bytes:
    """Return statements for what cannot be fixed while connecting.

    libpq sends PGDATESTYLE and PGTZ of the environment, and these win over `options`.
    """
    statements = ["SET DateStyle = ISO, YMD", "SET TimeZone = 'UTC'"]
    if _codec(connection):
        statements.append(f"SET client_encoding = '{_server_encoding(connection)}'")
    if connection.server_version >= 170000:
        statements.append("SET transaction_timeout = 0")
    return "; ".join(statements).encode()


def _codec(connection: PGconn) -> str | None:
    try:
        return codec_of(_server_encoding(connection))
    except UnknownEncoding:
        return None


def _text_encoding(connection: PGconn) -> str:
    """Return the server's encoding; UTF8 for one that cannot be read, whose database is refused."""
    return _server_encoding(connection) if _codec(connection) else "UTF8"


def _server_encoding(connection: PGconn) -> str:
    return (connection.parameter_status(b"server_encoding") or b"").decode()


def _wait_connected(url: DatabaseUrl, connection: PGconn) -> None:
    """Wait without the interpreter's lock, which libpq's own waiting would hold."""
    until = time.monotonic() + _SECONDS_TO_CONNECT
    while True:
        if connection.status == pq.ConnStatus.BAD:
            raise failure(url, _words(connection.error_message))
        state = connection.connect_poll()
        if state == pq.PollingStatus.OK:
            return
        if state == pq.PollingStatus.FAILED:
            raise failure(url, _words(connection.error_message))
        left = until - time.monotonic()
        if left <= 0:
            raise failure(url, "connection timeout expired")
        sockets = [connection.socket]
        reads = state == pq.PollingStatus.READING
        select.select(sockets if reads else [], [] if reads else sockets, [], left)


def _words(message: bytes | None) -> str:
    return (message or b"").decode(errors="replace")


_START_IT = "Start the server, or correct host and port"
_REMEDIES = (
    ("password authentication failed", "Correct the user or the password"),
    ("no password supplied", "Give the password, in the URL or in PGPASSWORD"),
    ("fe_sendauth", "Give the password, in the URL or in PGPASSWORD"),
    ("role .* does not exist", "Correct the user's name"),
    ("database .* does not exist", "Correct the database's name"),
    ("no pg_hba.conf entry", "Let this user in from this machine: pg_hba.conf, or the firewall"),
    ("too many (connections|clients)|remaining connection slots", "Raise max_connections"),
    (
        "must be (superuser or replication role|a member of|superuser) .*(WAL|walsender)"
        "|permission denied to start WAL sender",
        "Let the user read the log: ALTER ROLE … REPLICATION",
    ),
    ("exceeds max_wal_senders|max_wal_senders", "Raise max_wal_senders, which needs a restart"),
    (
        "refused|timeout expired|timed out|translate host|resolve host|No route|unreachable"
        "|starting up|shutting down|recovery mode|not (yet )?accepting|closed the connection"
        "|connection is lost|connection is closed|terminating connection|reset by peer"
        "|SSL SYSCALL|SSL error|could not (send|receive) data",
        _START_IT,
    ),
)
