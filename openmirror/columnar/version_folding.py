"""Folding a history in columns: which versions a batch opens, and which it closes (PROTOCOL §5.9).

Markers are those of inserts, whole updates and deletes, and no change depends on a version column.
Then each insert opens one version; an update or upsert closes all that are open of its key and
opens as many, but at least one; a delete closes them. How many a key has open in the table only the
table knows, and it matters to the updates before the key's first delete alone.

With `before` inserts in front of the first of these updates, and `since` between it and another
one, that one opens a version for each that its key has open in the table and for each of these
inserts; and one at least, if `before` is 0, which then is the first one's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from openmirror.columnar.folding import (
    ChangePlaces,
    Mask,
    first_behind,
    first_of_key,
)
from openmirror.protocol.rows import WHOLE_UPDATES, Marker


class VersionFold(NamedTuple):
    """The versions that a batch opens, and one row for each key of which it closes what is open."""

    values: ChangePlaces
    """The change that opens each version, or that closes what the table has open of its key."""
    closes: Mask
    """Which rows close what the table has open."""
    closed_by: ChangePlaces
    """Of a version, the change that closes it as well; NEVER where none does."""
    asks: Mask
    """Which versions are opened once for each version of their key that the table has open."""
    at_least_once: Mask
    """Which of those are opened where the table has none, too."""


class TooManyVersions(Exception):
    """A batch opens more versions than may be held: each update of a bag of rows makes as many."""


def fold_versions(keys: ChangePlaces, markers: npt.NDArray[np.int8], most: int) -> VersionFold:
    """Fold changes in their order; `keys` numbers each change's key from 0 on.

    Raises TooManyVersions for more than `most` versions.
    """
    count = int(keys.max()) + 1 if len(keys) else 0
    at = np.arange(len(keys), dtype=np.int64)
    inserts, deletes = markers == Marker.INSERT, markers == Marker.DELETE
    updates = np.isin(markers, [marker.value for marker in WHOLE_UPDATES])
    closing = updates | deletes
    # A key is as good as another one behind each of its deletes: nothing of it is open there.
    gone = _before_in_key(keys, deletes)
    _, spans = np.unique(keys * (len(keys) + 1) + gone, return_inverse=True)
    spans = spans.astype(np.int64)
    so_far = _before_in_key(spans, inserts)
    first = first_of_key(spans, at, updates, len(keys))
    before = np.append(so_far, 0)[first]
    since = so_far - before
    asks = updates & (gone == 0)
    at_least = np.where(asks, 0, 1)
    times = np.select([inserts, updates], [1, np.maximum(at_least, before) + since], 0)
    if int(times.sum()) > most:
        raise TooManyVersions(int(times.sum()))
    opened, asking = np.repeat(at, times), at[asks]
    ends = at[closing & (first_of_key(keys, at, closing, count) == at)]
    values = np.concatenate([opened, asking, ends])
    part = np.repeat([0, 1, 2], [len(opened), len(asking), len(ends)])
    closes, is_asking = part == 2, part == 1
    closed_by = np.where(closes, values, first_behind(keys, at, closing)[values])
    return VersionFold(values, closes, closed_by, is_asking, is_asking & (before[values] == 0))


def _before_in_key(keys: ChangePlaces, among: Mask) -> ChangePlaces:
    """For each change, how many of these come before it that have its key."""
    order = np.argsort(keys, kind="stable")
    sorted_keys, counted = keys[order], among[order].astype(np.int64)
    total = np.cumsum(counted) - counted
    begins = np.searchsorted(sorted_keys, sorted_keys)
    found = np.empty(len(keys), dtype=np.int64)
    found[order] = total - total[begins]
    return found
