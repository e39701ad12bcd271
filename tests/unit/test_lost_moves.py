"""A cleanup pass moved files and died before it wrote that down; then their numbers come again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from openmirror.deltalog import LogReplay
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.operate.requests import Operator, reseed
from openmirror.plan import Limits
from openmirror.plan.decisions import Apply, Idle
from openmirror.reconcile.reconciliation import reconcile, reconcile_until_idle
from openmirror.reconcile.root_ports import RootPorts
from openmirror.stores.memory.files import MemoryStore
from openmirror.table import layout
from tests.unit.paper import PaperEngine, land, table

FOLDER = table("m", "T")
OPERATOR = Operator("ann")


def applied_then_moved(*moved: int) -> tuple[RootPorts, PaperEngine]:
    store = MemoryStore(lambda: datetime.now(UTC))
    store.make_folder(layout.landing_zone("m"))
    limits = Limits(metadata_grace=timedelta(), batch_files=1)
    ports = RootPorts(
        store=store,
        inspector=ChangeFileInspector(store),
        logs=LogReplay(store),
        clock=lambda: datetime.now(UTC),
        limits=limits,
    )
    engine = PaperEngine(store)
    land(store, FOLDER, 1, 2, 3, 4)
    assert isinstance(reconcile_until_idle(ports, engine, FOLDER).decision, Idle)
    place, archive = layout.table_folder(FOLDER), layout.archive_folder(FOLDER)
    for entry in store.list_folder(place).entries:
        if entry.name in {f"{number:020d}.parquet" for number in moved}:
            there = layout.join(archive, entry.name)
            store.move_file(layout.join(place, entry.name), there, entry.etag)
    return ports, engine


def test_a_number_that_came_again_does_not_stop_the_table() -> None:
    ports, engine = applied_then_moved(1, 2)
    land(ports.store, FOLDER, 2, 5)
    assert isinstance(reconcile(ports, engine, FOLDER).decision, Apply)


@pytest.mark.parametrize("again", [(1,), (1, 2), (2,), (1, 2, 3)])
def test_a_reseed_reads_what_was_applied_and_not_what_came_again(again: tuple[int, ...]) -> None:
    ports, engine = applied_then_moved(1, 2, 3)
    land(ports.store, FOLDER, *again)
    reseed(ports, FOLDER, OPERATOR)
    engine.batches.clear()
    assert isinstance(reconcile_until_idle(ports, engine, FOLDER).decision, Idle)
    read = [(file.sequence, file.archived) for batch in engine.batches for file in batch.files]
    assert read == [(1, True), (2, True), (3, True), (4, False)]
