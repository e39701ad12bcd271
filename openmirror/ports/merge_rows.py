"""A folded batch as a table: at most one merge row per key, and plain inserts (PROTOCOL §5.5).

Whoever folds and whoever commits agree on these names. Data columns are called c0, c1 … in the
order of the table's schema, so that no name a publisher may choose can clash with ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from openmirror.plan import Batch
from openmirror.ports.tables import BadFile, Counts
from openmirror.ports.version_rows import FoldedVersions
from openmirror.protocol.checksums import Checksum
from openmirror.protocol.lineage import LINEAGE, Lineage
from openmirror.protocol.names import fold_case
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.sequence import Sequence

KIND = "kind"
MAY_INSERT = "may_insert"
DELETED = "deleted"
"""In a batch that was folded before it was decided: whether a row is marked, or marks others."""


class MergeKind(StrEnum):
    """What one folded row does to the table."""

    PLAIN_INSERT = "plain_insert"
    """Is added, whatever the table holds."""
    UPDATE = "update"
    """Replaces every row with its key; one that `may_insert` is added where there is none."""
    DELETE = "delete"
    """Removes every row with its key."""
    MARK = "mark"
    """Marks every row with its key as deleted; its other values say nothing (PROTOCOL §5.8)."""
    UNMARK = "unmark"
    """Removes every row with its key that is marked; the others match only rows that are not."""


def positional(count: int) -> list[str]:
    """The names of data columns while a batch is underway."""
    return [f"c{index}" for index in range(count)]


def positions_of(schema: TableSchema, names: Iterable[str]) -> list[str]:
    """The positional names of some columns; each must be there."""
    index = {fold_case(column.name): f"c{at}" for at, column in enumerate(schema.columns)}
    return [index[fold_case(name)] for name in names]


def key_positions(batch: Batch) -> list[str]:
    """The positional names of the key columns, without one that neither table nor files have: no
    row needs it then, because there are none (PROTOCOL §5.1, §6.2)."""
    schema = batch.union.schema
    return positions_of(schema, [key for key in batch.frozen.key_columns if schema.find(key)])


def lineage_positions(batch: Batch) -> list[str]:
    """Where a batch has the columns of lineage: filled, or empty."""
    if batch.lineage is Lineage.NONE:
        return []
    schema = batch.union.schema
    return positions_of(schema, [name for name in LINEAGE if schema.find(name)])


@dataclass(frozen=True, kw_only=True)
class MergeNeeds:
    """What a folded batch asks of the commit, so that it does no more than that."""

    deletes: bool
    updates: bool
    inserts: bool
    """Whether any row may be added: a plain insert, or an update that may insert."""
    marks: bool = False
    """Whether rows may be marked as deleted."""
    unmarks: bool = False
    """Whether marked rows may be removed."""
    bounds: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Of key columns of whole numbers and of days since 1970, by position, two values between which
    all rows lie that are merged, none of which is NULL there. Of others nothing is known."""
    not_null: frozenset[str] = frozenset()
    """Key columns, by position, that are NULL in no row that is merged."""

    @property
    def merges(self) -> bool:
        """Whether rows of the table may change."""
        return self.deletes or self.updates or self.marks


@dataclass(frozen=True, kw_only=True)
class FoldedBatch:
    """A small batch that was read and folded in this process."""

    counts: Counts
    checksums: Mapping[Sequence, Checksum]
    rows: Any
    """A `pyarrow.Table`: data columns by position in the types of the batch's union, `kind` as
    text, `may_insert` as a truth value. Where deletes are soft also `deleted`, as a truth value;
    `_deleted_at` is then NULL wherever the decision's time is still to be written, and so is
    `_decided_at` of lineage in every row. Of a history, what `versions` gives in parts."""
    needs: MergeNeeds
    truncates: bool
    """Whether the table is emptied before these rows."""
    fold_seconds: float
    """How long the fold took, once the files were read."""
    versions: FoldedVersions | None = None
    """Of a history."""


class BatchFolder(Protocol):
    """Reads and folds small batches in this process."""

    def may_fold(self, batch: Batch, *, direct: bool = False) -> bool:
        """Whether nothing that is known of a batch before it is read leaves it to Spark."""
        ...

    def fold(self, batch: Batch, *, direct: bool = False) -> FoldedBatch | BadFile | None:
        """The folded batch, the first file that breaks a rule, or None where Spark must fold it.

        It may be larger where its commit will most likely be `direct`: Spark gets no row of it.
        Raises NotThere when a file has gone, ConditionFailed when one is not what was planned.
        """
        ...
