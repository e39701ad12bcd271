"""A process that goes on costs a table with nothing to do next to nothing, and misses no file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from openmirror.runtime import daemon
from openmirror.runtime.daemon import Daemon, Intervals
from openmirror.stores.local.wake_up import LocalWaker
from openmirror.table import layout
from tests.harness.sweeping import SweptWorld

PATIENCE = 20.0
OFTEN, NEVER = timedelta(milliseconds=10), timedelta(days=1)


class Rig:
    """A daemon over tables that have applied all, and its status passes."""

    def __init__(self) -> None:
        self.world = SweptWorld("t1", "t2")
        self.passes = 0
        self.daemon: Daemon

    def start(self) -> None:
        intervals = Intervals(
            sweep=NEVER, cleanup=NEVER, status=OFTEN, slowest=timedelta(minutes=5)
        )
        self.daemon = Daemon(
            self.world.ports, self.world.engine, LocalWaker(), lambda: ["m"], 1, intervals
        )
        # Their first passes observe all.
        self.until(lambda: self.passes > 3)

    def until(self, holds: Callable[[], bool]) -> None:
        ends = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < ends
            self.daemon.serve(0.01)

    def observations(self) -> int:
        """Of both tables, during so many status passes."""
        self.world.forget_times()
        before = self.passes
        self.until(lambda: self.passes >= before + 5)
        return sum(map(len, self.world.watched.observed.values()))


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    rig, inner = Rig(), daemon.publish_resting

    def counted(*given: object) -> None:
        inner(*given)  # type: ignore[arg-type]
        rig.passes += 1

    monkeypatch.setattr(daemon, "publish_resting", counted)
    rig.start()
    yield rig
    rig.daemon.stop()


def test_status_passes_observe_no_table_that_has_nothing_to_do(rig: Rig) -> None:
    assert rig.observations() == 0


def test_a_file_that_lands_is_observed_and_its_table_comes_to_rest_again(rig: Rig) -> None:
    [first, second] = rig.world.tables
    rig.world.forget_times()
    rig.world.land(first, 2)
    rig.daemon.wake(first)
    rig.until(lambda: len(rig.world.engine.batches) == 3)
    observed = rig.world.watched.observed
    assert observed[layout.control_document(first)]
    assert not observed.get(layout.control_document(second))
    rig.until(lambda: rig.observations() == 0)


def test_an_operators_word_is_seen_by_the_next_pass(rig: Rig) -> None:
    rig.world.forget_times()
    [first, second] = rig.world.tables
    path = layout.control_document(first)
    rig.world.store.write(path, rig.world.store.read(path).data + b"\n")
    before = rig.passes
    rig.until(lambda: rig.passes >= before + 3)
    assert rig.world.watched.observed[path]
    assert not rig.world.watched.observed.get(layout.control_document(second))
