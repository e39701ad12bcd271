"""A fold of a history that is applied in columns gives what its changes in order give."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmirror.columnar.applying_versions import applied_versions, only_new_versions
from openmirror.columnar.folding import NEVER
from openmirror.columnar.version_folding import TooManyVersions, VersionFold, fold_versions
from openmirror.ports.version_rows import AT_LEAST_ONCE
from openmirror.protocol.rows import Marker
from tests.unit.columnar.test_version_folding import CHANGES, interpreted

KEY, OPENED, CLOSED, IS_CURRENT = "c0", "c1", "c2", "c3"


def versions(found: VersionFold, keys: list[int], *, closes: bool) -> pa.Table:
    chosen = found.closes == closes
    values, by = found.values[chosen], found.closed_by[chosen]
    rows = {
        KEY: pa.array(keys, pa.int64()).take(pa.array(values)),
        OPENED: pa.array(values),
        CLOSED: pa.array(by),
        IS_CURRENT: pa.array(by == NEVER, pa.bool_()),
    }
    if not closes:
        asks = found.asks[chosen]
        rows[AT_LEAST_ONCE] = pa.array(found.at_least_once[chosen], pa.bool_(), mask=~asks)
    return pa.table(rows)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=6), CHANGES)
def test_it_equals_the_changes_in_order_and_closed_versions_stay(
    present: list[tuple[int, bool]], changes: list[tuple[Marker, int]]
) -> None:
    keys = [key for _, key in changes]
    markers = np.array([marker.value for marker, _ in changes], dtype=np.int8)
    found = fold_versions(np.array(keys, dtype=np.int64), markers, 1000)
    table = pa.table(
        {
            KEY: pa.array([key for key, _ in present], pa.int64()),
            OPENED: pa.array([NEVER] * len(present), pa.int64()),
            CLOSED: pa.array([NEVER if is_open else -2 for _, is_open in present], pa.int64()),
            IS_CURRENT: pa.array([is_open for _, is_open in present], pa.bool_()),
        }
    )
    opens, closes = (versions(found, keys, closes=closes) for closes in (False, True))
    after = applied_versions(
        table,
        opens,
        closes,
        keys=[KEY],
        is_current=IS_CURRENT,
        closing=[CLOSED, IS_CURRENT],
    )
    columns = (after.column(name).to_pylist() for name in (KEY, OPENED, CLOSED))
    expected = interpreted([key for key, is_open in present if is_open], changes)
    expected += Counter((key, NEVER, -2) for key, is_open in present if not is_open)
    assert Counter(zip(*columns, strict=True)) == expected
    is_open = [closed == NEVER for closed in after.column(CLOSED).to_pylist()]
    assert after.column(IS_CURRENT).to_pylist() == is_open


def test_where_no_version_is_open_those_that_ask_for_one_are_opened_once_or_not() -> None:
    opens = pa.table({KEY: [1, 2, 3], AT_LEAST_ONCE: [None, True, False]})
    assert only_new_versions(opens).to_pydict() == {KEY: [1, 2]}
    plain = opens.drop_columns([AT_LEAST_ONCE])
    assert only_new_versions(plain) == plain


def test_versions_beyond_a_bound_are_not_even_begun() -> None:
    size = 5_000
    table = pa.table(
        {
            KEY: pa.repeat(pa.scalar(1, pa.int64()), size),
            OPENED: pa.repeat(pa.scalar(NEVER, pa.int64()), size),
            CLOSED: pa.repeat(pa.scalar(NEVER, pa.int64()), size),
            IS_CURRENT: pa.repeat(pa.scalar(True), size),
        }
    )
    opens = table.append_column(AT_LEAST_ONCE, pa.repeat(pa.scalar(False), size))
    with pytest.raises(TooManyVersions, match="25000000"):
        applied_versions(
            table, opens, table.slice(0, 1), keys=[KEY], is_current=IS_CURRENT, closing=[CLOSED]
        )
