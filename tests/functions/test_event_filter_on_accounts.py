"""The event filter over a storage account by the real SDKs: what it records is what is observed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests

from openmirror.ingress.event_filter import Answer, Found, Ignored, Woken
from openmirror.ingress.queue_wake_up import QueueWaker
from openmirror.ingress.receiving import receive
from openmirror.ingress.start_runner import Starter
from openmirror.protocol.rules import Code
from openmirror.runtime.sweeping import sweep
from openmirror.stores.azure.event_grid import read_events
from openmirror.table import layout
from openmirror.wiring.local import utc_now
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


# --- What an event costs --------------------------------------------------------------------------

MOST_REQUESTS = 6


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every request of this process."""
    seen: list[str] = []
    send = requests.Session.send

    def counted(session: requests.Session, request: Any, **more: Any) -> Any:
        seen.append(f"{request.method} {request.url}")
        return send(session, request, **more)

    monkeypatch.setattr(requests.Session, "send", counted)
    return seen


def asked_of_an_event(account: Account, sent: list[str], number: int, data: bytes) -> list[str]:
    """What the newest event of an upload asks of the account; it wakes its table."""
    account.upload(f"{PLACE}/{file_name(number)}", data)
    event = account.server.events[-1]
    sent.clear()
    starter = Starter(account.work, None, utc_now)
    received = receive(account.ports, account.work, starter, read_events(json.dumps(event)))
    assert [answer for _, answer in received.answers] == [Woken((ORDERS,))]
    return list(sent)


def test_an_event_of_a_table_that_goes_on_costs_few_requests_whatever_its_files_size(
    account: Account, sent: list[str]
) -> None:
    keyed(account)
    large = parquet(id=list(np.random.default_rng(1).integers(0, 2**60, 50_000)))
    assert len(large) > 300_000
    account.upload(f"{PLACE}/{file_name(1)}", parquet())
    account.reconcile_until_idle(ORDERS)
    asked_of_an_event(account, sent, 2, parquet())
    account.reconcile_until_idle(ORDERS)
    small = asked_of_an_event(account, sent, 3, parquet())
    assert len(small) < MOST_REQUESTS, small
    account.reconcile_until_idle(ORDERS)
    asked = asked_of_an_event(account, sent, 4, large)
    assert len(asked) <= MOST_REQUESTS, asked


def test_an_event_costs_the_same_requests_behind_10_and_behind_80_files(
    account: Account, sent: list[str]
) -> None:
    keyed(account)
    costs = []
    for begin, end in ((1, 10), (11, 80)):
        for number in range(begin, end):
            account.upload(f"{PLACE}/{file_name(number)}", parquet())
        asked_of_an_event(account, sent, end, parquet())
        costs.append(asked_of_an_event(account, sent, end, parquet()))
    assert len(costs[0]) == len(costs[1]) <= MOST_REQUESTS, costs
