"""The bulk-drop guard costs a pass little, however many tables wait for its yes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from openmirror.operate.requests import Operator, confirm_drops
from openmirror.plan.decisions import Wait, WaitKind
from openmirror.protocol.names import TableFolder
from openmirror.runtime.sweeping import sweep
from openmirror.stores.local.wake_up import LocalWaker
from tests.harness.publishing import table
from tests.harness.world import World


class ManyTables(World):
    """A mirror whose tables are applied, and whose folders may all go at once."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.tables = [table("m", f"T{number:02}") for number in range(count)]
        for folder in self.tables:
            self.land(folder, 1)
            self.reconcile_until_idle(folder)

    def lose_folders(self) -> None:
        for folder in self.tables:
            self.delete_folder(folder)
            self.reconcile_until_idle(folder)
        self.clock.turn(timedelta(minutes=5))

    def pass_over(self) -> list[TableFolder]:
        self.watched.calls.clear()
        return sweep(self.ports, ["m"], LocalWaker()).woken

    @property
    def documents(self) -> int:
        """How often documents of tables were read in the last pass."""
        return sum("/_openmirror/folders/" in path for path in self.watched.asked("read"))


@pytest.fixture
def world() -> ManyTables:
    return ManyTables(20)


def test_a_pass_reads_each_document_once_however_many_tables_wait_for_a_yes(
    world: ManyTables,
) -> None:
    world.lose_folders()
    for folder in world.tables:
        decision = world.decision(folder)
        assert isinstance(decision, Wait)
        assert decision.waiting.kind is WaitKind.CONFIRMATION
    assert world.pass_over() == []
    assert world.documents == len(world.tables)


def test_a_document_that_another_process_wrote_counts_at_once(world: ManyTables) -> None:
    world.lose_folders()
    first, *others = world.tables
    assert isinstance(world.decision(first), Wait)
    # Elsewhere all tables but the first three are held to be gone: nothing is left to ask about.
    for folder in others[2:]:
        world.change(folder, lambda control: replace(control, applied=None))
    assert not isinstance(world.decision(first), Wait)


def test_tables_that_are_dropped_ask_nobody_and_cost_one_read(world: ManyTables) -> None:
    world.lose_folders()
    confirm_drops(world.ports, "m", Operator("a person", "they are not needed"))
    for folder in world.tables:
        world.reconcile_until_idle(folder)
        assert world.control(folder).dropped
    assert world.pass_over() == []
    assert world.documents == len(world.tables)
