"""What a batch of change records says: what the decoder gives, and the relay takes."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.protocol.names import TablePath
from openmirror.protocol.schema import ColumnType
from openmirror.protocol.streams import Offset, StopReason

CONTROL = pa.schema(
    [
        pa.field("__offset", pa.int64(), nullable=False),
        # c(reate), r(ead by a snapshot), u(pdate), d(elete), t(runcate)
        pa.field("__op", pa.string(), nullable=False),
        # As the envelope's source says it: first, true, last, incremental, false …
        pa.field("__snapshot", pa.string()),
        pa.field("__transaction", pa.string()),
        # The source's own place, which compares number by number: PostgreSQL has [LSN of the last
        # commit before, or -1; LSN], MySQL and MariaDB [log file; place in it; row of the event],
        # SQL Server the three parts of the commit's LSN, Oracle the commit's SCN.
        pa.field("__position", pa.list_(pa.int64())),
        # Which change of a transaction it is, where the position is that of its commit: SQL Server
        # has [the change's LSN; serial number], Oracle [number in the transaction]. It need not
        # grow from change to change, but no two changes of a key have the same.
        pa.field("__within", pa.list_(pa.int64())),
        pa.field("__key", pa.string()),
        # newkey: a delete whose row goes on under another key, in the next record; oldkey: that one
        pa.field("__pair", pa.string()),
        # A JSON list of the columns that the source's log does not have: large, and not changed
        pa.field("__absent", pa.string()),
        pa.field("__ts_us", pa.int64()),
    ]
)
"""The columns that stand before a table's own, in the order of the offsets.

`__key` is the key's JSON as it came, by which keys differ. No column of a table may begin so.
"""


@dataclass(frozen=True, order=True)
class SourceTable:
    """A table as its database calls it."""

    database: str
    schema: str
    """Empty for databases that have none."""
    table: str
    lands_as: TablePath | None = field(default=None, compare=False)
    """Where it lands, if not under its own name."""

    @property
    def own_name(self) -> str:
        """`schema.table`; of a database without schemas, its name stands for one."""
        return f"{self.schema or self.database}.{self.table}"

    @property
    def path(self) -> TablePath:
        """The folder that it lands in."""
        return self.lands_as or TablePath(self.schema or self.database, self.table)

    @property
    def origin(self) -> str:
        """What no other table that lands in its folder has: there, all tables of one database have
        different names, but for those that were given one."""
        return self.database if self.lands_as is None else str(self)

    def __str__(self) -> str:
        return ".".join(part for part in (self.database, self.schema, self.table) if part)


@dataclass(frozen=True)
class SourceColumn:
    """A column by the schema that its records declare."""

    name: str
    type: ColumnType
    nullable: bool
    has_default: bool


@dataclass(frozen=True)
class DecodedRows:
    """Records of one table that declare one schema, in the order of their offsets."""

    table: SourceTable
    keys: tuple[str, ...]
    """Key columns; none where records have no key."""
    columns: tuple[SourceColumn, ...]
    rows: pa.Table
    """`CONTROL`, and then the columns in their tables' types.

    A delete has its key columns alone, a truncate none.
    """


@dataclass(frozen=True)
class UndecodableRecord:
    """A record that cannot be understood, so that its table stops before it."""

    offset: Offset
    topic: str
    table: SourceTable | None
    """None where the record does not say it: then its topic's tables stop."""
    stop: StopReason


@dataclass(frozen=True)
class Decoded:
    """All that a batch says."""

    tables: tuple[DecodedRows, ...]
    undecodable: tuple[UndecodableRecord, ...]
    others: int
    """Records about no row: heartbeats, ends of transactions, tombstones."""
    left_out: tuple[DecodedRows, ...] = ()
    """Of tables that do not land."""
