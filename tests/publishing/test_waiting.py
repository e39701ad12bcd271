"""Rows that grow old, and services that are away for a while."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

from openmirror.errors import FolderReplaced, Unavailable, WrongRequest
from openmirror.publishing import (
    BatchLimits,
    Patience,
    Publisher,
    PublisherOptions,
    TableWriter,
)
from openmirror.publishing.positions import SourcePosition
from openmirror.stores.memory.files import MemoryStore
from tests.harness.stores import Call, WatchedStore
from tests.publishing.zones import ORDERS, ZONE, landed, memory, numbers, publisher

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
        orders.insert([], position=2)
        clock.now += 1e6
        assert orders.flush_due() == []  # a file a minute would keep a mirror awake for nothing


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


def _soon(found: Callable[[], bool]) -> None:
    for _ in range(1000):
        if found():
            return
        threading.Event().wait(PATIENCE / 1000)
    raise AssertionError("it does not come")


def _keys(store: MemoryStore) -> list[object]:
    return [change.row["id"] for file in landed(store) for change in file.changes]


def _with_a_failure_in_its_thread(
    store: MemoryStore, error: Exception
) -> tuple[TableWriter, WatchedStore]:
    """A writer with the row 1 waiting, whose thread could not land it; then the service is back."""
    watched = WatchedStore(store)
    options = PublisherOptions(limits=BatchLimits(seconds=0.05), patience=Patience(seconds=0))
    orders = Publisher.of_store(watched, ZONE, options).table("dbo.orders", key=["id"])
    failed = threading.Event()

    def refuse(call: Call) -> None:
        if threading.current_thread().name == "publishing":
            failed.set()
            raise error

    watched.before = refuse
    orders.insert([{"id": 1}])
    assert failed.wait(PATIENCE)
    _soon(lambda: orders._aging._failure is not None)
    return orders, watched


def test_the_call_that_raises_what_went_wrong_before_has_taken_its_rows() -> None:
    store = memory()
    orders, _ = _with_a_failure_in_its_thread(store, Unavailable("503"))
    with pytest.raises(Unavailable):
        orders.insert([{"id": 2}], position=1)
    orders.flush()
    orders.close()
    assert _keys(store) == [1, 2]
    assert orders.position == 1


def test_closing_tries_again_whatever_went_wrong_before() -> None:
    store = memory()
    with _with_a_failure_in_its_thread(store, Unavailable("503"))[0]:
        pass
    assert _keys(store) == [1]


def test_old_rows_go_on_landing_after_any_error() -> None:
    store = memory()
    orders, watched = _with_a_failure_in_its_thread(store, KeyError("a defect"))
    watched.before = lambda call: None
    _soon(lambda: numbers(store) == [1])
    orders.close()
    assert _keys(store) == [1]


@pytest.mark.parametrize(
    ("given", "taken", "last"),
    [
        ([1, 1], [1], 1),
        ([7, 6, 7], [7], 7),
        (["a", "b", "a"], ["a", "b"], "b"),
    ],
)
def test_a_batch_that_waits_already_is_not_taken_again(
    given: list[SourcePosition], taken: list[SourcePosition], last: SourcePosition
) -> None:
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        for position in given:
            orders.insert([{"id": str(position)}], position=position)
        orders.flush()
        orders.insert([{"id": "again"}], position=given[0])
    assert _keys(store) == [str(position) for position in taken]
    assert orders.position == last


def test_a_batch_that_was_broken_off_is_taken_again() -> None:
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        with suppress(KeyError), orders.batch(1):
            orders.insert([{"id": 1}])
            raise KeyError
        orders.insert([{"id": 2}], position=1)
    assert _keys(store) == [2]


def test_every_writer_is_closed_also_behind_one_that_fails() -> None:
    store = memory()
    watched = WatchedStore(store)

    def refuse(call: Call) -> None:
        if call.method == "write" and "/first/" in call.path:
            raise Unavailable("503")

    zone = publisher(watched)
    zone.table("first", key=["id"]).insert([{"id": 1}])
    zone.table("dbo.orders", key=["id"]).insert([{"id": 2}])
    watched.before = refuse
    with pytest.raises(Unavailable) as raised, zone:
        pass
    assert _keys(store) == [2]
    assert raised.value.__notes__ == ["table first: what waits was not landed"]


def test_a_table_whose_folder_was_replaced_can_be_opened_again_in_the_same_publisher() -> None:
    store = memory()
    with publisher(store) as zone:
        orders = zone.table("dbo.orders", key=["id"])
        orders.insert([{"id": 1}])
        store.delete_folder(ORDERS)
        with pytest.raises(FolderReplaced):
            orders.flush()
        with pytest.raises(WrongRequest):
            orders.insert([{"id": 1}])
        with zone.table("dbo.orders", key=["id"]) as again:
            again.insert([{"id": 2}])
    assert _keys(store) == [2]


def test_abandoning_does_not_wait_for_a_thread_that_lands() -> None:
    store = memory()
    watched, landing, goes_on = WatchedStore(store), threading.Event(), threading.Event()

    def stall(call: Call) -> None:
        if call.method == "write":
            landing.set()
            assert goes_on.wait(PATIENCE)

    orders = publisher(watched, rows=1).table("dbo.orders", key=["id"])
    watched.before = stall
    refused: list[WrongRequest] = []

    def insert() -> None:
        try:
            orders.insert([{"id": 1}, {"id": 2}])
        except WrongRequest as error:
            refused.append(error)

    thread = threading.Thread(target=insert)
    thread.start()
    assert landing.wait(PATIENCE)
    abandoned = threading.Thread(target=orders.abandon)
    abandoned.start()
    abandoned.join(PATIENCE / 4)
    waited = abandoned.is_alive()
    goes_on.set()
    thread.join(PATIENCE)
    abandoned.join(PATIENCE)
    assert not waited
    assert len(refused) == 1
    assert _keys(store) == [1]


def test_a_folder_that_the_thread_finds_replaced_is_reported_at_the_end() -> None:
    store = memory()
    orders, _ = _with_a_failure_in_its_thread(store, FolderReplaced("gone"))
    store.delete_folder(ORDERS)
    with pytest.raises(FolderReplaced):
        orders.close()


def test_a_writer_is_not_closed_inside_of_a_batch() -> None:
    store = memory()
    orders = publisher(store).table("dbo.orders", key=["id"])
    with orders.batch(1):
        orders.insert([{"id": 1}])
        with pytest.raises(WrongRequest, match="has not ended"):
            orders.close()
    orders.close()
    assert _keys(store) == [1]
    assert orders.position == 1


def test_rows_of_another_thread_do_not_join_a_batch() -> None:
    store = memory()
    refused: list[WrongRequest] = []
    with publisher(store).table("dbo.orders", key=["id"]) as orders:

        def insert() -> None:
            try:
                orders.insert([{"id": 2}])
            except WrongRequest as error:
                refused.append(error)

        with suppress(KeyError), orders.batch(1):
            orders.insert([{"id": 1}])
            other = threading.Thread(target=insert)
            other.start()
            other.join(PATIENCE)
            raise KeyError
        assert len(refused) == 1
        orders.insert([{"id": 3}])
    assert _keys(store) == [3]
