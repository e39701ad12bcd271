"""Which commit a batch takes: the cheapest that is provably equal to its changes in order.

A value from values, so that each choice can be a row of a table in a test (INTERNALS §4).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from openmirror.ports.merge_rows import MergeNeeds
from openmirror.table.control import BatchKind


class Commit(StrEnum):
    """The commits that there are."""

    REPLACE = "replace"
    """The table becomes these rows, under a new epoch."""
    BEGIN_ANEW = "begin-anew"
    """The table becomes these rows, as a truncate asks."""
    REWRITE = "rewrite"
    """The whole table is written again, with another schema and the batch applied."""
    APPEND = "append"
    """Rows are added; none is looked for."""
    OVERWRITE = "overwrite"
    """The whole table is written again, with the batch applied: one job for a small table."""
    MERGE = "merge"
    """Rows are changed where they lie."""


@dataclass(frozen=True)
class TableSize:
    """How large a table is, as far as that was known before its commit; a hint, not a promise."""

    files: int
    bytes: int
    has_change_data_feed: bool


@dataclass(frozen=True, kw_only=True)
class BatchShape:
    """What decides how a batch is committed."""

    kind: BatchKind
    truncates: bool
    rewrites: bool
    """Whether the table's schema changes as no other commit can do it."""
    needs: MergeNeeds
    folded_here: bool
    """Whether its merge rows are in this process: they are few, and are whole rows."""
    widens: bool
    """Whether a column's type grows in place."""
    table: TableSize | None = None
    """None where nobody knows."""


def choose(shape: BatchShape, small_table: int) -> Commit:
    """The commit for a batch; a table of at most `small_table` bytes is a small one."""
    if shape.kind is BatchKind.REPLACE:
        return Commit.REPLACE
    if shape.truncates:
        return Commit.BEGIN_ANEW
    if shape.rewrites:
        return Commit.REWRITE
    if not shape.needs.merges:
        return Commit.APPEND
    if shape.folded_here and not shape.widens and _is_small(shape.table, small_table):
        return Commit.OVERWRITE
    return Commit.MERGE


def _is_small(table: TableSize | None, small_table: int) -> bool:
    """Whether rewriting it is one short job. Its change feed would have every row twice."""
    if table is None or table.has_change_data_feed:
        return False
    return 0 < table.files <= 2 and table.bytes <= small_table
