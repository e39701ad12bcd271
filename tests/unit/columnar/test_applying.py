"""A fold that is applied in columns gives the table that its changes in order give."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmirror.columnar.applying import MarkedBy, applied
from openmirror.columnar.columns import RepeatsTooMuch
from openmirror.columnar.folding import Fold, fold
from openmirror.columnar.soft_folding import fold_softly
from openmirror.ports.merge_rows import KIND, MAY_INSERT
from openmirror.protocol.rows import Marker
from tests.unit.columnar.test_folding import CHANGES, NAN, _Softly, interpreted, interpreted_softly

KEY, VALUE, DELETED = "c0", "c1", "c2"


def merge_rows(folded: Fold, changes: list[tuple[Marker, int]], **more: pa.Array) -> pa.Table:
    keys = pa.array([key for _, key in changes], pa.int64())
    values = pa.array(folded.values)
    return pa.table(
        {
            KEY: keys.take(values),
            VALUE: values,
            **more,
            KIND: pa.array([str(kind) for kind in folded.kinds], pa.string()),
            MAY_INSERT: pa.array(folded.may_insert, pa.bool_()),
        }
    )


def folded(changes: list[tuple[Marker, int]]) -> pa.Table:
    keys = np.array([key for _, key in changes], dtype=np.int64)
    return merge_rows(fold(keys, np.array([m.value for m, _ in changes], dtype=np.int8)), changes)


@given(st.lists(st.integers(0, 3), max_size=5), CHANGES)
def test_it_equals_the_changes_in_order(
    present: list[int], changes: list[tuple[Marker, int]]
) -> None:
    before = [(key, -1 - at) for at, key in enumerate(present)]
    table = pa.table(
        {
            KEY: pa.array([key for key, _ in before], pa.int64()),
            VALUE: pa.array([value for _, value in before], pa.int64()),
        }
    )
    after = applied(table, folded(changes), [KEY])
    found = Counter(zip(*(column.to_pylist() for column in after.columns), strict=True))
    assert found == interpreted(before, changes)


def test_an_update_with_long_text_of_very_many_rows_is_not_applied_here() -> None:
    table = pa.table({KEY: pa.array([7] * 100, pa.int64()), VALUE: ["a"] * 100})
    one = folded([(Marker.UPDATE, 7)])
    for length, fits in ((1 << 17, True), (1 << 20, False)):
        change = one.set_column(1, VALUE, pa.array(["x" * length]))
        if fits:
            after = applied(table, change, [KEY])
            assert after.column(VALUE).to_pylist() == ["x" * length] * 100
            continue
        with pytest.raises(RepeatsTooMuch, match="1,048,676 bytes become 104,857,600"):
            applied(table, change, [KEY])


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([None, -100, -200])), max_size=6),
    CHANGES,
)
def test_it_equals_the_changes_in_order_where_deletes_are_soft(
    present: list[tuple[int, int | None]], changes: list[tuple[Marker, int]]
) -> None:
    before: _Softly = Counter((key, -1 - at, marked) for at, (key, marked) in enumerate(present))
    rows = sorted(before, key=lambda row: -row[1])
    table = pa.table(
        {
            KEY: pa.array([key for key, _, _ in rows], pa.int64()),
            VALUE: pa.array([value for _, value, _ in rows], pa.int64()),
            DELETED: pa.array([marked for _, _, marked in rows], pa.int64()),
        }
    )
    keys = np.array([key for _, key in changes], dtype=np.int64)
    soft = fold_softly(keys, np.array([m.value for m, _ in changes], dtype=np.int8))
    by = pa.array(soft.deleted_by, mask=soft.deleted_by < 0)
    marked_by = MarkedBy(DELETED, frozenset({DELETED}))
    after = applied(table, merge_rows(soft.fold, changes, **{DELETED: by}), [KEY], marked_by)
    found = Counter(zip(*(column.to_pylist() for column in after.columns), strict=True))
    assert found == interpreted_softly(before, changes)


def test_keys_are_the_same_as_spark_says() -> None:
    table = pa.table({KEY: [0.0, -0.0, NAN, None, 1.5], VALUE: [1, 2, 3, 4, 5]})
    rows = pa.table(
        {
            KEY: [-0.0, -NAN, None],
            VALUE: [10, 30, 40],
            KIND: ["update", "delete", "update"],
            MAY_INSERT: [True, False, True],
        }
    )
    after = applied(table, rows, [KEY])
    assert after.column(VALUE).to_pylist() == [10, 10, 40, 5]
    # An update writes its own key, too.
    assert [str(key) for key in after.column(KEY).to_pylist()] == ["-0.0", "-0.0", "None", "1.5"]
