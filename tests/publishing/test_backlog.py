"""A publisher that waits for a mirror that is behind, by what the mirror says and archives."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from openmirror.errors import Unavailable
from openmirror.ports import FileStore
from openmirror.protocol.names import TablePath
from openmirror.publishing import BatchLimits, Patience, Publisher, PublisherOptions
from openmirror.publishing.backlog import BacklogLimit, mirror_status
from openmirror.table.layout import StorePath, join, monitoring
from tests.publishing.zones import ORDERS, ZONE, archive_applied, memory, numbers, publisher

STATUS = join(monitoring("sales"), "tables.json")


def says(
    store: FileStore, rows: int, status: str = "Replicating", path: StorePath = STATUS
) -> None:
    entry = {
        "sourceTableName": "orders",
        "sourceSchemaName": "dbo",
        "status": status,
        "metrics": {"processedRowCount": rows},
    }
    store.write(path, json.dumps({"tables": [entry]}).encode())


class Waiting:
    """A publisher of files of 10 rows that lets its mirror be 10 rows behind, for a minute."""

    def __init__(self, store: FileStore) -> None:
        self.slept = 0.0
        self.while_asleep: Callable[[], object] = lambda: None
        patience = Patience(seconds=0, sleep=self._sleep, monotonic=lambda: self.slept)
        options = PublisherOptions(
            limits=BatchLimits(rows=10, seconds=None),
            patience=patience,
            backlog=BacklogLimit(rows=10, seconds=60),
        )
        self._zone = Publisher.of_store(store, ZONE, options)

    def _sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.while_asleep()

    def land(self, files: int) -> None:
        with self._zone.table("dbo.orders", key=["id"]) as orders:
            orders.insert([{"id": n} for n in range(10 * files)])


def test_a_publisher_waits_until_the_mirror_is_near_enough() -> None:
    store = memory()
    waiting = Waiting(store)
    says(store, 0)
    waiting.land(2)
    assert waiting.slept == 0
    waiting.while_asleep = lambda: waiting.slept > 20 and says(store, 15)
    waiting.land(1)
    assert 20 < waiting.slept < 60
    assert numbers(store) == [1, 2, 3]


def test_it_gives_up_in_the_end_and_says_what_the_mirror_says() -> None:
    store = memory()
    waiting = Waiting(store)
    says(store, 5)
    with pytest.raises(Unavailable, match=r"15 change rows behind.* it says: Replicating"):
        waiting.land(3)
    assert numbers(store) == [1, 2]


def test_rows_that_an_operator_skipped_hold_nobody_back_once_they_are_archived() -> None:
    store = memory()
    waiting = Waiting(store)
    waiting.land(2)
    archive_applied(store)
    says(store, 0)  # the first file was skipped: its rows are never counted
    waiting.land(1)
    assert waiting.slept == 0
    with pytest.raises(Unavailable, match="20 change rows behind"):
        waiting.land(1)


def test_the_count_of_the_folder_before_does_not_switch_the_limit_off() -> None:
    store = memory()
    says(store, 1_000_000)
    waiting = Waiting(store)
    with pytest.raises(Unavailable):
        waiting.land(3)
    says(store, 20, "Snapshotting")
    with pytest.raises(Unavailable):
        waiting.land(1)
    says(store, 20)
    waiting.land(1)
    assert numbers(store) == [1, 2, 3]


def test_files_of_other_programs_count_as_well() -> None:
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        orders.insert([{"id": n} for n in range(30)])
    foreign = store.read(join(ORDERS, f"{1:020d}.parquet")).data
    foreign = foreign.replace(b"openmirror.publishing", b"openmirror-publishing")
    store.write(join(ORDERS, f"{1:020d}.parquet"), foreign)
    with pytest.raises(Unavailable, match="30 change rows behind"):
        Waiting(store).land(1)


def test_the_status_of_a_zone_that_lies_at_the_root_of_its_store_is_beside_it() -> None:
    store = memory()
    says(store, 3, path=StorePath("Monitoring/tables.json"))
    found = mirror_status(store, StorePath("LandingZone"), TablePath("dbo", "orders"), "dbo")
    assert found is not None
    assert (found.status, found.processed_rows) == ("Replicating", 3)
    assert mirror_status(store, ZONE, TablePath("dbo", "orders"), "dbo") is None
