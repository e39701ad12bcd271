"""Histories of tables give what the interpreter gives, by any batching of either table."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from openmirror.plan.decisions import Idle
from openmirror.protocol.versions import HISTORY_COLUMNS, apply_to_history, empty_history
from openmirror.table import layout
from tests.property.histories import DECIDED, History, random_history
from tests.property.test_histories import Recording
from tests.zone import MIRROR, Mirror, bag

_SMALL = {"keys": 40, "files": 4, "rows": 100}
_TIMES = ("_valid_from", "_valid_to")
_OURS = {column.name for column in HISTORY_COLUMNS}


def test_random_histories_give_what_the_interpreter_gives(mirror: Mirror) -> None:
    check_versions(mirror, [9, 66, 75], **_SMALL)


def test_random_histories_of_versioned_tables_give_what_the_interpreter_gives(
    mirror: Mirror,
) -> None:
    check_versions(mirror, [3, 4], versioned=True, **_SMALL)


def test_random_histories_with_extensions_give_what_the_interpreter_gives(mirror: Mirror) -> None:
    check_versions(mirror, [5, 6], extended=True, **_SMALL)


@pytest.mark.soak
@pytest.mark.parametrize("kind", [{}, {"versioned": True}, {"extended": True}])
def test_any_random_history_gives_what_the_interpreter_gives(
    mirror: Mirror, kind: dict[str, int]
) -> None:
    check_versions(mirror, list(range(300, 325)), **kind)


def check_versions(mirror: Mirror, seeds: list[int], **kind: int) -> None:
    """Publish one table a seed, drain it and its history by batches of their own, replay, compare.

    `kind` is what `random_history` takes beside its seed.
    """
    settings = mirror.zone.root / layout.mirror_settings(MIRROR)
    settings.write_text(json.dumps({"openmirror": {"history": "scd2"}}))
    draw = random.Random(f"{seeds} {kind}")
    engine = Recording(mirror)
    for seed in seeds:
        history, table = random_history(seed, **kind), f"t{seed}"
        mirror.zone.metadata(table, history.metadata)
        for number, file in enumerate(history.files, start=1):
            mirror.zone.put(table, number, file)
        order = [table, f"_history/{table}"]
        draw.shuffle(order)
        for key in order:
            limits = replace(mirror.ports.limits, batch_files=draw.choice([1, 2, 3, 100]))
            worker = Mirror(mirror.zone, mirror.spark, limits)
            worker.engine = engine
            decision = worker.reconcile_until_idle(key)
            assert isinstance(decision, Idle), (seed, key, decision)
        _compare(mirror, table, history, f"replay with: random_history({seed}, **{kind})")
        before = mirror.versions(f"_history/{table}")
        for item in [i for i in engine.committed if i[0].folder.key == f"_history/{table}"][:2]:
            engine.replay(*item)
        assert mirror.versions(f"_history/{table}") == before, f"{seed}: a replay was committed"


def _compare(mirror: Mirror, table: str, history: History, again: str) -> None:
    rows = mirror.rows(f"_history/{table}")
    incarnation = mirror.observed(table).incarnation
    assert incarnation is not None
    expected = _expected(history, incarnation)
    assert bag(map(_decided, rows)) == bag(expected), again
    current = [{k: v for k, v in r.items() if k not in _OURS} for r in rows if r["_is_current"]]
    columns = {name for row in current for name in row}
    now = [{k: v for k, v in row.items() if k in columns} for row in mirror.rows(table)]
    assert bag(current) == bag(now), again


def _expected(history: History, incarnation: str) -> list[dict[str, Any]]:
    versions = empty_history(history.key_columns, history.version_column, incarnation)
    for sequence, file in enumerate(history.grown(), start=1):
        apply_to_history(versions, file, sequence, DECIDED)
    return versions.rows


def _decided(row: dict[str, Any]) -> dict[str, Any]:
    return {k: DECIDED if k in _TIMES and v is not None else v for k, v in row.items()}
