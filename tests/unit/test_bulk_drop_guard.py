"""The bulk-drop guard costs a pass little, however many tables wait for its yes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from openmirror.deltalog import LogReplay
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.operate.requests import Operator, confirm_drops
from openmirror.plan import plan
from openmirror.plan.decisions import Wait, WaitKind
from openmirror.ports import Content
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.observing import observe
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.sweeping import sweep
from openmirror.stores.memory.files import MemoryStore
from openmirror.table import layout
from openmirror.table.layout import StorePath
from tests.unit.paper import PaperEngine, land, table


class Store(MemoryStore):
    """A store in memory that counts how often documents of tables are read."""

    def __init__(self) -> None:
        self.clock = datetime(2026, 3, 1, tzinfo=UTC)
        super().__init__(lambda: self.clock)
        self.documents = 0

    def read(self, path: StorePath, offset: int = 0, length: int | None = None) -> Content:
        self.documents += "/_openmirror/folders/" in path
        return super().read(path, offset, length)


class Bell:
    def __init__(self) -> None:
        self.woken: list[TableFolder] = []

    def wake(self, folder: TableFolder) -> None:
        self.woken.append(folder)


class World:
    """A mirror whose tables are applied, and whose folders may all go at once."""

    def __init__(self, count: int) -> None:
        self.store = store = Store()
        store.make_folder(layout.LAKE)
        self.ports = RootPorts(
            store=store,
            inspector=ChangeFileInspector(store),
            logs=LogReplay(store),
            clock=lambda: self.store.clock,
        )
        self.engine = PaperEngine(store)
        self.tables = [table("m", f"T{number:02}") for number in range(count)]
        for folder in self.tables:
            land(store, folder, 1)
            reconcile_until_idle(self.ports, self.engine, folder)

    def lose_folders(self) -> None:
        for folder in self.tables:
            self.store.delete_folder(layout.table_folder(folder))
            reconcile_until_idle(self.ports, self.engine, folder)
        self.store.clock += timedelta(minutes=5)

    def decision(self, folder: TableFolder) -> object:
        observed = observe(self.ports, folder).observed
        return plan(observed, self.ports.limits, observed.at)

    def pass_over(self) -> list[TableFolder]:
        bell = Bell()
        self.store.documents = 0
        sweep(self.ports, ["m"], bell)
        return bell.woken


@pytest.fixture
def world() -> World:
    return World(20)


def test_a_pass_reads_each_document_once_however_many_tables_wait_for_a_yes(world: World) -> None:
    world.lose_folders()
    for folder in world.tables:
        decision = world.decision(folder)
        assert isinstance(decision, Wait)
        assert decision.waiting.kind is WaitKind.CONFIRMATION
    assert world.pass_over() == []
    assert world.store.documents == len(world.tables)


def test_a_document_that_another_process_wrote_counts_at_once(world: World) -> None:
    world.lose_folders()
    first, *others = world.tables
    assert isinstance(world.decision(first), Wait)
    # Elsewhere all tables but the first three are held to be gone: nothing is left to ask about.
    documents = Documents(world.store)
    for folder in others[2:]:
        stored = documents.table(folder)
        documents.save_table(folder, replace(stored.value, applied=None), stored.etag)
    assert not isinstance(world.decision(first), Wait)


def test_tables_that_are_dropped_ask_nobody_and_cost_one_read(world: World) -> None:
    world.lose_folders()
    confirm_drops(world.ports, "m", Operator("a person", "they are not needed"))
    for folder in world.tables:
        reconcile_until_idle(world.ports, world.engine, folder)
        assert Documents(world.store).table(folder).value.dropped
    assert world.pass_over() == []
    assert world.store.documents == len(world.tables)
