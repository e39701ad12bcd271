"""Soft deletes give what the interpreter gives, by every commit and any batching."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from openmirror.plan.decisions import Idle
from openmirror.protocol.rows import Change, ChangeFile, Marker, SoftDeletes, interpret
from openmirror.table import layout
from tests.property.histories import DECIDED
from tests.property.test_histories import Recording, check, with_decided
from tests.zone import MIRROR, Mirror, bag

SOFT = SoftDeletes()
_SMALL = {"keys": 60, "files": 5, "rows": 120}


def test_random_histories_give_what_the_interpreter_gives(mirror: Mirror) -> None:
    check(mirror, [66, 75], SOFT, **_SMALL)


def test_random_histories_of_versioned_tables_give_what_the_interpreter_gives(
    mirror: Mirror,
) -> None:
    check(mirror, [3], SOFT, versioned=True, **_SMALL)


def test_random_histories_with_extensions_give_what_the_interpreter_gives(mirror: Mirror) -> None:
    check(mirror, [5], SOFT, extended=True, **_SMALL)


@pytest.mark.soak
@pytest.mark.parametrize("kind", [{}, {"versioned": True}, {"extended": True}])
def test_any_random_history_gives_what_the_interpreter_gives(
    mirror: Mirror, kind: dict[str, int]
) -> None:
    check(mirror, list(range(300, 325)), SOFT, **kind)


# --- Times of the publisher -----------------------------------------------------------------------

_KINDS = [Marker.INSERT, Marker.UPDATE, Marker.DELETE, Marker.DELETE, Marker.UPSERT]
_BEGAN = datetime(2013, 1, 1, tzinfo=UTC)
_Row = tuple[Marker, int, str, datetime | None]


def _files(draw: random.Random, *, truncates: bool) -> list[list[_Row]]:
    """Few keys, so that each goes through everything; rarely a delete that says no time."""
    at = 0

    def rows() -> Iterator[_Row]:
        nonlocal at
        for _ in range(60):
            at += 1
            kind = draw.choice(_KINDS)
            if truncates and draw.random() < 0.02:
                kind = Marker.TRUNCATE
            when = None if draw.random() < 0.1 else _BEGAN + timedelta(seconds=at)
            yield kind, draw.randint(0, 12), str(at), when

    return [list(rows()) for _ in range(4)]


def _arrow(rows: list[_Row], value: pa.DataType) -> pa.Table:
    markers, keys, values, times = zip(*rows, strict=True)
    return pa.table(
        {
            "id": pa.array(keys, pa.int32()),
            "v": pa.array(map(int, values), value),
            "At": pa.array(times, pa.timestamp("us", "UTC")),
            "__rowMarker__": pa.array([marker.value for marker in markers], pa.int8()),
        }
    )


@pytest.mark.parametrize("truncates", [False, True])
def test_rows_have_the_time_at_which_their_publisher_says_that_they_were_deleted(
    mirror: Mirror, truncates: bool
) -> None:
    draw = random.Random(f"times {truncates}")
    settings = {"delete": "soft", "deletedAt": "AT"}
    path = mirror.zone.root / layout.mirror_settings(MIRROR)
    path.write_text(json.dumps({"openmirror": settings}))
    files = _files(draw, truncates=truncates)
    mirror.zone.metadata("t", {"keyColumns": ["id"]})
    for number, rows in enumerate(files, start=1):
        # The last file makes its batch a rewrite.
        kind = pa.int64() if number == len(files) else pa.int32()
        mirror.zone.put("t", number, _arrow(rows, kind))
    limits = replace(mirror.ports.limits, batch_files=2 if truncates else 1)
    worker = Mirror(mirror.zone, mirror.spark, limits)
    worker.engine = Recording(mirror)
    assert isinstance(worker.reconcile_until_idle("t"), Idle)
    changes = [
        ChangeFile(
            ("id", "v", "At"),
            [Change(m, {"id": k, "v": int(v), "at": at}) for m, k, v, at in rows],
        )
        for rows in files
    ]
    expected = interpret(changes, ["id"], None, SoftDeletes("at"), DECIDED)
    assert bag(map(with_decided, mirror.rows("t"))) == bag(expected.rows)
    live = [row for row in mirror.rows("t") if row.pop("_deleted_at") is None]
    assert bag(live) == bag(interpret(changes, ["id"]).rows)
    assert len(live) < len(expected.rows), "this history shows marked rows"
