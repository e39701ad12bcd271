"""Facts of tables, types and transactions, asked of a database while it is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any, Self

from openmirror.cdc.postgresql.connecting import DatabaseConnection
from openmirror.cdc.postgresql.definitions import (
    ColumnDefinition,
    Oid,
    ReplicaIdentity,
    TableDefinition,
    TypeFacts,
    TypeKind,
    Types,
)
from openmirror.cdc.postgresql.places import Lsn, parse_lsn

_TYPES = """
    SELECT t.oid::bigint AS oid, n.nspname AS schema, t.typname AS name, t.typtype::text AS kind,
        coalesce(e.oid, 0)::bigint AS element, t.typdelim::text AS delimiter,
        t.typbasetype::bigint AS base, t.typtypmod AS base_modifier,
        ARRAY(
            SELECT a.atttypid::bigint FROM pg_attribute a
            WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0
                AND NOT a.attisdropped
            UNION ALL SELECT r.rngsubtype::bigint FROM pg_range r WHERE r.rngtypid = t.oid
            UNION ALL SELECT r.rngtypid::bigint FROM pg_range r WHERE r.rngmultitypid = t.oid
        ) AS parts
    FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
    LEFT JOIN pg_type e ON e.oid = t.typelem AND e.typarray = t.oid
    WHERE t.oid = ANY(%s::bigint[]::oid[])
"""
# The key of a deferrable constraint says nothing of a row before the transaction's end, and
# PostgreSQL itself does not take it for the replica identity.
_TABLES = """
    SELECT c.oid::bigint AS oid, n.nspname AS schema, c.relname AS name,
        c.relreplident::text AS identity, a.attname AS column_name, a.attnum::int AS number,
        a.atttypid::bigint AS type, a.atttypmod AS modifier, NOT a.attnotnull AS nullable,
        a.attgenerated <> '' AS is_generated, a.attgenerated = 'v' AS is_virtual,
        coalesce(k.indexrelid, 0)::bigint AS key_index,
        coalesce((string_to_array(k.indkey::text, ' ')::int[])[1:k.indnkeyatts], '{}') AS keys,
        coalesce((string_to_array(r.indkey::text, ' ')::int[])[1:r.indnkeyatts], '{}')
            AS identity_keys
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_index k ON k.indrelid = c.oid AND k.indisprimary AND k.indimmediate
        AND k.indisvalid
    LEFT JOIN pg_index r ON r.indrelid = c.oid AND r.indisreplident AND c.relreplident = 'i'
    WHERE c.oid = ANY(%s::bigint[]::oid[]) AND c.relkind IN ('r', 'p')
    ORDER BY c.oid, a.attnum
"""
# VACUUM and ANALYZE hold SHARE UPDATE EXCLUSIVE for hours, and CREATE INDEX holds SHARE; neither
# writes rows. Whatever writes rows holds one of these modes until its transaction ends.
_WRITERS = """
    WITH RECURSIVE tables (oid) AS (
        SELECT unnest(%s::bigint[]::oid[])
        UNION SELECT i.inhrelid FROM pg_inherits i JOIN tables t ON i.inhparent = t.oid
    )
    SELECT DISTINCT coalesce(x.transactionid::text, l.virtualtransaction) AS transaction, l.pid,
        coalesce(p.gid, '') AS gid, coalesce(p.prepared, a.xact_start) AS since,
        coalesce(a.application_name, '') AS application
    FROM pg_locks l JOIN tables t ON l.relation = t.oid
    LEFT JOIN pg_locks x ON x.locktype = 'transactionid' AND x.granted
        AND x.virtualtransaction = l.virtualtransaction AND x.pid IS NOT DISTINCT FROM l.pid
    LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    LEFT JOIN pg_prepared_xacts p ON p.transaction = x.transactionid AND l.pid IS NULL
    WHERE l.locktype = 'relation' AND l.granted
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND l.mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock',
                     'AccessExclusiveLock')
      AND l.pid IS DISTINCT FROM pg_backend_pid()
"""
_BLOCKED = """
    SELECT coalesce(bool_or(
        %s = ANY(pg_blocking_pids(w.pid))
        AND clock_timestamp() - coalesce(w.waitstart, clock_timestamp()) >= %s * interval '1 s'
    ), false) AS is_blocked
    FROM pg_locks w WHERE NOT w.granted
"""
_HALF = 1 << 31
_WHOLE = 1 << 32


@dataclass(frozen=True)
class OpenWriter:
    """A transaction that may have written to a table and has not ended."""

    transaction: str
    """Its number, which stays when it is prepared and when the server restarts. A transaction that
    has no number yet has written nothing, and is called by its virtual one."""
    pid: int | None = field(compare=False)
    """The backend's process id; None for a prepared transaction."""
    gid: str = field(compare=False)
    """The name of a prepared transaction; empty for another one."""
    since: datetime | None = field(compare=False)
    """When it began, or was prepared; None where our user may not see it."""
    application: str = field(compare=False)

    def __str__(self) -> str:
        what = f"prepared transaction {self.gid!r}" if self.pid is None else f"pid {self.pid}"
        by = f" of {self.application}" if self.application else ""
        when = f", open since {self.since:%Y-%m-%d %H:%M:%S} UTC" if self.since else ""
        return f"{what}{by}{when}"


@dataclass(frozen=True)
class Snapshot:
    """Which transactions are visible; their numbers have 64 bits."""

    xmin: int
    """Every transaction below it is visible."""
    xmax: int
    """Neither this transaction nor a later one is visible."""
    open: frozenset[int]
    """Transactions between `xmin` and `xmax` that are not visible either."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read PostgreSQL's form, such as `10:20:10,14`. Raises ValueError for anything else."""
        xmin, xmax, open_ = text.split(":")
        return cls(int(xmin), int(xmax), frozenset(map(int, filter(None, open_.split(",")))))

    def sees(self, xid: int) -> bool:
        """Whether a committed transaction is visible; `xid` has the 32 bits that the log says."""
        wide = widened(xid, self.xmax)
        return wide < self.xmin or (wide < self.xmax and wide not in self.open)


def widened(xid: int, xmax: int) -> int:
    """Return the 64-bit number of a transaction of which the lower 32 bits are known.

    Args:
        xid: The lower 32 bits.
        xmax: A 64-bit number of the same time. PostgreSQL keeps every number in use within 2^31
            of each other.
    """
    wide = (xmax & ~(_WHOLE - 1)) | xid
    if wide - xmax > _HALF and wide >= _WHOLE:
        return wide - _WHOLE
    return wide + _WHOLE if xmax - wide > _HALF else wide


def types_of(connection: DatabaseConnection, oids: Iterable[Oid]) -> Types:
    """Return the types of these OIDs and all that they are made of; one that is gone is missing."""
    found: dict[Oid, TypeFacts] = {}
    asked: set[Oid] = set()
    wanted = set(oids) - {0}
    while wanted:
        asked |= wanted
        new = [_type_facts(row) for row in connection.execute(_TYPES, (sorted(wanted),))]
        found |= {one.oid: one for one in new}
        made_of = {part for one in new for part in (one.element, one.base, *one.parts)}
        wanted = made_of - asked - {0}
    return found


def definition_of(connection: DatabaseConnection, oid: Oid) -> TableDefinition | None:
    """Return one table as the catalogue has it; None for a table that is gone."""
    return definitions_of(connection, (oid,)).get(oid)


def definitions_of(
    connection: DatabaseConnection, oids: Collection[Oid]
) -> Mapping[Oid, TableDefinition]:
    """Return tables as the catalogue has them, all of one moment; one that is gone is missing."""
    rows = connection.execute(_TABLES, (sorted(oids),)).fetchall()
    by_table = groupby(rows, key=lambda row: row["oid"])
    return {oid: _definition(list(columns)) for oid, columns in by_table}


def open_writers(connection: DatabaseConnection, oids: Iterable[Oid]) -> frozenset[OpenWriter]:
    """Return the transactions that may have written to these tables or their children.

    Prepared transactions are among them; the transaction of `connection` itself is not.
    """
    rows = connection.execute(_WRITERS, (sorted(oids),))
    return frozenset(OpenWriter(**row) for row in rows)


def snapshot_now(connection: DatabaseConnection) -> Snapshot:
    """Return the snapshot that the connection's next statement sees, or its transaction sees."""
    row = connection.execute("SELECT pg_current_snapshot()::text AS now").fetchone()
    assert row is not None
    return Snapshot.parse(row["now"])


def emit_mark(connection: DatabaseConnection, prefix: str, content: str) -> Lsn:
    """Write a message into the log, and commit it unless a transaction is open.

    Returns where it stands. It comes in the stream at its transaction's place, to every reader of
    the log that asks for messages. It is on the server's disk before this returns.
    """
    row = connection.execute(
        "SELECT pg_logical_emit_message(true, %s, %s)::text AS lsn", (prefix, content)
    ).fetchone()
    assert row is not None
    return parse_lsn(row["lsn"])


def blocked_by(connection: DatabaseConnection, pid: int, seconds: float = 0.0) -> bool:
    """Whether another process has waited so long for a lock that the backend `pid` holds."""
    row = connection.execute(_BLOCKED, (pid, seconds)).fetchone()
    assert row is not None
    return bool(row["is_blocked"])


def _type_facts(row: Mapping[str, Any]) -> TypeFacts:
    return TypeFacts(**{**row, "kind": TypeKind(row["kind"]), "parts": tuple(row["parts"])})


def _definition(rows: list[dict[str, Any]]) -> TableDefinition:
    table = rows[0]
    columns = [_column(row) for row in rows if row["number"] is not None]
    names = {column.number: column.name for column in columns}
    return TableDefinition(
        oid=table["oid"],
        schema=table["schema"],
        name=table["name"],
        identity=ReplicaIdentity(table["identity"]),
        columns=tuple(columns),
        keys=tuple(names[number] for number in table["keys"]),
        key_index=table["key_index"],
        identity_index_keys=tuple(names[number] for number in table["identity_keys"]),
    )


def _column(row: Mapping[str, Any]) -> ColumnDefinition:
    return ColumnDefinition(
        name=row["column_name"],
        number=row["number"],
        type=row["type"],
        modifier=row["modifier"],
        nullable=row["nullable"],
        is_generated=row["is_generated"],
        is_virtual=row["is_virtual"],
    )
