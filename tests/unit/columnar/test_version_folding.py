"""The fold of histories in columns gives what the interpreter gives, for any changes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmirror.columnar.folding import NEVER
from openmirror.columnar.version_folding import TooManyVersions, fold_versions
from openmirror.protocol.rows import Change, ChangeFile, Marker
from openmirror.protocol.versions import apply_to_history, empty_history

MARKERS = [Marker.INSERT, Marker.UPDATE, Marker.DELETE, Marker.UPSERT]
CHANGES = st.lists(st.tuples(st.sampled_from(MARKERS), st.integers(0, 3)), max_size=24)

_Versions = Counter[tuple[int, int, int]]
"""Key, the change that opened a version, and the one that closed it; those of before are NEVER."""


def interpreted(present: list[int], changes: list[tuple[Marker, int]]) -> _Versions:
    history = empty_history(("k",))
    before = [Change(Marker.INSERT, {"k": key}) for key in present]
    now = [Change(marker, {"k": key}) for marker, key in changes]
    for sequence, rows in enumerate((before, now), start=1):
        apply_to_history(history, ChangeFile(("k",), rows), sequence)

    def at(row: dict[str, object], kind: str) -> int:
        return int(str(row[f"{kind}_row"])) - 1 if row[f"{kind}_sequence"] == 2 else NEVER

    return Counter((int(str(row["k"])), at(row, ""), at(row, "_closed")) for row in history.rows)


def committed(present: list[int], changes: list[tuple[Marker, int]]) -> _Versions:
    """The same by the fold: open versions are closed by key, and new ones are added."""
    keys = np.array([key for _, key in changes], dtype=np.int64)
    found = fold_versions(keys, np.array([m.value for m, _ in changes], dtype=np.int8), 1000)
    open_there, closing = Counter(present), dict[int, int]()
    versions = _Versions()
    for value, closes, by, asks, once in zip(*found, strict=True):
        key = int(keys[value])
        if closes:
            assert key not in closing, "a key is closed twice"
            closing[key] = int(value)
        else:
            times = max(open_there[key], int(once)) if asks else 1
            versions[key, int(value), int(by)] += times
    for key, count in open_there.items():
        versions[key, NEVER, closing.get(key, NEVER)] += count
    return versions


@given(st.lists(st.integers(0, 3), max_size=5), CHANGES)
def test_the_versions_that_a_batch_opens_and_closes_are_those_of_its_changes_in_order(
    present: list[int], changes: list[tuple[Marker, int]]
) -> None:
    assert committed(present, changes) == interpreted(present, changes)


def test_only_updates_before_a_keys_first_delete_ask_the_table() -> None:
    kinds = [Marker.INSERT, Marker.UPDATE, Marker.DELETE, Marker.UPSERT]
    markers = np.array([kind.value for kind in kinds], dtype=np.int8)
    found = fold_versions(np.zeros(4, dtype=np.int64), markers, 10)
    assert found.values[found.asks].tolist() == [1]
    assert not found.at_least_once.any()


def test_versions_beyond_a_bound_are_not_even_begun() -> None:
    kinds = np.repeat([Marker.INSERT.value, Marker.UPDATE.value], 10_000).astype(np.int8)
    with pytest.raises(TooManyVersions, match="100010000"):
        fold_versions(np.zeros(20_000, dtype=np.int64), kinds, 1_000_000)
