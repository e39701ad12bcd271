"""Tables with lineage: how they begin and end, whose the names are, and no cost where it is off."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openmirror.columnar.changes import ChangesInOrder
from openmirror.columnar.lineage import lineage_places
from openmirror.columnar.lineage import with_lineage as in_columns
from openmirror.plan import Batch
from openmirror.plan.decisions import Idle, Pause
from openmirror.plan.lineage import ORIGIN
from openmirror.ports.merge_rows import lineage_positions
from openmirror.protocol.lineage import LINEAGE, Lineage
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.protocol.rules import Code
from openmirror.spark.lineage import with_lineage as in_spark
from openmirror.table import layout
from openmirror.table.log import TableLog
from tests.harness.world import NO_GRACE, World

ORDERS = TableFolder("m", TablePath.parse("orders"))
ON = {ORIGIN.property: "true"}


class Traced(World):
    """A mirror by these settings, and the batches of its table."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(NO_GRACE)
        self.count = 0
        self.say(**settings)

    def say(self, **settings: Any) -> None:
        text = json.dumps({"openmirror": settings}).encode()
        self.store.write(layout.mirror_settings("m"), text)

    def batch(self) -> Batch:
        self.count += 1
        self.land(ORDERS, self.count)
        assert isinstance(self.reconcile_until_idle(ORDERS), Idle)
        return self.engine.batches[-1]

    @property
    def log(self) -> TableLog:
        log = self.observed(ORDERS).log
        assert isinstance(log, TableLog)
        return log


def test_the_log_says_whose_the_columns_are_by_one_commit() -> None:
    world = Traced()
    world.batch()
    assert (world.log.properties, set(LINEAGE) & set(world.log.schema.names)) == ({}, set())
    world.say(lineage=True)
    batch = world.batch()
    assert (batch.lineage, dict(batch.features.properties)) == (Lineage.WRITTEN, ON)
    assert world.log.schema.names[-5:] == LINEAGE
    assert not world.batch().features.is_due
    assert world.log.properties == ON


def test_columns_stay_empty_once_it_is_off_until_the_table_begins_anew() -> None:
    world = Traced(lineage=True)
    world.batch()
    world.say()
    assert world.batch().lineage is Lineage.EMPTY
    assert (world.log.properties, world.log.schema.names[-5:]) == (ON, LINEAGE)
    world.delete_folder(ORDERS)
    world.count = 0
    assert world.batch().lineage is Lineage.NONE
    assert (world.log.properties, set(LINEAGE) & set(world.log.schema.names)) == ({}, set())


def test_a_table_says_otherwise_than_its_mirror() -> None:
    world = Traced(lineage=True, tables={"dbo.orders": {"lineage": False}})
    assert world.batch().lineage is Lineage.NONE


def test_a_runner_that_died_between_the_property_and_its_batch_leaves_names_of_ours() -> None:
    world = Traced()
    table = world.batch().table
    first, second = (layout.join(table, "_delta_log", f"{version:020d}.json") for version in (0, 1))
    actions = map(json.loads, world.store.read(first).data.splitlines())
    [described] = [action for action in actions if "metaData" in action]
    described["metaData"]["configuration"] = ON
    world.store.write(second, json.dumps(described).encode())
    batch = world.batch()
    assert (batch.lineage, lineage_positions(batch)) == (Lineage.EMPTY, [])
    world.land(ORDERS, 3, id=[1], _row=[1])
    assert isinstance(world.reconcile_until_idle(ORDERS), Pause)


def test_where_it_is_off_a_batch_is_read_and_folded_as_ever() -> None:
    world = Traced(delete="soft")
    batch = world.batch()
    changes, frame = ChangesInOrder(batch, ()), object()
    changes.__dict__["columns"] = columns = [object()]
    assert in_columns(changes) is columns  # type: ignore[comparison-overlap]
    assert in_spark(frame, batch) is frame  # type: ignore[arg-type]
    assert (lineage_places(batch), lineage_positions(batch)) == (frozenset(), [])


@pytest.mark.parametrize("asked", [{"lineage": True}, {"delete": "soft"}])
def test_a_problem_over_a_name_says_how_to_go_on(asked: dict[str, Any]) -> None:
    world = Traced(**asked)
    name = "_file" if "lineage" in asked else "_deleted_at"
    world.batch()
    world.land(ORDERS, 2, **{"id": [1], name: [1]})
    decision = world.reconcile_until_idle(ORDERS)
    assert isinstance(decision, Pause)
    assert decision.problem.code is Code.COLUMN_NAME_RESERVED
    assert next(iter(asked)) in decision.problem.solution
