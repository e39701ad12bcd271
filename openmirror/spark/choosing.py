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
    REPLACE_ROWS = "replace-rows"
    """Rows are taken out where they lie, and what they become is added: of the table only keys are
    read for it."""
    MERGE = "merge"
    """Delta's own, of whatever else changes rows."""


_FEW = 2
"""Files of a table that Spark writes whole in one job."""
MANY = 50
"""Files of a table that this process writes whole: so many Delta lists in a checksum."""


@dataclass(frozen=True, kw_only=True)
class CurrentTable:
    """What was known of a table right before a commit; another commit may come between."""

    version: int
    files: int
    bytes: int
    has_change_data_feed: bool
    has_deletion_vectors: bool
    tracks_rows: bool
    """Whether each row has an id for good, which a row that is written anew does not keep."""
    only_appends: bool
    """Whether Delta takes nothing out of it."""


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
    direct: bool
    """Whether this process most likely writes the data file as well: many files are one as easily
    as two."""
    widens: bool
    """Whether a column's type grows in place."""
    adds_columns: bool
    whole_rows: bool
    """Whether each row that it changes goes, or becomes the batch's row whatever it was: not by a
    partial update, nor a mark, nor only where its version column says so."""
    knows_delta: bool
    """Whether Delta's own classes are those by which this process takes rows out of data files."""
    table: CurrentTable | None = None
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
    files = MANY if shape.direct else _FEW
    if shape.folded_here and not shape.widens and _is_small(shape.table, files, small_table):
        return Commit.OVERWRITE
    return Commit.REPLACE_ROWS if _replaces_rows(shape) else Commit.MERGE


def _replaces_rows(shape: BatchShape) -> bool:
    """Whether the rows that go, or become others, may be taken out, and what they become be added.

    A change feed would show that as deletes and inserts.
    """
    table = shape.table
    if table is None or table.has_change_data_feed or not table.has_deletion_vectors:
        return False
    changes_columns = shape.widens or shape.adds_columns
    return shape.knows_delta and shape.whole_rows and not changes_columns


def _is_small(table: CurrentTable | None, files: int, small_table: int) -> bool:
    """Whether rewriting it is one short job. Its change feed would have every row twice, and each
    row another id."""
    if table is None or table.has_change_data_feed or table.tracks_rows or table.only_appends:
        return False
    return 0 < table.files <= files and table.bytes <= small_table
