"""A cleanup pass moved files and died before it wrote that down; then their numbers come again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from openmirror.operate.requests import Operator, reseed
from openmirror.plan import Limits
from openmirror.plan.decisions import Apply, Idle
from openmirror.table import layout
from tests.harness.publishing import file_name, table
from tests.harness.world import World

FOLDER = table("m", "T")
OPERATOR = Operator("ann")


def applied_then_moved(*moved: int) -> World:
    world = World(Limits(metadata_grace=timedelta(), batch_files=1))
    world.land(FOLDER, 1, 2, 3, 4)
    assert isinstance(world.reconcile_until_idle(FOLDER), Idle)
    place, archive = layout.table_folder(FOLDER), layout.archive_folder(FOLDER)
    for entry in world.store.list_folder(place).entries:
        if entry.name in {file_name(number) for number in moved}:
            there = layout.join(archive, entry.name)
            world.store.move_file(layout.join(place, entry.name), there, entry.etag)
    return world


def test_a_number_that_came_again_does_not_stop_the_table() -> None:
    world = applied_then_moved(1, 2)
    world.land(FOLDER, 2, 5)
    assert isinstance(world.reconcile(FOLDER), Apply)


@pytest.mark.parametrize("again", [(1,), (1, 2), (2,), (1, 2, 3)])
def test_a_reseed_reads_what_was_applied_and_not_what_came_again(again: tuple[int, ...]) -> None:
    world = applied_then_moved(1, 2, 3)
    world.land(FOLDER, *again)
    reseed(world.ports, FOLDER, OPERATOR)
    world.engine.batches.clear()
    assert isinstance(world.reconcile_until_idle(FOLDER), Idle)
    batches = world.engine.batches
    read = [(file.sequence, file.archived) for batch in batches for file in batch.files]
    assert read == [(1, True), (2, True), (3, True), (4, False)]
