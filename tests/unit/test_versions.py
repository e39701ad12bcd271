"""What a history is, by its definition (PROTOCOL §5.9)."""

from __future__ import annotations

import random

import pytest

from openmirror.protocol.names import fold_case
from openmirror.protocol.rows import (
    Change,
    ChangeFile,
    Marker,
    NoRowToUpdate,
    empty_table,
    interpret,
)
from openmirror.protocol.versions import (
    HISTORY_COLUMNS,
    apply_to_history,
    begin_with,
    empty_history,
    re_create,
)
from openmirror.spark.interpreter import versions_passed

_COLUMNS = ("id", "v")


def _file(*changes: tuple[Marker, int, str | None]) -> ChangeFile:
    return ChangeFile(_COLUMNS, [Change(m, {"id": k, "v": v}) for m, k, v in changes])


def _history(*files: ChangeFile, version: str | None = None) -> list[tuple[object, ...]]:
    """Value, what opened it and where, what closed it and where."""
    history = empty_history(["id"], version, "A")
    for sequence, file in enumerate(files, start=1):
        apply_to_history(history, file, sequence, sequence)
    return _seen(history.rows)


def _seen(rows: list[dict[str, object]]) -> list[tuple[object, ...]]:
    names = ("id", "v", "_operation", "_sequence", "_row")
    closed = ("_closed_operation", "_closed_sequence", "_closed_row")
    return sorted((tuple(row[name] for name in (*names, *closed)) for row in rows), key=repr)


_OPEN = (None, None, None)


def test_each_change_of_a_key_makes_a_version_of_its_own_also_in_one_file() -> None:
    file = _file((Marker.INSERT, 1, "a"), (Marker.UPDATE, 1, "b"), (Marker.DELETE, 1, None))
    assert _history(file) == [
        (1, "a", "insert", 1, 1, "update", 1, 2),
        (1, "b", "update", 1, 2, "delete", 1, 3),
    ]


def test_an_update_with_the_same_values_is_a_version_as_well() -> None:
    assert _history(_file((Marker.UPSERT, 1, "a")), _file((Marker.UPSERT, 1, "a"))) == [
        (1, "a", "upsert", 1, 1, "upsert", 2, 1),
        (1, "a", "upsert", 2, 1, *_OPEN),
    ]


def test_each_row_of_a_bag_has_a_version_of_its_own() -> None:
    first = _file((Marker.INSERT, 1, "a"), (Marker.INSERT, 1, "a"))
    assert _history(first, _file((Marker.UPDATE, 1, "b"))) == [
        (1, "a", "insert", 1, 1, "update", 2, 1),
        (1, "a", "insert", 1, 2, "update", 2, 1),
        (1, "b", "update", 2, 1, *_OPEN),
        (1, "b", "update", 2, 1, *_OPEN),
    ]


def test_a_truncate_closes_every_open_version() -> None:
    first = _file((Marker.INSERT, 1, "a"), (Marker.INSERT, 2, "b"), (Marker.DELETE, 2, None))
    assert _history(first, _file((Marker.TRUNCATE, 0, None), (Marker.INSERT, 1, "c"))) == [
        (1, "a", "insert", 1, 1, "truncate", 2, 1),
        (1, "c", "insert", 2, 2, *_OPEN),
        (2, "b", "insert", 1, 2, "delete", 1, 3),
    ]


def test_an_older_change_makes_no_version() -> None:
    file = _file((Marker.INSERT, 1, "5"), (Marker.UPDATE, 1, "4"), (Marker.UPDATE, 1, "6"))
    assert _history(file, version="v") == [
        (1, "5", "insert", 1, 1, "update", 1, 3),
        (1, "6", "update", 1, 3, *_OPEN),
    ]


def test_a_partial_update_carries_absent_columns_over() -> None:
    change = Change(Marker.PARTIAL_UPDATE, {"id": 1}, frozenset({"v"}))
    partial = ChangeFile(_COLUMNS, [change])
    assert _history(_file((Marker.INSERT, 1, "a")), partial) == [
        (1, "a", "insert", 1, 1, "partialUpdate", 2, 1),
        (1, "a", "partialUpdate", 2, 1, *_OPEN),
    ]
    with pytest.raises(NoRowToUpdate) as refused:
        _history(ChangeFile(_COLUMNS, [Change(Marker.INSERT, {"id": 2}), change]))
    assert refused.value.row == 1


def test_a_folder_that_is_made_again_closes_what_is_open_and_goes_on() -> None:
    history = empty_history(["id"], None, "A")
    apply_to_history(history, _file((Marker.INSERT, 1, "a")), 1, "t1")
    re_create(history, "B", empty_table(["id"]), "t2")
    apply_to_history(history, _file((Marker.INSERT, 1, "a")), 1, "t2")
    first, second = history.rows
    assert [first["_incarnation"], first["_closed_incarnation"], first["_valid_to"]] == [
        "A",
        "B",
        "t2",
    ]
    assert [first["_closed_operation"], first["_closed_sequence"]] == ["re-create", 0]
    assert [second["_incarnation"], second["_is_current"]] == ["B", True]


def test_a_history_that_begins_later_has_the_rows_that_are_there_and_goes_on() -> None:
    current = interpret([_file((Marker.INSERT, 1, "a"), (Marker.INSERT, 2, "b"))], ["id"])
    history = empty_history(["id"])
    begin_with(history, "A", current, 1, "now")
    apply_to_history(history, _file((Marker.DELETE, 2, None)), 2, "later")
    assert _seen(history.rows) == [
        (1, "a", "begin", 1, None, *_OPEN),
        (2, "b", "begin", 1, None, "delete", 2, 1),
    ]


@pytest.mark.parametrize("seed", range(20))
def test_what_is_open_is_the_current_table_after_every_file(seed: int) -> None:
    draw = random.Random(seed)
    kinds = [Marker.INSERT, Marker.UPDATE, Marker.DELETE, Marker.UPSERT, Marker.TRUNCATE]
    files = [
        _file(
            *(
                (draw.choices(kinds, (3, 3, 3, 3, 0.1))[0], draw.randint(0, 5), str(at))
                for at in range(30)
            )
        )
        for _ in range(4)
    ]
    history = empty_history(["id"], "v" if seed % 2 else None)
    for sequence, file in enumerate(files, start=1):
        apply_to_history(history, file, sequence, sequence)
        now = interpret(files[:sequence], ["id"], "v" if seed % 2 else None)
        ours = {fold_case(column.name) for column in HISTORY_COLUMNS}
        open_rows = [
            {name: value for name, value in row.items() if name not in ours}
            for row in history.rows
            if row["_is_current"]
        ]
        assert sorted(open_rows, key=repr) == sorted(now.rows, key=repr)


def test_spark_gets_of_each_version_what_opened_and_closed_it_and_whose_values_it_has() -> None:
    """Entries 0 and 1 are rows of the table: equal in the version column, they fare alike."""
    insert, update, partial = Marker.INSERT, Marker.UPDATE, Marker.PARTIAL_UPDATE
    markers = [insert, insert, partial, update]
    absent = [[], [], [1], []]
    passed = versions_passed(markers, [None] * 4, absent, 2, 2)
    assert sorted(passed) == [
        (0, 2, [0, 0]),
        (2, 3, [2, 0]),
        (2, 3, [2, 1]),
        (3, None, [3, 3]),
        (3, None, [3, 3]),
    ]
    assert versions_passed([insert], [None], [[]], 0, 2) == [(0, None, [0, 0])]


def test_rows_of_the_table_fare_by_their_versions() -> None:
    markers = [Marker.INSERT, Marker.INSERT, Marker.INSERT, Marker.DELETE]
    passed = versions_passed(markers, [1, 1, 3, 2], [[]] * 4, 3, 0)
    assert passed == [(0, 3, [])]
