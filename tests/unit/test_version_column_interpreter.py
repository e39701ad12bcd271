"""What is left of one key, shown by positions alone."""

from __future__ import annotations

import random

import pytest

from openmirror.protocol.rows import (
    DELETED_AT,
    PUBLISHED,
    Change,
    ChangeFile,
    Marker,
    SoftDeletes,
    interpret,
)
from openmirror.spark.interpreter import AS_IT_WAS, rows_left, rows_left_softly, versions_passed


@pytest.mark.parametrize("seed", range(50))
def test_what_is_left_of_a_key_is_what_the_interpreter_leaves(seed: int) -> None:
    draw = random.Random(seed)
    steps = [(draw.choice(sorted(PUBLISHED)), draw.choice([None, 1, 2, 3])) for _ in range(12)]
    changes = [
        Change(marker, {"id": 1, "g": g, "v": str(at)}) for at, (marker, g) in enumerate(steps)
    ]
    whole = interpret([ChangeFile(("id", "g", "v"), changes)], ["id"], "G")
    left = rows_left([marker.value for marker, _ in steps], [g for _, g in steps])
    assert [changes[at].row for at in left] == whole.rows


def test_a_row_that_an_update_put_in_two_places_is_left_twice() -> None:
    assert rows_left([0, 0, 1], [1, 2, 2]) == [2, 2]


@pytest.mark.parametrize("seed", range(50))
def test_so_it_is_where_deletes_are_soft(seed: int) -> None:
    """With rows that were there before, live ones and marked ones."""
    draw = random.Random(seed)
    before = [(draw.choice([None, 1, 2, 3]), draw.random() < 0.5) for _ in range(3)]
    steps = [(draw.choice(sorted(PUBLISHED)), draw.choice([None, 1, 2, 3])) for _ in range(8)]
    there = [
        Change(Marker.INSERT, {"g": g, "v": at, "at": at, DELETED_AT: -5 if marked else None})
        for at, (g, marked) in enumerate(before)
    ]
    changes = [
        *there,
        *(Change(m, {"g": g, "v": at, "at": at}) for at, (m, g) in enumerate(steps, len(there))),
    ]
    whole = interpret([ChangeFile(("g", "v"), changes)], ["id"], "G", SoftDeletes("at"))
    left = rows_left_softly(
        [change.marker.value for change in changes],
        [change.row["g"] for change in changes],
        [marked for _, marked in before] + [False] * len(steps),
    )
    found = sorted(((at, -5 if by == AS_IT_WAS else by) for at, by in left), key=repr)
    assert found == sorted(((row["v"], row[DELETED_AT]) for row in whole.rows), key=repr)


def test_versions_that_come_as_what_has_no_hash_are_bytes() -> None:
    versions = [b"a", b"a", b"b"]
    markers, absent = [0, 0, 1], [(), (), ()]
    unhashable = [bytearray(version) for version in versions]
    passed = versions_passed(markers, unhashable, absent, 2, 0)  # type: ignore[arg-type]
    assert passed == versions_passed(markers, versions, absent, 2, 0)
    assert passed
