"""A folded batch applied to the rows of its table, in columns: what a MERGE of it would do.

Every row with the key of a `delete` goes, each with that of an `update` gets its values, and an
update that may insert and finds no row is added, as plain inserts are (PROTOCOL §5.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.columnar.columns import behind, taken, with_column
from openmirror.columnar.folding import NEVER, ChangePlaces
from openmirror.columnar.keys import numbered
from openmirror.plan import Batch
from openmirror.ports.merge_rows import (
    DELETED,
    KIND,
    MAY_INSERT,
    MergeKind,
    lineage_positions,
    positional,
    positions_of,
)
from openmirror.protocol.lineage import DECIDED_AT, Lineage
from openmirror.protocol.rows import DELETED_AT

_REMOVES = (MergeKind.DELETE, MergeKind.UNMARK)


@dataclass(frozen=True)
class MarkedBy:
    """Where deletes are soft: what marks a row, by position."""

    deleted_at: str
    written: frozenset[str]
    """All that a delete writes into a row that it marks."""

    @classmethod
    def of(cls, batch: Batch) -> MarkedBy | None:
        """That of a batch; None where its deletes take rows away."""
        if batch.soft is None:
            return None
        [deleted_at] = positions_of(batch.union.schema, [DELETED_AT])
        # Those of former times become NULL.
        return cls(deleted_at, frozenset((deleted_at, *lineage_positions(batch))))


def as_decided(rows: pa.Table, batch: Batch) -> pa.Table:
    """The merge rows of a batch that was folded before it was decided, with the time of that."""
    schema = batch.union.schema
    decided = pa.scalar(batch.decided_at, pa.timestamp("us", "UTC"))
    if batch.lineage is Lineage.WRITTEN:
        assert batch.decided_at is not None  # nothing is committed before it is decided
        [position] = positions_of(schema, [DECIDED_AT])
        rows = with_column(rows, position, pa.repeat(decided, len(rows)))
    if batch.soft is not None:
        assert batch.decided_at is not None
        [position] = positions_of(schema, [DELETED_AT])
        own = pc.coalesce(rows.column(position).cast(decided.type), decided)
        none = pa.scalar(None, decided.type)
        rows = with_column(rows, position, pc.if_else(rows.column(DELETED), own, none))
    return rows


def applied(
    table: pa.Table, rows: pa.Table, keys: Sequence[str], marked_by: MarkedBy | None = None
) -> pa.Table:
    """All rows of a table after merge rows, by position; `keys` are those of its key columns.

    Both have the same columns in the same types, and `rows` those of `ports.merge_rows` besides.
    Raises RepeatsTooMuch.
    """
    kinds = rows.column(KIND).combine_chunks()
    merges = pc.not_equal(kinds, str(MergeKind.PLAIN_INSERT))
    changes, inserts = rows.filter(merges), rows.filter(pc.invert(merges))
    change_of = _change_of_each_row(table, changes, keys, marked_by)
    kind = changes.column(KIND)
    is_changed = change_of != NEVER
    removes, marks = _is_in(kind, _REMOVES), _is_in(kind, (MergeKind.MARK,))
    stays = ~(is_changed & np.append(removes, False)[change_of])
    gets_values = is_changed & ~np.append(marks, False)[change_of]
    own = np.arange(len(table))
    values = np.where(gets_values, len(table) + change_of, own)[stays]
    writers = np.where(is_changed, len(table) + change_of, own)[stays]
    matched = np.zeros(len(changes) + 1, dtype=np.bool_)
    matched[change_of] = True
    may_insert = changes.column(MAY_INSERT).to_numpy()
    comes = _is_in(kind, (MergeKind.UPDATE,)) & may_insert & ~matched[:-1]
    added = len(table) + np.flatnonzero(comes)
    written = marked_by.written if marked_by else frozenset[str]()
    places = {
        by_writer: pa.array(np.concatenate([writers if by_writer else values, added]))
        for by_writer in (False, True)
    }
    columns = [
        [
            taken(behind(table.column(name), changes.column(name)), places[name in written]),
            inserts.column(name),
        ]
        for name in table.column_names
    ]
    return pa.table(
        [behind(*parts) for parts in columns],
        names=table.column_names,
    )


def _change_of_each_row(
    table: pa.Table, changes: pa.Table, keys: Sequence[str], marked_by: MarkedBy | None
) -> ChangePlaces:
    """The merge row that each row of the table has its key in common with, or NEVER."""
    both = [behind(table.column(key), changes.column(key)) for key in keys]
    if marked_by is not None:
        # A row that is marked is found by `unmark` rows alone, and the others by all others.
        is_marked = pc.is_valid(table.column(marked_by.deleted_at))
        unmarks = pc.equal(changes.column(KIND), str(MergeKind.UNMARK))
        both.append(behind(is_marked, unmarks).cast(pa.int8()))
    numbers = numbered(both, len(table) + len(changes))
    of_table, of_changes = numbers[: len(table)], numbers[len(table) :]
    change_of = np.full(int(numbers.max()) + 1 if len(numbers) else 1, NEVER, dtype=np.int64)
    change_of[of_changes] = np.arange(len(changes))
    return change_of[of_table]


def _is_in(kinds: pa.ChunkedArray, wanted: Sequence[MergeKind]) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = pc.is_in(kinds, pa.array(map(str, wanted))).to_numpy()
    return found


def only_data(rows: pa.Table, batch: Batch) -> pa.Table:
    """The columns of the table alone, by position."""
    return rows.select(positional(len(batch.union.schema.columns)))
