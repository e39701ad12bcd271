"""Short histories of one key in versioned tables, each in one commit of each kind."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import pyarrow as pa
import pytest

from openmirror.protocol.rows import Change, ChangeFile, Marker, interpret
from openmirror.spark import interpreting
from tests.zone import Mirror, bag

_VERSION_COLUMNS = (None, 1, 2, 3)
_STEPS = list(product((Marker.INSERT, Marker.UPSERT, Marker.DELETE), _VERSION_COLUMNS))
_TABLES: list[tuple[int | None, ...]] = [(), (2,), (None,), (1, 3), (None, 2, 2, 3)]
_Step = tuple[Marker, int | None]
_SEED = 20


def _histories() -> Iterator[tuple[tuple[int | None, ...], tuple[_Step, ...]]]:
    """Rows before, by their versions, and changes: all of up to two, many of up to seven."""
    draw = random.Random(_SEED)
    for length in (1, 2):
        yield from product(_TABLES, product(_STEPS, repeat=length))
    for steps in product(_STEPS, repeat=3):
        yield draw.choice(_TABLES), steps
    for _ in range(700):
        steps = tuple(draw.choice(_STEPS) for _ in range(draw.randint(4, 7)))
        yield draw.choice(_TABLES), steps


_Row = tuple[Marker, int, int | None, str]


def _files() -> list[list[_Row]]:
    """The rows before in the first file, then the n-th change of every key in the next but n."""
    files: list[list[_Row]] = [[] for _ in range(8)]
    for key, (before, steps) in enumerate(_histories()):
        files[0] += [
            (Marker.INSERT, key, version_column, f"0.{at}")
            for at, version_column in enumerate(before)
        ]
        for at, (marker, version_column) in enumerate(steps, start=1):
            files[at].append((marker, key, version_column, f"{at}"))
    return files


def _arrow(rows: list[_Row], version_column: pa.DataType) -> pa.Table:
    markers, keys, version_columns, values = zip(*rows, strict=True)
    return pa.table(
        {
            "__rowMarker__": pa.array([marker.value for marker in markers], pa.int8()),
            "id": pa.array(keys, pa.int32()),
            "g": pa.array(version_columns, version_column),
            "v": pa.array(values),
        }
    )


@pytest.mark.parametrize("kind", ["merge", "replace", "rewrite"])
def test_every_short_history_of_a_versioned_key_gives_what_the_interpreter_gives(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    if kind == "rewrite":
        # As with too many keys to send to where the table is read.
        monkeypatch.setattr(interpreting, "_FEW", 10)
    files = _files()
    mirror.zone.metadata("t", {"keyColumns": ["id"], "ConditionalUpdateColumn": "g"})
    mirror.zone.put("t", 1, _arrow(files[0], pa.int32()))
    if kind != "replace":
        mirror.reconcile_until_idle("t")
    for number, rows in enumerate(files[1:], start=2):
        grows = kind == "rewrite" and number == len(files)
        mirror.zone.put("t", number, _arrow(rows, pa.int64() if grows else pa.int32()))
    mirror.reconcile_until_idle("t")
    assert mirror.versions("t") == (1 if kind == "replace" else 2)
    changes = [
        ChangeFile(
            ("id", "g", "v"), [Change(m, {"id": key, "g": g, "v": v}) for m, key, g, v in rows]
        )
        for rows in files
    ]
    assert bag(mirror.rows("t")) == bag(interpret(changes, ["id"], "g").rows), f"seed {_SEED}"
