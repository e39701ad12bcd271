"""Soft deletes by definition: what the interpreter marks, and that nothing else is different."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmirror.protocol.rows import (
    DELETED_AT,
    Change,
    ChangeFile,
    Marker,
    NoRowToUpdate,
    SoftDeletes,
    Table,
    apply_file,
    empty_table,
)

ADD, PUT, END, ALL, PART = (
    Marker.INSERT,
    Marker.UPSERT,
    Marker.DELETE,
    Marker.TRUNCATE,
    Marker.PARTIAL_UPDATE,
)
_Changes = list[tuple[Marker, int]]
CHANGES = st.lists(st.tuples(st.sampled_from([*Marker]), st.integers(0, 2)), max_size=16)


def changes_of(given_: _Changes) -> list[Change]:
    """Each with its place as value, version and time."""
    return [
        Change(
            marker,
            {"k": key, "v": at, "g": at % 5, "at": at},
            frozenset({"v"}) if marker is PART else frozenset(),
        )
        for at, (marker, key) in enumerate(given_)
    ]


def applied(table: Table, changes: list[Change], decided_at: int = 0) -> Table:
    """Those that are possible: a partial update of no row is passed over."""
    for change in changes:
        try:
            apply_file(table, ChangeFile(("k", "v", "g", "at"), [change]), decided_at)
        except NoRowToUpdate:
            continue
    return table


def rows(table: Table) -> list[tuple[Any, Any, Any]]:
    """Key, value and time of deletion."""
    found = [(row["k"], row["v"], row[DELETED_AT]) for row in table.rows]
    return sorted(found, key=repr)


def softly(*changes: tuple[Marker, int]) -> list[tuple[Any, Any, Any]]:
    return rows(applied(empty_table(["k"], None, SoftDeletes()), changes_of(list(changes)), 77))


@pytest.mark.parametrize("version", [None, "g"])
@pytest.mark.parametrize("column", [None, "AT"])
@given(changes=CHANGES)
def test_the_live_rows_are_the_table_that_there_would_be_without(
    version: str | None, column: str | None, changes: _Changes
) -> None:
    hard = applied(empty_table(["k"], version), changes_of(changes))
    soft = applied(empty_table(["k"], version, SoftDeletes(column)), changes_of(changes), 1)
    live = Counter((row["k"], row["v"]) for row in soft.rows if row[DELETED_AT] is None)
    assert live == Counter((row["k"], row["v"]) for row in hard.rows)


@given(changes=CHANGES, cut=st.integers(0, 16))
def test_with_times_of_the_publisher_the_whole_table_is_the_same_by_any_batches(
    changes: _Changes, cut: int
) -> None:
    at_once = applied(empty_table(["k"], None, SoftDeletes("at")), changes_of(changes), -1)
    in_two = empty_table(["k"], None, SoftDeletes("at"))
    applied(in_two, changes_of(changes)[:cut], -1)
    applied(in_two, changes_of(changes)[cut:], -1)
    assert rows(in_two) == rows(at_once)


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ([(ADD, 1), (END, 1)], [(1, 0, 77)]),
        ([(ADD, 1), (PUT, 1), (END, 1)], [(1, 1, 77)]),
        ([(ADD, 1), (END, 1), (ADD, 1)], [(1, 0, 77), (1, 2, None)]),
        ([(ADD, 1), (END, 1), (ADD, 1), (END, 1)], [(1, 0, 77), (1, 2, 77)]),
        ([(ADD, 1), (END, 1), (PUT, 1)], [(1, 2, None)]),
        ([(ADD, 1), (END, 1), (ADD, 1), (PUT, 1)], [(1, 3, None)]),
        ([(ADD, 1), (ADD, 1), (END, 1)], [(1, 0, 77), (1, 1, 77)]),
        ([(ADD, 1), (ADD, 2), (ALL, 0)], [(1, 0, 77), (2, 1, 77)]),
        ([(ADD, 1), (ALL, 0), (PUT, 1)], [(1, 2, None)]),
        ([(END, 1)], []),
    ],
)
def test_a_delete_marks_what_is_live_and_an_update_takes_what_is_marked_away(
    changes: _Changes, left: list[tuple[int, int, int | None]]
) -> None:
    assert softly(*changes) == sorted(left, key=repr)


def test_a_partial_update_finds_no_row_that_is_marked() -> None:
    table = applied(empty_table(["k"], None, SoftDeletes()), changes_of([(ADD, 1), (END, 1)]), 77)
    with pytest.raises(NoRowToUpdate):
        apply_file(table, ChangeFile(("k", "v"), changes_of([(PART, 1)])), 78)
    assert rows(table) == [(1, 0, 77)]


def test_an_older_delete_marks_only_the_rows_for_which_it_counts() -> None:
    table = empty_table(["k"], "g", SoftDeletes())
    versions = [(ADD, 3), (ADD, 9), (END, 5)]
    changes = [Change(m, {"k": 1, "v": g, "g": g}) for m, g in versions]
    apply_file(table, ChangeFile(("k", "v", "g"), changes), 77)
    assert rows(table) == [(1, 3, 77), (1, 9, None)]


def test_a_table_without_keys_has_nothing_to_mark() -> None:
    table = empty_table([], None, SoftDeletes())
    apply_file(table, ChangeFile(("v",), [Change(ADD, {"v": 1}), Change(ALL, {})]), 77)
    assert (table.columns, table.rows) == (["v"], [])


def test_nothing_is_marked_without_a_time() -> None:
    table = empty_table(["k"], None, SoftDeletes("at"))
    with pytest.raises(ValueError, match="decided"):
        apply_file(table, ChangeFile(("k",), changes_of([(ADD, 1), (ALL, 1)])))
