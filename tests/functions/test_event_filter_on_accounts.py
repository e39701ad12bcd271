"""The event filter over a storage account by the real SDKs: what it records is what is observed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openmirror.ingress.event_filter import Answer, Found, Ignored, Woken
from openmirror.ingress.queue_wake_up import QueueWaker
from openmirror.protocol.rules import Code
from openmirror.runtime.sweeping import sweep
from openmirror.table import layout
from tests.harness.account import Account, served_account
from tests.harness.publishing import KEYED, file_name, parquet, table

ORDERS = table("m", "Sales.schema/Orders 100% [1]#")
PLACE = layout.table_folder(ORDERS).partition("/")[2]
STAGED = "m/Files/LandingZone/_staging"


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    with served_account(tmp_path, "m") as made:
        yield made


def answers(account: Account, act: Callable[[], object]) -> list[Answer]:
    """What the event filter decides on the events of an act."""
    return [answer for _, answer in account.reported(act)]


def keyed(account: Account) -> None:
    answers(account, lambda: account.upload(f"{PLACE}/_metadata.json", KEYED))


def land(account: Account, number: int, **columns: object) -> list[Answer]:
    data = parquet(**columns)
    return answers(account, lambda: account.upload(f"{PLACE}/{file_name(number)}", data))


def test_an_upload_wakes_once_it_is_closed(account: Account) -> None:
    keyed(account)
    first = land(account, 1)
    assert isinstance(first[0], Ignored)  # the file is created first, and still empty
    assert first[-1] == Woken((ORDERS,))
    account.reconcile_until_idle(ORDERS)
    assert land(account, 2)[-1] == Woken((ORDERS,))


def test_a_bad_file_pauses_by_its_event_and_the_sweep_has_nothing_to_add(account: Account) -> None:
    keyed(account)
    land(account, 1)
    account.reconcile_until_idle(ORDERS)
    found = land(account, 2, other=[1])[-1]
    assert isinstance(found, Found)
    assert found.problem.code is Code.KEY_COLUMN_MISSING
    assert not sweep(account.ports, ["m"], QueueWaker(account.work, "sweep")).woken
    assert not any(isinstance(answer, Woken) for answer in land(account, 3))
    assert land(account, 2)[-1] == Woken((ORDERS,))


def test_a_file_that_is_moved_in_and_a_folder_that_is_moved_in_wake_up(account: Account) -> None:
    for name, data in (("_metadata.json", b"{}"), (file_name(1), parquet())):
        account.upload(f"{STAGED}/T/{name}", data)
    account.landing.get_directory_client("m/Files/LandingZone/Sales.schema").create_directory()
    folder = account.landing.get_directory_client(f"{STAGED}/T")
    moved = answers(account, lambda: folder.rename_directory(f"landing/{PLACE}"))
    assert moved[-1] == Woken((ORDERS,))
    account.reconcile_until_idle(ORDERS)
    account.upload(f"{STAGED}/x", parquet())
    file = account.landing.get_file_client(f"{STAGED}/x")
    moved = answers(account, lambda: file.rename_file(f"landing/{PLACE}/{file_name(2)}"))
    assert moved[-1] == Woken((ORDERS,))


def test_a_deleted_table_folder_wakes(account: Account) -> None:
    keyed(account)
    land(account, 1)
    account.reconcile_until_idle(ORDERS)
    deleted = answers(account, account.landing.get_directory_client(PLACE).delete_directory)
    assert deleted[-1] == Woken((ORDERS,))
