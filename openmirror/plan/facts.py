"""What is observed of change files: values shared by the plan and the adapters that find them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from openmirror.protocol.checksums import Checksum
from openmirror.protocol.names import ETag
from openmirror.protocol.rules import Broken
from openmirror.protocol.schema import ColumnType, TableSchema
from openmirror.protocol.sequence import Sequence
from openmirror.table.layout import StorePath


class Completeness(StrEnum):
    """Whether a file's writer is done with it."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    """It may still grow into a good file."""
    BROKEN = "broken"
    """It can never become good by growing."""


@dataclass(frozen=True, kw_only=True)
class FileFacts:
    """The shape of one content of one change file."""

    etag: ETag
    completeness: Completeness
    reason: str = ""
    """Why it is not complete, in words."""
    rows: int = 0
    schema: TableSchema = TableSchema()
    """Typed data columns in file order: without the row marker and without Null-typed columns."""
    untyped: tuple[str, ...] = ()
    """Data columns of Parquet's Null type, which count as absent."""
    marker: str | None = None
    """The row marker column's name as the file spells it; None without one or when all NULL."""
    marker_type: ColumnType | None = None
    """The marker column's type: an integer of any width, or string."""
    broken: Broken | None = None
    """The first rule that the file's columns break."""
    needs_quiet_period: bool = False
    """Whether nothing but time shows that its writer is done (PROTOCOL §3)."""
    rows_are_exact: bool = True
    """Whether `rows` is counted; else it is guessed from the size, and 0 only without any row."""
    int96: tuple[str, ...] = ()
    """Columns of INT96: of their times Spark cuts off what is finer than a microsecond."""
    needs_conversion: bool = False
    """Whether Spark cannot read it as it is: the runner reads a Parquet copy of it instead."""
    unsplit_header: str | None = None
    """For text whose header is one column with another separator in it: what it looks like."""


@dataclass(frozen=True, kw_only=True)
class LandedFile:
    """One change file in a folder or its archive."""

    sequence: Sequence
    """Its number in the table's order: its own, or the one of the ledger."""
    name: str
    """From the table folder on, or from its archive folder."""
    path: StorePath
    etag: ETag
    size: int
    modified: datetime
    partition: str = ""
    """The `Key=Value` folders that it lies in; empty directly in the table folder."""
    number: Sequence | None = None
    """Where the table has a ledger: the number in its own name, if it has one."""
    archived: bool = False
    is_folder: bool = False
    twin: str | None = None
    """Another file with the same number."""
    checksum: Checksum | None = None
    """Of its present content, where it was written over after it was applied."""
    facts: FileFacts | None = None
    """None for files that no plan needs yet."""
