"""The replication slot of a stream, and the server's timelines."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import psycopg
from psycopg import pq
from psycopg.pq.abc import PGconn, PGresult

from openmirror.cdc.postgresql.catalogue import OpenWriter
from openmirror.cdc.postgresql.connecting import DatabaseConnection, connected, failure, opened
from openmirror.cdc.postgresql.places import Lsn, parse_lsn
from openmirror.cdc.postgresql.settings import DatabaseUrl

_MAKE = "SELECT lsn::text AS lsn FROM pg_create_logical_replication_slot(%s, 'pgoutput')"
_MAKE_COPIED = """
    SELECT lsn::text AS lsn
    FROM pg_create_logical_replication_slot(%s, 'pgoutput', failover => true)
"""
_FAILOVER_FROM = 170000
_SECONDS_BETWEEN_CHECKS = 1.0
_SLOT = """
    SELECT active AS is_used, active_pid AS reader, coalesce(plugin, '') AS plugin,
        coalesce(database, '') AS database,
        coalesce(database = current_database(), false) AS is_own,
        coalesce(wal_status, '') AS state, confirmed_flush_lsn::text AS confirmed,
        pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn()
            ELSE pg_current_wal_lsn() END, restart_lsn)::bigint AS kept,
        coalesce(to_jsonb(s) ->> 'invalidation_reason',
            CASE WHEN (to_jsonb(s) ->> 'conflicting')::bool THEN 'conflict' END, '')
            AS invalidation,
        coalesce((to_jsonb(s) ->> 'failover')::bool, false) AS is_failover,
        coalesce((to_jsonb(s) ->> 'synced')::bool, false) AS is_synced
    FROM pg_replication_slots s WHERE slot_name = %s
"""
# The backend that makes a slot waits for one transaction after another.
_AWAITED = """
    SELECT h.transactionid::text AS transaction, h.pid, coalesce(p.gid, '') AS gid,
        coalesce(p.prepared, a.xact_start) AS since,
        coalesce(a.application_name, '') AS application
    FROM pg_locks w JOIN pg_locks h
        ON h.locktype = 'transactionid' AND h.transactionid = w.transactionid AND h.granted
    LEFT JOIN pg_stat_activity a ON a.pid = h.pid
    LEFT JOIN pg_prepared_xacts p ON h.pid IS NULL AND p.transaction = h.transactionid
    WHERE w.pid = %s AND w.locktype = 'transactionid' AND NOT w.granted
"""
_DISTRIBUTES = {14: 18, 15: 13, 16: 9, 17: 5}


@dataclass(frozen=True, kw_only=True)
class SlotFacts:
    """A replication slot."""

    is_used: bool
    reader: int | None
    """The process id of the backend that sends its log."""
    plugin: str
    database: str
    is_own: bool
    """Whether the slot is of the database that is asked."""
    state: str
    """`wal_status`: reserved, extended, unreserved or lost; empty where the server says nothing."""
    confirmed: Lsn | None
    """What was acknowledged: transactions that were committed before it are not sent again."""
    kept: int | None
    """Bytes of the log that the server keeps for it."""
    invalidation: str
    """Why the server will never send its log again; empty while it can. Known from 16 on."""
    is_failover: bool
    """Whether standbys may have a copy (from 17)."""
    is_synced: bool
    """Whether it is such a copy (from 17)."""

    @property
    def is_lost(self) -> bool:
        """Whether the server has thrown away what the slot needs."""
        return self.state == "lost" or bool(self.invalidation)


@dataclass(frozen=True)
class SystemFacts:
    """The server, as a replication connection says it."""

    system: str
    """The system identifier: another one for every `initdb`."""
    timeline: int
    position: Lsn
    """The end of the log on its disk."""


def ask_slot(connection: DatabaseConnection, slot: str) -> SlotFacts | None:
    """Return a slot's facts; None where there is none of this name."""
    row = connection.execute(_SLOT, (slot,)).fetchone()
    if row is None:
        return None
    confirmed = row["confirmed"]
    return SlotFacts(**{**row, "confirmed": None if confirmed is None else parse_lsn(confirmed)})


def slot_size(url: DatabaseUrl, slot: str) -> int | None:
    """Return the bytes of the log that the server keeps for a slot; None where there is none.

    Raises what `connected` does.
    """
    with connected(url) as connection:
        found = ask_slot(connection, slot)
    return None if found is None else found.kept


def make_slot(
    url: DatabaseUrl,
    slot: str,
    *,
    on_wait: Callable[[Sequence[OpenWriter]], None],
    should_stop: Callable[[], bool],
) -> Lsn | None:
    """Make a slot, and return where it begins; None where the caller stopped it.

    The server waits for every transaction of all its databases that has written and is open.
    Whatever commits after the returned LSN is sent. A slot of version 17 or later is copied to
    standbys that synchronize slots.

    Args:
        on_wait: Is informed about once a second what the server waits for.
        should_stop: Is asked about once a second whether to give up; no slot is left then.

    Raises:
        CannotStart: The server refuses.
    """
    with opened(url, slot) as connection, opened(url, slot) as beside:
        making = _Making(connection, slot)
        making.start()
        while not making.wait(_SECONDS_BETWEEN_CHECKS):
            if should_stop():
                making.cancel()
            else:
                on_wait(_awaited(beside, connection.info.backend_pid))
        return making.outcome(url)


def drop_slot(connection: DatabaseConnection, slot: str) -> None:
    """Drop a slot, if it is there. Raises psycopg's ObjectInUse while a process reads it."""
    connection.execute(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s",
        (slot,),
    )


def must_reconnect(version: int) -> bool:
    """Whether a sender does not notice a publication's new table while transactions are open.

    Later versions report open transactions of the change. `version` is `server_version_num`.
    """
    return version % 10000 < _DISTRIBUTES.get(version // 10000, 0)


def identify_system(url: DatabaseUrl, connection: PGconn) -> SystemFacts:
    """Ask a replication connection which server it is of. Raises CannotStart."""
    result = _answer(url, connection, b"IDENTIFY_SYSTEM")
    system, timeline, position = (_cell(result, number).decode() for number in range(3))
    return SystemFacts(system, int(timeline), parse_lsn(position))


def timeline_history(url: DatabaseUrl, connection: PGconn, timeline: int) -> Mapping[int, Lsn]:
    """Return where each timeline before this one ended. Raises CannotStart."""
    if timeline <= 1:
        return {}
    result = _answer(url, connection, f"TIMELINE_HISTORY {timeline}".encode())
    return timeline_switches(_cell(result, 1).decode("utf-8", "replace"))


def timeline_switches(content: str) -> Mapping[int, Lsn]:
    """Read a timeline's history file: where each timeline before it ended.

    Raises ValueError for a line that is no entry of such a file.
    """
    lines = (line.partition("#")[0].split() for line in content.splitlines())
    return {int(words[0]): parse_lsn(words[1]) for words in lines if words}


class _Making:
    """A thread that makes a slot, which lasts for as long as other transactions do."""

    def __init__(self, connection: DatabaseConnection, slot: str) -> None:
        self._connection = connection
        self._slot = slot
        self._made: Lsn | None = None
        self._error: psycopg.Error | None = None
        self._is_cancelled = False
        self._thread = threading.Thread(target=self._work, name="replication slot", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def cancel(self) -> None:
        self._is_cancelled = True
        self._connection.cancel_safe(timeout=_SECONDS_BETWEEN_CHECKS * 10)

    def outcome(self, url: DatabaseUrl) -> Lsn | None:
        if self._is_cancelled and isinstance(self._error, psycopg.errors.QueryCanceled):
            return None
        if self._error is not None:
            raise failure(url, self._error)
        return self._made

    def _work(self) -> None:
        is_copied = self._connection.info.server_version >= _FAILOVER_FROM
        try:
            row = self._connection.execute(
                _MAKE_COPIED if is_copied else _MAKE, (self._slot,)
            ).fetchone()
            assert row is not None
            self._made = parse_lsn(row["lsn"])
        except psycopg.Error as error:
            self._error = error


def _awaited(connection: DatabaseConnection, pid: int) -> Sequence[OpenWriter]:
    return [OpenWriter(**row) for row in connection.execute(_AWAITED, (pid,))]


def _answer(url: DatabaseUrl, connection: PGconn, command: bytes) -> PGresult:
    result = connection.exec_(command)
    if result.status != pq.ExecStatus.TUPLES_OK:
        raise failure(url, result.error_message.decode("utf-8", "replace"))
    return result


def _cell(result: PGresult, column: int) -> bytes:
    return result.get_value(0, column) or b""
