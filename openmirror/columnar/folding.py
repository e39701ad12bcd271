"""Folding in columns: what `spark.folding` does by windows, here by places of rows (PROTOCOL §5.5).

Per key, with d the last delete and u the last update or upsert after d: d becomes one delete, what
is before it nothing. u becomes one update, or behind a d a plain insert if the first change after d
is an update. Each insert after d is a plain insert, with u's values where u comes after it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from openmirror.ports.merge_rows import MergeKind
from openmirror.protocol.rows import WHOLE_UPDATES, Marker

ChangePlaces = npt.NDArray[np.int64]
"""ChangePlaces of changes in the order of the batch, counted from 0."""
Mask = npt.NDArray[np.bool_]
NEVER = -1
"""In place of a change: none."""
_KINDS = (MergeKind.DELETE, MergeKind.PLAIN_INSERT, MergeKind.UPDATE)


class Fold(NamedTuple):
    """The rows that a batch leaves, in the order of their changes."""

    values: ChangePlaces
    """The change whose values each row has."""
    kinds: Any
    """What each row does, as an array of MergeKind."""
    may_insert: Mask


def fold(keys: ChangePlaces, markers: npt.NDArray[np.int8]) -> Fold:
    """Fold changes in their order; `keys` numbers each change's key from 0 on.

    Markers are those of inserts, whole updates and deletes.
    """
    count = int(keys.max()) + 1 if len(keys) else 0
    at = np.arange(len(keys), dtype=np.int64)
    d = last_of_key(keys, at, markers == Marker.DELETE, count)
    alive = at > d
    updates = alive & np.isin(markers, [marker.value for marker in WHOLE_UPDATES])
    inserts = alive & (markers == Marker.INSERT)
    u = last_of_key(keys, at, updates, count)
    begins_with_update = np.append(updates, False)[first_of_key(keys, at, alive, count)]
    is_u = at == u
    is_delete = at == d
    is_update = is_u & (d == NEVER)
    is_plain = inserts | (is_u & (d != NEVER) & begins_with_update)
    left = np.flatnonzero(is_delete | is_update | is_plain)
    values = np.where(inserts & (u > at), u, at)
    kinds = np.select([is_delete[left], is_plain[left]], [0, 1], default=2)
    return Fold(values[left], np.array(_KINDS, dtype=object)[kinds], begins_with_update[left])


def last_of_key(keys: ChangePlaces, at: ChangePlaces, among: Mask, count: int) -> ChangePlaces:
    """For each change, the place of the last one among these that has its key, or -1."""
    found = np.full(count, NEVER, dtype=np.int64)
    np.maximum.at(found, keys[among], at[among])
    return found[keys]


def first_of_key(keys: ChangePlaces, at: ChangePlaces, among: Mask, count: int) -> ChangePlaces:
    """For each change, the place of the first one among these that has its key, or their number."""
    found = np.full(count, len(at), dtype=np.int64)
    np.minimum.at(found, keys[among], at[among])
    return found[keys]


def first_behind(keys: ChangePlaces, at: ChangePlaces, among: Mask) -> ChangePlaces:
    """For each change, the next one among these that has its key; NEVER where there is none."""
    order = keys * (len(keys) + 1) + at
    [places] = np.nonzero(among)
    places = places[np.argsort(order[places])]
    found = np.append(places, NEVER)[np.searchsorted(order[places], order, side="right")]
    return np.where((found != NEVER) & (keys[found] == keys), found, NEVER)
