"""The fold in columns where deletes are soft (PROTOCOL §5.8): the fold of all but late deletes.

*Late* are a key's deletes after its last update, or all where it has none. What is left without
them is marked by the first late one behind it; a key with an update has an `unmark` row besides,
and one without a `mark` row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from openmirror.columnar.folding import (
    NEVER,
    ChangePlaces,
    Fold,
    first_behind,
    first_of_key,
    fold,
    last_of_key,
)
from openmirror.ports.merge_rows import MergeKind
from openmirror.protocol.rows import WHOLE_UPDATES, Marker

LIVE = NEVER


class SoftFold(NamedTuple):
    """The rows that a batch leaves."""

    fold: Fold
    deleted_by: ChangePlaces
    """The delete that marks each row, or makes it mark others; LIVE for all others."""


def fold_softly(keys: ChangePlaces, markers: npt.NDArray[np.int8]) -> SoftFold:
    """Fold changes in their order, of the kinds that `fold` takes."""
    count = int(keys.max()) + 1 if len(keys) else 0
    at = np.arange(len(keys), dtype=np.int64)
    updates = np.isin(markers, [marker.value for marker in WHOLE_UPDATES])
    u = last_of_key(keys, at, updates, count)
    late = (markers == Marker.DELETE) & (at > u)
    early = np.flatnonzero(~late)
    left = fold(keys[early], markers[early])
    values = early[left.values]
    behind, first = first_behind(keys, at, late), first_of_key(keys, at, late, count)
    removes = left.kinds == MergeKind.DELETE
    unmarking = values[removes | (left.kinds == MergeKind.UPDATE)]
    marking = np.flatnonzero(late & (u == LIVE) & (first == at))
    return SoftFold(
        Fold(
            np.concatenate([values, marking, unmarking]),
            np.concatenate(
                [left.kinds, _all(MergeKind.MARK, marking), _all(MergeKind.UNMARK, unmarking)]
            ),
            np.concatenate([left.may_insert, np.zeros(len(marking) + len(unmarking), np.bool_)]),
        ),
        np.concatenate(
            [np.where(removes, LIVE, behind[values]), marking, np.full(len(unmarking), LIVE)]
        ),
    )


def _all(kind: MergeKind, places: ChangePlaces) -> Any:
    return np.repeat(np.array([kind], dtype=object), len(places))
