"""Histories of tables give what the interpreter gives, by any batching of either table."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from openmirror.errors import ConditionFailed
from openmirror.plan.decisions import Idle
from openmirror.ports import Step, Steps
from openmirror.protocol.rows import interpret
from openmirror.protocol.versions import (
    HISTORY_COLUMNS,
    apply_to_history,
    begin_with,
    empty_history,
)
from openmirror.table import layout
from tests.property.histories import (
    DECIDED,
    History,
    random_history,
    version_with_decided,
)
from tests.property.test_histories import Recording
from tests.zone import MIRROR, Mirror, bag

_SMALL = {"keys": 40, "files": 5, "rows": 100}
_OURS = {column.name for column in HISTORY_COLUMNS}
_DEATHS = (Step.DECIDED, Step.FENCED, Step.BEFORE_COMMIT, Step.COMMITTED)


class Dead(BaseException):
    """A runner is gone: nothing of it counts the failure."""


def dies_at(wanted: Step) -> Steps:
    """Steps that end a runner at the first of these."""

    def steps(step: Step) -> None:
        if step is wanted:
            raise Dead(step)

    return steps


def test_random_histories_give_what_the_interpreter_gives(mirror: Mirror) -> None:
    check_versions(mirror, [6, 3], **_SMALL)


def test_random_histories_of_versioned_tables_give_what_the_interpreter_gives(
    mirror: Mirror,
) -> None:
    check_versions(mirror, [4, 19], versioned=True, **_SMALL)


def test_random_histories_with_extensions_give_what_the_interpreter_gives(mirror: Mirror) -> None:
    check_versions(mirror, [3, 18], extended=True, **_SMALL)


@pytest.mark.soak
@pytest.mark.parametrize("kind", [{}, {"versioned": True}, {"extended": True}])
def test_any_random_history_gives_what_the_interpreter_gives(
    mirror: Mirror, kind: dict[str, int]
) -> None:
    check_versions(mirror, list(range(300, 325)), **kind)


def check_versions(mirror: Mirror, seeds: list[int], **kind: int) -> None:
    """Publish one table a seed, drain it beside its history, each dying once, replay, compare.

    Every second table has data when it gets its history. `kind` is what `random_history` takes
    beside its seed.
    """
    draw = random.Random(f"{seeds} {kind}")
    engine = Recording(mirror)
    kept: dict[str, dict[str, str]] = {}

    def drain(key: str) -> None:
        limits = replace(mirror.ports.limits, batch_files=draw.choice([1, 2, 3, 100]))
        worker = Mirror(mirror.zone, mirror.spark, limits)
        worker.engine = engine
        with suppress(Dead):
            worker.with_steps(dies_at(draw.choice(_DEATHS))).reconcile_until_idle(key)
        decision = worker.reconcile_until_idle(key)
        assert isinstance(decision, Idle), (key, decision)

    for at, seed in enumerate(seeds):
        history, table = random_history(seed, **kind), f"t{seed}"
        again = f"replay with: random_history({seed}, **{kind})"
        assert history.expected().columns, "choose a seed whose table has columns"
        mirror.zone.metadata(table, history.metadata)
        before = len(history.files) // 2 if at % 2 else 0
        for number, file in enumerate(history.files[:before], start=1):
            mirror.zone.put(table, number, file)
        if before:
            drain(table)
        kept[f"dbo.{table}"] = {"history": "scd2"}
        settings = mirror.zone.root / layout.mirror_settings(MIRROR)
        settings.write_text(json.dumps({"openmirror": {"tables": kept}}))
        for number, file in enumerate(history.files[before:], start=before + 1):
            mirror.zone.put(table, number, file)
        key = f"_history/{table}"
        with ThreadPoolExecutor(2) as workers:
            list(workers.map(drain, [table, key]))
        _compare(mirror, table, history, again)
        versions = mirror.versions(key)
        for item in [one for one in engine.committed if one[0].folder.key == key][:2]:
            with suppress(ConditionFailed):  # by now the current table may have been begun anew
                engine.replay(*item)
        assert mirror.versions(key) == versions, f"a replay was committed: {again}"


def _compare(mirror: Mirror, table: str, history: History, again: str) -> None:
    rows = mirror.rows(f"_history/{table}")
    expected = _expected(mirror, table, history)
    assert bag(map(version_with_decided, rows)) == bag(expected), again
    current = [{k: v for k, v in r.items() if k not in _OURS} for r in rows if r["_is_current"]]
    assert bag(current) == bag(mirror.rows(table)), again


def _expected(mirror: Mirror, table: str, history: History) -> list[dict[str, Any]]:
    incarnation = mirror.observed(table).incarnation
    begun = mirror.control(f"_history/{table}").begun
    assert incarnation is not None
    versions = empty_history(history.key_columns, history.version_column, incarnation)
    files, began = history.grown(), begun.position if begun else 0
    if began:
        now = interpret(files[:began], history.key_columns, history.version_column)
        begin_with(versions, incarnation, now, began, DECIDED)
    for sequence, file in enumerate(files[began:], start=began + 1):
        apply_to_history(versions, file, sequence, DECIDED)
    return versions.rows
