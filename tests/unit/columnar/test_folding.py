"""The fold in columns gives what the interpreter gives, for any changes of any keys."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmirror.columnar.folding import fold
from openmirror.columnar.keys import bounds, numbered
from openmirror.columnar.soft_folding import LIVE, fold_softly
from openmirror.ports.merge_rows import MergeKind
from openmirror.protocol.rows import (
    DELETED_AT,
    Change,
    ChangeFile,
    Marker,
    SoftDeletes,
    apply_file,
    empty_table,
)

MARKERS = [Marker.INSERT, Marker.UPDATE, Marker.DELETE, Marker.UPSERT]
CHANGES = st.lists(st.tuples(st.sampled_from(MARKERS), st.integers(0, 3)), max_size=24)
NAN = float("nan")


def interpreted(present: list[tuple[int, int]], changes: list[tuple[Marker, int]]) -> Counter:
    """Key and value of each row, a change's value being its place; those of before are negative."""
    table = empty_table(("k",))
    before = [Change(Marker.INSERT, {"k": key, "v": value}) for key, value in present]
    now = [Change(marker, {"k": key, "v": at}) for at, (marker, key) in enumerate(changes)]
    for rows in (before, now):
        apply_file(table, ChangeFile(("k", "v"), rows))
    return Counter((row["k"], row["v"]) for row in table.rows)


def merged(present: list[tuple[int, int]], changes: list[tuple[Marker, int]]) -> Counter:
    """The same by merging the fold: each clause as a MERGE has it."""
    keys = np.array([key for _, key in changes], dtype=np.int64)
    folded = fold(keys, np.array([marker.value for marker, _ in changes], dtype=np.int8))
    rows = Counter(present)
    merging = [
        (int(keys[value]), int(value), kind, may)
        for value, kind, may in zip(folded.values, folded.kinds, folded.may_insert, strict=True)
        if kind is not MergeKind.PLAIN_INSERT
    ]
    assert len({key for key, *_ in merging}) == len(merging), "two merge rows for one key"
    for key, value, kind, may in merging:
        matches = [row for row in rows.elements() if row[0] == key]
        for row in matches:
            rows[row] -= 1
        if kind is MergeKind.UPDATE:
            rows[key, value] += len(matches) or int(may)
    for value, kind in zip(folded.values, folded.kinds, strict=True):
        if kind is MergeKind.PLAIN_INSERT:
            rows[int(keys[value]), int(value)] += 1
    return +rows


@given(st.lists(st.integers(0, 3), max_size=5), CHANGES)
def test_one_merge_of_the_fold_equals_the_changes_in_order(
    present: list[int], changes: list[tuple[Marker, int]]
) -> None:
    table = [(key, -1 - at) for at, key in enumerate(present)]
    assert merged(table, changes) == interpreted(table, changes)


_Softly = Counter[tuple[int, int, int | None]]
"""Key, value and the delete that marked it; those of before have negative numbers."""


def interpreted_softly(present: _Softly, changes: list[tuple[Marker, int]]) -> _Softly:
    table = empty_table(("k",), None, SoftDeletes("at"))
    before = [
        Change(Marker.INSERT, {"k": key, "v": value, DELETED_AT: at})
        for key, value, at in present.elements()
    ]
    now = [Change(marker, {"k": k, "v": at, "at": at}) for at, (marker, k) in enumerate(changes)]
    for rows in (before, now):
        apply_file(table, ChangeFile(("k", "v"), rows), -1)
    return Counter((row["k"], row["v"], row[DELETED_AT]) for row in table.rows)


def merged_softly(present: _Softly, changes: list[tuple[Marker, int]]) -> _Softly:
    """One MERGE of the fold, in which a row of the table has at most one merge row."""
    keys = np.array([key for _, key in changes], dtype=np.int64)
    markers = np.array([marker.value for marker, _ in changes], dtype=np.int8)
    folded, deleted_by = fold_softly(keys, markers)
    rows, unmatched = Counter(present), list[tuple[int, int, int | None]]()
    seen = set[tuple[int, bool]]()
    for value, kind, may, by in zip(*folded, deleted_by, strict=True):
        row = int(keys[value]), int(value), None if by == LIVE else int(by)
        if kind is MergeKind.PLAIN_INSERT:
            unmatched.append(row)
            continue
        of_marked = kind is MergeKind.UNMARK
        assert (row[0], of_marked) not in seen, "two merge rows for one row of the table"
        seen.add((row[0], of_marked))
        matches = [
            old
            for old in present.elements()
            if old[0] == row[0] and (old[2] is not None) is of_marked
        ]
        for old in matches:
            rows[old] -= 1
            if kind is MergeKind.UPDATE:
                rows[row] += 1
            elif kind is MergeKind.MARK:
                rows[old[0], old[1], row[2]] += 1
        if kind is MergeKind.UPDATE and may and not matches:
            unmatched.append(row)
    return +(rows + Counter(unmatched))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([None, -5])), max_size=6),
    CHANGES,
)
def test_one_merge_of_the_soft_fold_equals_the_changes_in_order(
    present: list[tuple[int, int | None]], changes: list[tuple[Marker, int]]
) -> None:
    table = Counter((key, -1 - at, deleted) for at, (key, deleted) in enumerate(present))
    assert merged_softly(table, changes) == interpreted_softly(table, changes)


@pytest.mark.parametrize(
    ("values", "kind", "numbers"),
    [
        ([1, None, 1, None, 2], pa.int64(), [0, 1, 0, 1, 2]),
        ([0.0, -0.0, NAN, NAN, None], pa.float64(), [0, 0, 1, 1, 2]),
        ([0.0, -0.0, NAN, None], pa.float32(), [0, 0, 1, 2]),
        (["a", "A", "a ", "", None, ""], pa.string(), [0, 1, 2, 3, 4, 3]),
        ([b"\xff", b"", b"\xff"], pa.binary(), [0, 1, 0]),
        ([True, False, None, True], pa.bool_(), [0, 1, 2, 0]),
    ],
)
def test_keys_are_the_same_as_sql_says(
    values: list[object], kind: pa.DataType, numbers: list[int]
) -> None:
    found = numbered([pa.chunked_array([pa.array(values, kind)])], len(values))
    assert same_groups(found.tolist(), numbers)


def same_groups(one: list[int], other: list[int]) -> bool:
    return len(set(zip(one, other, strict=True))) == len(set(one)) == len(set(other))


def test_other_bits_of_nan_are_the_same_key() -> None:
    bits = np.array([0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000001], dtype=np.uint64)
    values = pa.array(bits.view(np.float64))
    assert same_groups(numbered([pa.chunked_array([values])], 3).tolist(), [0, 0, 0])


def test_keys_of_several_columns_are_the_same_where_all_are() -> None:
    columns = [pa.chunked_array([[1, 1, 2, 2, 1]]), pa.chunked_array([["a", "b", "a", None, "a"]])]
    assert same_groups(numbered(columns, 5).tolist(), [0, 1, 2, 3, 0])


@given(st.lists(st.lists(st.integers(0, 10**6), min_size=9, max_size=9), min_size=1, max_size=40))
def test_keys_of_many_columns_with_many_values_stay_apart(rows: list[list[int]]) -> None:
    columns = [pa.chunked_array([list(column)]) for column in zip(*rows, strict=True)]
    found = numbered(columns, len(rows)).tolist()
    assert same_groups(found, [rows.index(row) for row in rows])


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([3, -7, 5]), (-7, 5)),
        (pa.array([3, None]), None),
        (pa.array([], pa.int64()), None),
        (pa.array([1.5]), None),
        (pa.array(["a"]), None),
        (pa.array([-800_000_000, 0], pa.int32()).cast(pa.date32()), (-800_000_000, 0)),
    ],
)
def test_bounds_are_known_of_whole_numbers_and_days_alone(
    column: pa.Array, expected: tuple[int, int] | None
) -> None:
    assert bounds(pa.chunked_array([column])) == expected
