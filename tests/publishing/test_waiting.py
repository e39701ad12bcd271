"""Rows that grow old, and services that are away for a while."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from openmirror.errors import Unavailable
from openmirror.publishing import BatchLimits, Patience, Publisher, PublisherOptions
from tests.harness.stores import Call, WatchedStore
from tests.publishing.zones import ZONE, landed, memory, numbers

PATIENCE = 20.0
"""Seconds; only a test that hangs waits so long."""


class Clock:
    """A monotonic clock that only sleep moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def away(seconds: float, clock: Clock, method: str) -> Callable[[Call], None]:
    """A service that answers 503 for so long, from its first call of one kind on."""
    since: list[float] = []

    def before(call: Call) -> None:
        if call.method == method:
            since.append(clock.now)
            if clock.now - since[0] < seconds:
                raise Unavailable("503")

    return before


@pytest.mark.parametrize("method", ["list_folder", "incarnation", "read", "write", "move_file"])
def test_a_service_that_is_away_for_a_while_costs_nothing_but_time(method: str) -> None:
    clock, store = Clock(), memory()
    watched = WatchedStore(store, before=away(300, clock, method))
    patience = Patience(seconds=600, sleep=clock.sleep, monotonic=clock)
    options = PublisherOptions(limits=BatchLimits(seconds=None), patience=patience)
    with Publisher.of_store(watched, ZONE, options).table("dbo.orders", key=["id"]) as orders:
        orders.insert([{"id": 1}])
    assert [change.row["id"] for file in landed(store) for change in file.changes] == [1]
    assert 300 <= clock.now < 400
    assert max(clock.slept) <= 30


def test_a_service_that_stays_away_is_reported_and_the_rows_wait() -> None:
    clock, store = Clock(), memory()
    watched = WatchedStore(store)
    patience = Patience(seconds=600, sleep=clock.sleep, monotonic=clock)
    options = PublisherOptions(limits=BatchLimits(seconds=None), patience=patience)
    orders = Publisher.of_store(watched, ZONE, options).table("dbo.orders", key=["id"])
    orders.insert([{"id": 1}])
    watched.before = away(700, clock, "move_file")
    with pytest.raises(Unavailable):
        orders.flush()
    assert clock.now == pytest.approx(600)
    orders.flush()
    assert numbers(store) == [1]


def test_rows_land_when_the_oldest_of_them_is_old_enough() -> None:
    clock, store = Clock(), memory()
    options = PublisherOptions(limits=BatchLimits(seconds=1e6), monotonic=clock)
    with Publisher.of_store(store, ZONE, options).table("dbo.orders", key=["id"]) as orders:
        orders.insert([{"id": 1}])
        clock.now += 6e5
        orders.insert([{"id": 2}])
        assert orders.flush_due() == []
        clock.now += 4e5
        assert [file.rows for file in orders.flush_due()] == [2]
        with orders.batch(1):
            orders.insert([{"id": 3}, {"id": 4}])
            clock.now += 1e6
            # The last row stays, so that the file that ends the batch has one to be landed for.
            assert [file.rows for file in orders.flush_due()] == [1]
        assert orders.position is None
        assert [file.rows for file in orders.flush()] == [1]
        assert orders.position == 1


def test_old_rows_land_although_nobody_calls_and_what_goes_wrong_is_raised_at_the_next_call() -> (
    None
):
    store = memory()
    watched, moved = WatchedStore(store), threading.Event()
    watched.after = lambda call: moved.set() if call.method == "move_file" else None
    options = PublisherOptions(limits=BatchLimits(seconds=0.05), patience=Patience(seconds=0))
    orders = Publisher.of_store(watched, ZONE, options).table("dbo.orders", key=["id"])
    orders.insert([{"id": 1}])
    assert moved.wait(PATIENCE)
    refused = threading.Event()

    def refuse(call: Call) -> None:
        if call.method == "write":
            refused.set()
            raise Unavailable("503")

    watched.before = refuse
    orders.insert([{"id": 2}])
    assert refused.wait(PATIENCE)

    def call_often() -> None:
        for _ in range(1000):
            threading.Event().wait(0.02)
            orders.insert([])

    with pytest.raises(Unavailable):
        call_often()
    watched.before = lambda call: None
    orders.close()
    assert [change.row["id"] for file in landed(store) for change in file.changes] == [1, 2]
