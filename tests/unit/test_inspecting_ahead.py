"""Footers of one table are read several at a time, no more than its next batch may need."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from openmirror.errors import Unavailable
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.plan.decisions import Pause, Replace
from openmirror.plan.facts import FileFacts
from openmirror.ports import Entry
from openmirror.protocol.text_format import TextFormat
from openmirror.reconcile.apply import is_as_planned
from openmirror.reconcile.concurrently import ahead
from openmirror.reconcile.observing import observe
from openmirror.reconcile.reconciliation import reconcile
from openmirror.table import layout
from openmirror.table.layout import StorePath
from tests.harness.publishing import file_name, table
from tests.harness.world import NO_GRACE, World

ORDERS = table("m", "Orders")
PATIENCE = 20.0


class Meeting(ChangeFileInspector):
    """Holds each inspection until three are underway; notes which files were asked for."""

    def __init__(self, world: World) -> None:
        super().__init__(world.store)
        self.asked: list[str] = []
        self._met = threading.Barrier(3)

    def inspect(self, path: StorePath, entry: Entry, text: TextFormat | None = None) -> FileFacts:
        self.asked.append(entry.name)
        self._met.wait(PATIENCE)
        return super().inspect(path, entry, text)


def test_three_footers_are_read_at_a_time_and_facts_are_those_of_one_by_one() -> None:
    world = World(NO_GRACE)
    world.land(ORDERS, *range(1, 7))
    meeting = Meeting(world)
    ports = replace(world.process(), inspector=meeting, concurrent_observations=3)
    seen = observe(ports, ORDERS).observed
    assert seen.files == world.observed(ORDERS).files
    assert sorted(meeting.asked) == [file_name(number) for number in range(1, 7)]


def test_no_more_are_read_ahead_than_are_underway_at_once() -> None:
    world = World(replace(NO_GRACE, batch_files=2))
    world.land(ORDERS, *range(1, 30))
    ports = replace(world.process(), concurrent_observations=3)
    world.watched.calls.clear()
    observed = observe(ports, ORDERS).observed
    assert {number for number, file in observed.files.items() if file.facts} == {1, 2, 3}
    read = [path for path in world.watched.asked("read") if path.endswith(".parquet")]
    assert len(read) <= 3 + 3


def test_a_file_that_is_observed_again_costs_nothing() -> None:
    world = World(NO_GRACE)
    world.land(ORDERS, *range(1, 5))
    ports = replace(world.process(), concurrent_observations=3)
    observe(ports, ORDERS)
    world.watched.calls.clear()
    observe(ports, ORDERS)
    assert not [path for path in world.watched.asked("read") if path.endswith(".parquet")]


def test_a_bad_file_ends_a_batch_whatever_was_read_behind_it() -> None:
    world = World(NO_GRACE)
    world.land(ORDERS, *range(1, 9))
    world.put(ORDERS, file_name(3), b"junk" * 9)
    ports = replace(world.process(), concurrent_observations=4)
    first = reconcile(ports, world.engine, ORDERS).decision
    assert isinstance(first, Replace)
    assert [file.sequence for file in first.batch.files] == [1, 2]
    assert isinstance(reconcile(ports, world.engine, ORDERS).decision, Pause)


def test_what_fails_behind_the_end_is_nobodys_failure_and_before_it_everybodys() -> None:
    ports = replace(World().process(), concurrent_observations=3)

    def failing(number: int) -> int:
        if number == 4:
            raise Unavailable("503")
        return number

    taken = []
    for item, found in ahead(ports, range(100), failing):
        taken.append((item, found))
        if item == 2:
            break
    assert taken == [(0, 0), (1, 1), (2, 2)]
    with pytest.raises(Unavailable):
        list(ahead(ports, range(100), failing))


# --- What was read is what was planned ------------------------------------------------------------


@pytest.mark.parametrize("files", [1, 4, 5])
@pytest.mark.parametrize("change", ["replaced", "gone", "folder"])
def test_whatever_changes_while_files_are_read_is_noticed(files: int, change: str) -> None:
    world = World(NO_GRACE)
    numbers = range(1, 1 + files)
    world.land(ORDERS, *numbers)
    decision = world.decision(ORDERS)
    assert isinstance(decision, Replace)
    batch = decision.batch
    assert len(batch.files) == files
    assert is_as_planned(world.ports, batch)
    last = file_name(numbers[-1])
    if change == "replaced":
        world.put(ORDERS, last, b"another one")
    elif change == "gone":
        world.store.delete_file(StorePath(f"{layout.table_folder(ORDERS)}/{last}"))
    else:
        world.delete_folder(ORDERS)
        world.land(ORDERS, *numbers)
    assert not is_as_planned(world.ports, batch)


def test_a_small_batch_is_not_listed_for_in_a_large_folder() -> None:
    world = World(replace(NO_GRACE, batch_files=1))
    world.land(ORDERS, *range(1, 4))
    world.reconcile(ORDERS)
    place = layout.table_folder(ORDERS)
    world.watched.calls.clear()
    world.reconcile(ORDERS)
    assert world.applied(ORDERS) == 2
    assert world.watched.asked("list_folder").count(place) == 1
