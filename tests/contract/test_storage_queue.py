"""What the work queue over a storage queue adds: its wire format, and what it makes of answers."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import pytest
from azure.core.exceptions import ResourceExistsError
from azure.core.pipeline.transport import HttpTransport
from azure.storage.queue import QueueClient, QueueServiceClient

from openmirror.errors import AccessDenied, Unavailable
from openmirror.ports import Taken, WorkItem
from openmirror.ports.connection import Connection
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.stores.azure.queue import StorageWorkQueue, queue_service
from standins.azurite import Azurite
from tests.contract.wires import Counted, LostAnswer, Refusal, Wire, refusing_server

WORK_ITEM = WorkItem(TableFolder("m", TablePath("Sales", "Orders")), "sweep", "7")


@dataclass
class Rig:
    """A queue over Azurite, and its wire."""

    queue: StorageWorkQueue
    wire: Wire
    service: QueueServiceClient
    name: str

    def dead_lettered(self) -> list[str]:
        poison = self.service.get_queue_client(f"{self.name}-poison")
        return [base64.b64decode(m.content).decode() for m in poison.peek_messages(32)]


@pytest.fixture
def rig(azurite: Azurite, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    with refusing_server() as refusing:
        wire = Wire(Counted(), refusing)
        monkeypatch.setattr(HttpTransport, "sleep", lambda _, wait: wire.counted.slept.append(wait))
        name = f"queue-{uuid.uuid4()}"
        service = queue_service(Connection(text=azurite.connection_string), transport=wire)
        yield Rig(StorageWorkQueue(service, name), wire, service, name)
        service.close()


def taken(rig: Rig) -> Taken:
    rig.queue.send(WORK_ITEM)
    (found,) = rig.queue.take(1)
    return found


def test_a_message_on_the_wire_is_base64_of_json_as_the_functions_host_wants_it(rig: Rig) -> None:
    rig.queue.send(WORK_ITEM)
    (message,) = rig.service.get_queue_client(rig.name).peek_messages()
    assert json.loads(base64.b64decode(message.content, validate=True)) == {
        "mirror": "m",
        "table": "Sales.schema/Orders",
        "reason": "sweep",
        "correlation": "7",
    }


def test_a_queue_that_somebody_else_makes_at_the_same_time_is_used(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = QueueClient.create_queue

    def second(queue: QueueClient) -> None:
        make(queue)
        raise ResourceExistsError("Queue already exists")

    monkeypatch.setattr(QueueClient, "create_queue", second)
    rig.queue.send(WORK_ITEM)
    assert [found.work_item for found in rig.queue.take(32)] == [WORK_ITEM]


def test_an_empty_queue_is_asked_once(rig: Rig) -> None:
    rig.queue.delete(taken(rig))
    rig.wire.counted = Counted()
    assert rig.queue.take(32) == []
    assert len(rig.wire.counted.requests) == 1


def test_a_message_that_cannot_be_deleted_after_it_was_dead_lettered_is_in_both_queues(
    rig: Rig,
) -> None:
    rig.queue.dead_letter(taken(rig), "the poison queue is made")
    message = taken(rig)
    rig.wire.faults = [None, *[Refusal(503, "ServerBusy")] * 9]
    with pytest.raises(Unavailable):
        rig.queue.dead_letter(message, "again")
    rig.wire.faults = []
    assert rig.queue.length() == 1
    assert len(rig.dead_lettered()) == 2


def test_a_message_that_leaves_no_room_for_the_reason_is_dead_lettered_without_it(rig: Rig) -> None:
    rig.queue.delete(taken(rig))
    longest = "x" * (48 << 10)
    rig.service.get_queue_client(rig.name).send_message(base64.b64encode(longest.encode()).decode())
    (found,) = rig.queue.take(1)
    rig.queue.dead_letter(found, "it is no work item")
    assert rig.queue.length() == 0
    assert rig.dead_lettered() == [longest]


def test_a_message_that_has_no_room_for_base64_is_dead_lettered_as_it_came(rig: Rig) -> None:
    rig.queue.dead_letter(taken(rig), "both queues are made")
    poison = rig.service.get_queue_client(f"{rig.name}-poison")
    poison.clear_messages()
    longest = "x" * ((64 << 10) - 1)
    rig.service.get_queue_client(rig.name).send_message(longest)
    (found,) = rig.queue.take(1)
    rig.queue.dead_letter(found, "it is no work item")
    assert rig.queue.length() == 0
    assert [message.content for message in poison.peek_messages(32)] == [longest]


def test_a_message_that_cannot_be_dead_lettered_stays(rig: Rig) -> None:
    message = taken(rig)
    rig.wire.faults = [Refusal(503, "ServerBusy")] * 9
    with pytest.raises(Unavailable):
        rig.queue.dead_letter(message, "in vain")
    rig.wire.faults = []
    assert rig.queue.length() == 1


def test_a_delete_whose_answer_was_lost_is_done(rig: Rig) -> None:
    message = taken(rig)
    rig.wire.faults = [LostAnswer()]
    rig.queue.delete(message)
    assert rig.queue.length() == 0


def test_a_busy_service_is_asked_again(rig: Rig) -> None:
    message = taken(rig)
    for ask in (
        lambda: rig.queue.send(WORK_ITEM),
        lambda: rig.queue.take(1),
        lambda: rig.queue.renew(message),
        lambda: rig.queue.length(),
    ):
        rig.wire.faults = [Refusal(503, "ServerBusy")] * 2
        ask()
        assert rig.wire.faults == []
    assert len(rig.wire.counted.slept) == 8


@pytest.mark.parametrize("status", [401, 403])
def test_a_missing_right_names_the_queue_and_the_role(rig: Rig, status: int) -> None:
    message = taken(rig)
    asks: list[Callable[[], object]] = [
        lambda: rig.queue.send(WORK_ITEM),
        lambda: rig.queue.take(1),
        lambda: rig.queue.renew(message),
        lambda: rig.queue.give_back(message, timedelta()),
        lambda: rig.queue.delete(message),
        lambda: rig.queue.dead_letter(message, "why"),
        lambda: rig.queue.length(),
    ]
    for ask in asks:
        rig.wire.faults = [Refusal(status, "AuthorizationPermissionMismatch")] * 9
        with pytest.raises(AccessDenied, match=f"{rig.name}.*'Storage Queue Data Contributor'"):
            ask()
