"""What every WorkQueue keeps."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta

import pytest
from azure.storage.queue import QueueServiceClient

from openmirror.ingress.queue_wake_up import QueueWaker
from openmirror.ports import Taken, WorkItem, WorkQueue
from openmirror.ports.work_items import DeadLettered, decode, decode_dead_lettered, encode
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.stores.azure.queue import StorageWorkQueue
from openmirror.stores.memory.work import MemoryWorkQueue
from standins.azurite import Azurite
from tests.contract.waiting import real_time, until
from tests.harness.clock import Clock

HIDDEN = timedelta(seconds=1)
ORDERS = TableFolder("m", TablePath("Sales", "Orders 日本語 %20 'x' <&>"))
WORK_ITEM = WorkItem(ORDERS, "00000000000000000001.parquet", "event-1")


@dataclass
class Rig:
    """A queue, and what else there is around it."""

    queue: WorkQueue
    after: Callable[[timedelta], None]
    put: Callable[[str], None]
    """Send any text as a stranger might, without encoding it."""
    dead_lettered: Callable[[], list[DeadLettered | None]]
    """Takes what lies in the poison queue."""
    """Bodies of the messages that were given up."""


@pytest.fixture(params=["memory", "azurite"])
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    if request.param == "memory":
        clock = Clock()
        memory = MemoryWorkQueue(clock, HIDDEN)
        yield Rig(
            memory,
            clock.turn,
            memory.put,
            lambda: [DeadLettered(*each) for each in memory.dead_lettered],
        )
        return
    emulator: Azurite = request.getfixturevalue("azurite")
    name = f"queue-{uuid.uuid4()}"
    with QueueServiceClient.from_connection_string(emulator.connection_string) as service:
        queue = StorageWorkQueue(service, name, HIDDEN)
        plain = service.get_queue_client(name)
        poison = service.get_queue_client(f"{name}-poison")

        def put(text: str) -> None:
            queue.send(WORK_ITEM)
            plain.clear_messages()
            plain.send_message(text)

        def dead_lettered() -> list[DeadLettered | None]:
            found = [base64.b64decode(m.content).decode() for m in poison.receive_messages()]
            return [decode_dead_lettered(text) for text in found]

        yield Rig(queue, real_time, put, dead_lettered)


@pytest.fixture
def queue(rig: Rig) -> WorkQueue:
    return rig.queue


def one(queue: WorkQueue) -> Taken:
    (taken,) = until(lambda: queue.take(1))
    return taken


def test_what_was_sent_is_taken_with_all_its_fields(queue: WorkQueue) -> None:
    queue.send(WORK_ITEM)
    taken = one(queue)
    assert taken.work_item == WORK_ITEM
    assert decode(taken.body) == WORK_ITEM
    assert taken.times == 1


def test_a_queue_that_nobody_has_made_is_empty(queue: WorkQueue) -> None:
    assert queue.take(10) == []
    assert queue.length() == 0


def test_a_message_is_taken_by_one_at_a_time(queue: WorkQueue) -> None:
    for number in range(40):
        queue.send(WorkItem(TableFolder("m", TablePath("", f"t{number}")), "sweep"))
    with ThreadPoolExecutor(4) as pool:
        taken = [t for many in pool.map(lambda _: queue.take(10), range(4)) for t in many]
    assert len({t.identity for t in taken}) == len(taken) == 40
    assert len({t.work_item for t in taken}) == 40


def test_more_than_a_page_is_taken_at_once_and_never_more_than_asked_for(queue: WorkQueue) -> None:
    for _ in range(40):
        queue.send(WORK_ITEM)
    assert len(queue.take(35)) == 35
    assert len(queue.take(100)) == 5


def test_a_message_that_nobody_renews_comes_back_and_counts(rig: Rig) -> None:
    rig.queue.send(WORK_ITEM)
    first = one(rig.queue)
    assert rig.queue.take(1) == []
    assert rig.queue.length() == 1
    rig.after(HIDDEN)
    again = one(rig.queue)
    assert (again.identity, again.times, again.work_item) == (first.identity, 2, WORK_ITEM)


def test_a_renewed_message_stays_hidden_and_its_old_receipt_is_worth_nothing(rig: Rig) -> None:
    rig.queue.send(WORK_ITEM)
    first = one(rig.queue)
    renewed = rig.queue.renew(first)
    assert renewed
    assert (renewed.identity, renewed.work_item, renewed.times) == (first.identity, WORK_ITEM, 1)
    assert rig.queue.renew(first) is None
    rig.queue.delete(first)
    rig.queue.dead_letter(first, "too late")
    assert rig.queue.length() == 1
    rig.queue.delete(renewed)
    assert rig.queue.length() == 0


def test_a_message_that_came_back_to_another_cannot_be_renewed_or_deleted(rig: Rig) -> None:
    rig.queue.send(WORK_ITEM)
    late = one(rig.queue)
    rig.after(HIDDEN)
    other = one(rig.queue)
    assert rig.queue.renew(late) is None
    rig.queue.delete(late)
    rig.queue.give_back(late, timedelta())
    assert rig.queue.take(1) == []
    assert rig.queue.renew(other)


def test_a_message_that_is_gone_can_be_deleted_renewed_and_given_back_harmlessly(
    queue: WorkQueue,
) -> None:
    queue.send(WORK_ITEM)
    taken = one(queue)
    queue.delete(taken)
    queue.delete(taken)
    assert queue.renew(taken) is None
    queue.give_back(taken, timedelta())
    assert queue.length() == 0


def test_a_message_that_is_given_back_comes_at_once_or_after_its_delay(rig: Rig) -> None:
    rig.queue.send(WORK_ITEM)
    rig.queue.give_back(one(rig.queue), timedelta())
    again = one(rig.queue)
    assert again.times == 2
    rig.queue.give_back(again, timedelta(seconds=2))
    assert rig.queue.take(1) == []
    rig.after(timedelta(seconds=2))
    assert one(rig.queue).times == 3


def test_a_delayed_message_is_there_but_hidden_until_then(rig: Rig) -> None:
    rig.queue.send(WORK_ITEM, timedelta(milliseconds=1500))
    assert rig.queue.take(1) == []
    assert rig.queue.length() == 1
    rig.after(timedelta(seconds=2))
    assert one(rig.queue).work_item == WORK_ITEM


def test_a_dead_lettered_message_leaves_the_queue_and_keeps_its_body_and_the_reason(
    rig: Rig,
) -> None:
    rig.queue.send(WORK_ITEM)
    rig.queue.dead_letter(one(rig.queue), "failed five times")
    assert rig.queue.length() == 0
    assert rig.dead_lettered() == [DeadLettered(encode(WORK_ITEM), "failed five times")]


STRANGE = [
    "hello",
    "{",
    "[1, 2]",
    json.dumps({"mirror": "m", "table": "a/b/c"}),
    json.dumps({"mirror": "../x", "table": "Orders"}),
    "é日本語",
    "AAAA",
]


@pytest.mark.parametrize("text", STRANGE)
def test_a_strangers_message_is_taken_as_one_without_a_work_item_and_can_be_dead_lettered(
    rig: Rig, text: str
) -> None:
    rig.put(text)
    taken = one(rig.queue)
    assert taken.work_item is None
    rig.queue.dead_letter(taken, "it is no work item")
    assert rig.queue.length() == 0
    assert rig.dead_lettered() == [DeadLettered(taken.body, "it is no work item")]


def test_a_wake_up_over_a_queue_says_what_caused_it(queue: WorkQueue) -> None:
    QueueWaker(queue, "an operator asked").wake(ORDERS)
    assert one(queue).work_item == WorkItem(ORDERS, "an operator asked")
