"""A small batch of a history, folded in columns: the rows that its commit opens and closes by."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.columnar.changes import ChangesInOrder
from openmirror.columnar.columns import taken, with_column
from openmirror.columnar.file_rows import TooLarge
from openmirror.columnar.folding import NEVER
from openmirror.columnar.keys import known_of_keys, numbered
from openmirror.columnar.version_folding import TooManyVersions, VersionFold, fold_versions
from openmirror.ports.merge_rows import (
    KIND,
    FoldedBatch,
    MergeNeeds,
    key_positions,
    positional,
    positions_of,
)
from openmirror.ports.version_rows import AT_LEAST_ONCE, VersionKind
from openmirror.protocol.versions import CLOSED, IS_CURRENT, OPENED, VALID_FROM, VALID_TO

_OURS = (VALID_FROM, VALID_TO, IS_CURRENT, CLOSED[0])
_MOST_VERSIONS = 10
"""So many versions a change are folded here: an update of a bag of rows makes one of each."""


def folded_versions(changes: ChangesInOrder) -> FoldedBatch:
    """The folded batch; raises TooLarge where it opens far more versions than it has changes,
    and RepeatsTooMuch."""
    began, batch = time.monotonic(), changes.batch
    schema, count = batch.union.schema, len(changes.markers)
    placed = dict(zip(positional(len(schema.columns)), changes.columns, strict=True))
    keys = key_positions(batch)
    numbers, most = numbered([placed[key] for key in keys], count), _MOST_VERSIONS * (count + 1)
    try:
        found = fold_versions(numbers, changes.markers, most)
    except TooManyVersions as error:
        raise TooLarge(batch.files[0].path) from error
    rows = _rows(changes, found)
    ours = positions_of(schema, _OURS)
    known = known_of_keys(rows.filter(pa.array(found.closes)), keys)
    return FoldedBatch(
        counts=changes.counts(),
        checksums=changes.checksums,
        rows=rows,
        needs=MergeNeeds(
            deletes=False,
            updates=bool(found.closes.any()),
            inserts=not found.closes.all(),
            bounds=known.bounds,
            not_null=known.not_null,
        ),
        truncates=False,
        fold_seconds=time.monotonic() - began,
        versions=VersionsInColumns(rows, dict(zip(_OURS, ours, strict=True))),
    )


@dataclass(frozen=True)
class VersionsInColumns:
    """The versions of a small batch; when it was decided is still to be written into them."""

    rows: pa.Table
    """All columns by position, `kind` and `at_least_once`."""
    ours: Mapping[str, str]
    """The positions of some columns of a history, by their names."""

    @property
    def asks(self) -> bool:
        """As `FoldedVersions` has it; so are the others."""
        return bool(self.rows.column(AT_LEAST_ONCE).null_count < len(self.rows))

    def opens(self, decided_at: datetime) -> pa.Table:
        found = self._decided(VersionKind.OPENS, decided_at)
        return found if self.asks else found.drop_columns([AT_LEAST_ONCE])

    def closes(self, decided_at: datetime) -> pa.Table:
        return self._decided(VersionKind.CLOSES, decided_at).drop_columns([AT_LEAST_ONCE])

    def _decided(self, kind: VersionKind, decided_at: datetime) -> pa.Table:
        rows = self.rows.filter(pc.equal(self.rows.column(KIND), str(kind))).drop_columns([KIND])
        is_open = pc.is_null(rows.column(self.ours[CLOSED[0]]))
        when = pa.scalar(decided_at, pa.timestamp("us", "UTC"))
        values = {
            VALID_FROM: pa.repeat(when, len(rows)),
            VALID_TO: pc.if_else(is_open, pa.scalar(None, when.type), when),
            IS_CURRENT: is_open,
        }
        for name, value in values.items():
            rows = with_column(rows, self.ours[name], value)
        return rows


def _rows(changes: ChangesInOrder, found: VersionFold) -> pa.Table:
    """All columns by position, `kind` and `at_least_once`; times and `_is_current` are NULL yet."""
    schema = changes.batch.union.schema
    own = pa.array(found.values)
    ends = pa.array(found.closed_by, mask=found.closed_by == NEVER)
    ours = dict(zip(OPENED, _places(changes, own), strict=True))
    ours |= dict(zip(CLOSED, _places(changes, ends), strict=True))
    arrays = [
        ours[column.name] if column.name in ours else taken(values, own)
        for column, values in zip(schema.columns, changes.columns, strict=True)
    ]
    kinds = np.where(found.closes, VersionKind.CLOSES, VersionKind.OPENS)
    arrays += [
        pa.array(kinds.tolist(), pa.string()),
        pa.array(found.at_least_once, mask=~found.asks),
    ]
    return pa.table(arrays, names=[*positional(len(schema.columns)), KIND, AT_LEAST_ONCE])


def _places(changes: ChangesInOrder, at: pa.Array) -> tuple[pa.Array, ...]:
    """The places of changes, as the columns of a history have them; NULL where there is none."""
    incarnation = pa.array([changes.batch.epoch.incarnation] * len(changes.markers), pa.string())
    columns = (changes.operations, incarnation, changes.sequences, changes.rows)
    return tuple(column.take(at) for column in columns)
