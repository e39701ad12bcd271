"""A runner may be killed anywhere between the two tables of a folder: each comes out right."""

from __future__ import annotations

import json
import random
from collections.abc import Collection

import pytest

from openmirror.plan.decisions import Idle
from openmirror.ports import Step
from openmirror.protocol.versions import HISTORY_COLUMNS
from openmirror.table import layout
from tests.kill.drains import runners_that_die
from tests.kill.publishing import Published
from tests.property.histories import version_with_decided
from tests.zone import MIRROR, Mirror, bag

_STEPS = (Step.FOLDED, Step.DECIDED, Step.BEFORE_COMMIT, Step.COMMITTED)
_OURS = {column.name for column in HISTORY_COLUMNS}


@pytest.mark.parametrize(
    "processes",
    [set(), pytest.param(set(Step), marks=pytest.mark.soak)],
    ids=["none-is-a-process", "all-are-processes"],
)
def test_both_tables_of_a_folder_come_out_right_whatever_step_their_runners_died_at(
    mirror: Mirror, processes: Collection[Step]
) -> None:
    draw, dies_at = random.Random(7), runners_that_die(mirror, processes)
    path = mirror.zone.root / layout.mirror_settings(MIRROR)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"openmirror": {"history": "scd2"}}))
    tables = [Published(mirror.zone, name, seed) for seed, name in enumerate(("one", "two"))]
    for table in tables:
        table.send(1)
    for step in _STEPS:
        # With fewer than all four some are behind others, and one of a folder behind the other.
        dies_at(step, draw.randint(1, 4))
        for table in tables:
            table.send(1)
    for table in tables:
        for key in draw.sample([table.name, f"_history/{table.name}"], 2):
            assert isinstance(mirror.reconcile_until_idle(key), Idle)
        assert bag(mirror.rows(table.name)) == bag(table.expected())
        _assert_versions(mirror, table)


def _assert_versions(mirror: Mirror, table: Published) -> None:
    incarnation = mirror.observed(table.name).incarnation
    assert incarnation is not None
    versions = mirror.rows(f"_history/{table.name}")
    assert bag(map(version_with_decided, versions)) == bag(table.versions(incarnation)), table.name
    current = [{k: v for k, v in r.items() if k not in _OURS} for r in versions if r["_is_current"]]
    assert bag(current) == bag(mirror.rows(table.name))
