"""What is left of one key, shown by positions alone."""

from __future__ import annotations

import random

import pytest

from openmirror.protocol.rows import PUBLISHED, Change, ChangeFile, interpret
from openmirror.spark.interpreter import rows_left


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
