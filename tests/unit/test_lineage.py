"""Lineage by definition: each row has the place of the change that wrote it, and nothing else is
different."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmirror.protocol.lineage import LINEAGE, Lineage
from openmirror.protocol.rows import (
    Change,
    ChangeFile,
    Marker,
    NoRowToUpdate,
    SoftDeletes,
    Table,
    apply_file,
    empty_table,
)

_Changes = list[tuple[Marker, int]]
CHANGES = st.lists(st.tuples(st.sampled_from([*Marker]), st.integers(0, 2)), max_size=16)
SOFT = st.sampled_from([None, SoftDeletes()])


def change(at: int, marker: Marker, key: int) -> Change:
    """Its value and its version are its place; a partial update leaves `w` alone."""
    row = {"k": key, "v": at, "w": at, "g": at % 5}
    return Change(marker, row, frozenset({"w"}) if marker is Marker.PARTIAL_UPDATE else frozenset())


def applied(table: Table, changes: _Changes, decided_at: int = 7) -> Table:
    """One file a change; a partial update of no row is passed over."""
    for number, (marker, key) in enumerate(changes, start=1):
        file = ChangeFile(("k", "v", "w", "g"), [change(number, marker, key)], f"f{number}", number)
        try:
            apply_file(table, file, decided_at)
        except NoRowToUpdate:
            continue
    return table


def bag(rows: list[dict[str, Any]], *, without: tuple[str, ...] = ()) -> Counter[Any]:
    return Counter(tuple(v for name, v in row.items() if name not in without) for row in rows)


@pytest.mark.parametrize("version", [None, "g"])
@given(changes=CHANGES, soft=SOFT)
def test_a_table_with_lineage_is_the_one_without_and_five_columns(
    version: str | None, changes: _Changes, soft: SoftDeletes | None
) -> None:
    plain = applied(empty_table(["k"], version, soft), changes)
    table = applied(empty_table(["k"], version, soft, Lineage.WRITTEN), changes)
    assert bag(table.rows, without=LINEAGE) == bag(plain.rows)
    assert table.columns == [*plain.columns, *(LINEAGE if plain.columns else ())]


@pytest.mark.parametrize("version", [None, "g"])
@given(changes=CHANGES, soft=SOFT)
def test_each_row_has_the_place_of_the_change_whose_values_it_has_or_that_marked_it(
    version: str | None, changes: _Changes, soft: SoftDeletes | None
) -> None:
    table = applied(empty_table(["k"], version, soft, Lineage.WRITTEN), changes)
    for row in table.rows:
        number = row["_sequence"]
        assert isinstance(number, int)
        marker, key = changes[number - 1]
        place = (f"f{number}", number, 1, 7, marker.operation)
        assert tuple(row[name] for name in LINEAGE) == place
        if row.get("_deleted_at") is None:
            assert (row["k"], row["v"]) == (key, number)
            assert marker not in (Marker.DELETE, Marker.TRUNCATE)
        else:
            assert marker in (Marker.DELETE, Marker.TRUNCATE)


@given(before=CHANGES, after=CHANGES, soft=SOFT)
def test_what_is_written_once_it_is_off_has_none_and_what_is_not_keeps_its_own(
    before: _Changes, after: _Changes, soft: SoftDeletes | None
) -> None:
    table = applied(empty_table(["k"], None, soft, Lineage.WRITTEN), before)
    known = bag(table.rows)
    table.lineage = Lineage.EMPTY
    applied(table, after)
    for row in table.rows:
        place = [row.get(name) for name in LINEAGE]
        assert place == [None] * 5 or tuple(row.values()) in known


@pytest.mark.parametrize(
    ("marker", "name"),
    [
        (Marker.INSERT, "insert"),
        (Marker.UPDATE, "update"),
        (Marker.DELETE, "delete"),
        (Marker.UPSERT, "upsert"),
        (Marker.TRUNCATE, "truncate"),
        (Marker.PARTIAL_UPDATE, "partialUpdate"),
    ],
)
def test_an_operation_is_called_as_the_protocol_calls_it(marker: Marker, name: str) -> None:
    assert marker.operation == name


def test_rows_of_a_file_are_counted_from_one() -> None:
    table = empty_table([], lineage=Lineage.WRITTEN)
    changes = [Change(Marker.INSERT, {"v": at}) for at in range(3)]
    apply_file(table, ChangeFile(("v",), changes, "f", 4), 7)
    assert [(row["v"], row["_row"], row["_sequence"]) for row in table.rows] == [
        (0, 1, 4),
        (1, 2, 4),
        (2, 3, 4),
    ]
