"""What every store of dead letters keeps, and what becomes of messages that were given up."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from azure.storage.blob import BlobServiceClient
from azure.storage.queue import QueueServiceClient

from openmirror.errors import NotThere
from openmirror.ingress.dead_letters import (
    EVENT_GRID,
    QUEUE_OF,
    collect,
    dead_letter_page,
    keep_event,
    keep_work_item,
    requeue,
)
from openmirror.ports import WorkItem
from openmirror.ports.dead_letters import DeadLetter, DeadLetters, UndeliveredEvents
from openmirror.ports.landing_events import LandingEvent
from openmirror.ports.work_items import (
    EVENTS_QUEUE,
    WORK_QUEUE,
    DeadLettered,
    encode,
    encode_dead_lettered,
)
from openmirror.stores.azure.dead_letters import BlobDeadLetters, QueueRequeuer
from openmirror.stores.azure.event_grid import read_events
from openmirror.stores.memory.dead_letters import (
    MemoryDeadLetters,
    MemoryRequeuer,
    MemoryUndeliveredEvents,
)
from standins.azurite import Azurite
from tests.harness.publishing import table

AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
EVENT = {
    "topic": "t",
    "subject": "/blobServices/default/containers/landing/blobs/m/Files/LandingZone/T/x",
    "eventType": "Microsoft.Storage.BlobCreated",
    "id": "e-1",
    "eventTime": "2026-11-21T09:00:00Z",
    "data": {"api": "PutBlob"},
    "dataVersion": "",
}
DEAD = {
    **EVENT,
    "deadLetterReason": "MaxDeliveryAttemptsExceeded",
    "deliveryAttempts": 30,
    "lastDeliveryOutcome": "NotFound",
    "publishTime": "2026-11-21T09:00:01Z",
}
WORK_ITEM = WorkItem(table("m", "S.schema/T"), "sweep")
DEAD_PATH = "TOPIC/SUBSCRIPTION/2026/11/21/9/guid.json"


@dataclass
class Rig:
    """A store of dead letters, and Event Grid's hand in it."""

    dead_letters: DeadLetters
    dead: UndeliveredEvents
    give_up: Callable[[str, bytes], None]
    """As Event Grid writes a dead letter."""
    post: MemoryRequeuer


@pytest.fixture(params=["memory", "azurite"])
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    if request.param == "memory":
        dead = MemoryUndeliveredEvents()
        yield Rig(MemoryDeadLetters(), dead, dead.blobs.__setitem__, MemoryRequeuer())
        return
    emulator: Azurite = request.getfixturevalue("azurite")
    with BlobServiceClient.from_connection_string(emulator.connection_string) as service:
        name = f"dead-letters-{uuid.uuid4()}"
        dead_letters = BlobDeadLetters(service, QUEUE_OF, name)

        def give_up(path: str, body: bytes) -> None:
            container = service.get_container_client(name)
            if not container.exists():
                container.create_container()
            container.upload_blob(path, body)

        yield Rig(dead_letters, dead_letters.undelivered_events(), give_up, MemoryRequeuer())


def dead_letter(**other: Any) -> DeadLetter:
    given = {"source": WORK_QUEUE, "identity": "a-1", "at": AT, "reason": "why", "body": b"{}"}
    return DeadLetter(**{**given, **other})


@pytest.mark.parametrize("body", [b"", b"text", "\u00e4 \u65e5\u672c".encode(), b"\xff\x00\xfe"])
def test_a_dead_letter_is_kept_with_its_payload_byte_for_byte(rig: Rig, body: bytes) -> None:
    kept = dead_letter(body=body)
    rig.dead_letters.keep(kept)
    assert rig.dead_letters.names() == ["table-work/2026-11-21/a-1"]
    assert rig.dead_letters.read(kept.name) == kept


def test_keeping_a_dead_letter_twice_keeps_one(rig: Rig) -> None:
    rig.dead_letters.keep(dead_letter())
    rig.dead_letters.keep(dead_letter())
    assert len(rig.dead_letters.names()) == 1


def test_there_are_no_dead_letters_before_the_first(rig: Rig) -> None:
    assert rig.dead_letters.names() == []
    assert rig.dead.waiting(10) == []
    rig.dead_letters.delete("table-work/2026-11-21/a-1")


@pytest.mark.parametrize("name", ["table-work/2026-11-21/none", "../x", "", "lake/m/x", DEAD_PATH])
def test_a_name_that_is_no_dead_letter_is_not_there(rig: Rig, name: str) -> None:
    rig.give_up(DEAD_PATH, b"[]")
    with pytest.raises(NotThere):
        rig.dead_letters.read(name)


def test_a_malformed_event_is_kept_and_says_what_is_wrong_with_it(rig: Rig) -> None:
    kept = keep_event(rig.dead_letters, read_events, "id-1", b"not an event", AT)
    assert "no JSON object" in rig.dead_letters.read(kept.name).reason
    assert rig.dead_letters.read(kept.name).body == b"not an event"


def test_an_event_that_could_not_be_handled_leads_to_the_functions_errors(rig: Rig) -> None:
    kept = keep_event(rig.dead_letters, read_events, "id-1", json.dumps(EVENT).encode(), AT)
    assert "function's errors" in kept.reason


def test_a_wake_up_that_was_given_up_names_its_table(rig: Rig) -> None:
    work_item = encode(WORK_ITEM).encode()
    assert "m/S.schema/T" in keep_work_item(rig.dead_letters, "id-1", work_item, AT).reason
    assert "no work item" in keep_work_item(rig.dead_letters, "id-2", b"\xff", AT).reason


@pytest.mark.parametrize(
    "sent", [encode(WORK_ITEM), "no work item", "AAAA", "\u00e9", '{"dead_lettered": 1}', "{"]
)
def test_what_a_runner_dead_lettered_says_why_and_is_put_back_as_it_was_sent(
    rig: Rig, sent: str
) -> None:
    dead_lettered = encode_dead_lettered(
        DeadLettered(sent, "taken 5 times, at last in vain: no space left")
    ).encode()
    kept = keep_work_item(rig.dead_letters, "id-1", dead_lettered, AT)
    assert "no space left" in kept.reason
    assert ("m/S.schema/T" in kept.reason) is (sent == encode(WORK_ITEM))
    requeue(rig.dead_letters, rig.post, kept.name)
    assert rig.post.sent == [(WORK_QUEUE, sent.encode())]


@pytest.mark.parametrize(
    "text", ['{"dead_lettered": "\\ud800", "why": ""}', '{"dead_lettered": "x"}', "[]", "1"]
)
def test_what_only_resembles_a_dead_lettered_message_is_kept_as_it_is(rig: Rig, text: str) -> None:
    assert rig.dead_letters.read(
        keep_work_item(rig.dead_letters, "id-1", text.encode(), AT).name
    ).body == (text.encode())


def test_dead_letters_of_event_grid_are_collected_once_with_its_reason(rig: Rig) -> None:
    rig.give_up(DEAD_PATH, json.dumps([DEAD, DEAD]).encode())
    rig.dead_letters.keep(dead_letter())
    (found,) = collect(rig.dead_letters, rig.dead, AT)
    assert found.source == EVENT_GRID
    assert found.reason == (
        "2 event(s): MaxDeliveryAttemptsExceeded after 30 attempts, the last of which ended with "
        "NotFound"
    )
    assert found.at == datetime(2026, 11, 21, 9, 0, 1, tzinfo=UTC)
    assert collect(rig.dead_letters, rig.dead, AT) == []
    assert set(rig.dead_letters.names()) == {found.name, dead_letter().name}


def test_a_dead_letter_in_the_words_of_cloud_events_is_understood(rig: Rig) -> None:
    words = {"deadletterreason": "Gone", "deliveryattempts": "3", "lastdeliveryoutcome": "Bad"}
    rig.give_up(DEAD_PATH, json.dumps([{**EVENT, **words}]).encode())
    (found,) = collect(rig.dead_letters, rig.dead, AT)
    assert found.reason == "1 event(s): Gone after 3 attempts, the last of which ended with Bad"


def test_a_pass_that_died_before_it_deleted_leaves_one_dead_letter(rig: Rig) -> None:
    rig.give_up(DEAD_PATH, json.dumps([DEAD]).encode())
    first = rig.dead.waiting(10)
    collect(rig.dead_letters, rig.dead, AT)
    rig.give_up(DEAD_PATH, first[0].body)
    collect(rig.dead_letters, rig.dead, AT)
    assert len(rig.dead_letters.names()) == 1


@pytest.mark.parametrize("body", [b"garbage", b"", b"[1]", b"{}"])
def test_a_dead_letter_that_nobody_can_read_is_kept_all_the_same(rig: Rig, body: bytes) -> None:
    rig.give_up(DEAD_PATH, body or b" ")
    (found,) = collect(rig.dead_letters, rig.dead, AT)
    assert rig.dead_letters.read(found.name).body == (body or b" ")
    assert "no reason" in found.reason


def test_status_shows_how_many_dead_letters_there_are_and_the_newest(rig: Rig) -> None:
    for number in range(5):
        rig.dead_letters.keep(dead_letter(identity=f"a-{number}", at=AT.replace(day=number + 1)))
    shown = dead_letter_page(rig.dead_letters, most=2)
    assert shown.count == 5
    assert len(shown.newest) == 2
    assert dead_letter_page(rig.dead_letters).newest[0].reason == "why"


def test_a_dead_letter_that_is_put_back_while_status_is_made_does_not_hide_the_others(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        rig.dead_letters.keep(dead_letter(identity=f"a-{number}", at=AT.replace(day=number + 1)))
    names = rig.dead_letters.names()
    rig.dead_letters.delete(names[0])
    monkeypatch.setattr(rig.dead_letters, "names", lambda: names)
    assert [found.name for found in dead_letter_page(rig.dead_letters, most=2).newest] == names[1:]


@pytest.mark.parametrize(
    ("source", "queue"),
    [(WORK_QUEUE, WORK_QUEUE), (EVENTS_QUEUE, EVENTS_QUEUE), (EVENT_GRID, EVENTS_QUEUE)],
)
def test_a_dead_letter_that_is_put_back_goes_where_it_was_meant_to_go(
    rig: Rig, source: str, queue: str
) -> None:
    rig.dead_letters.keep(dead_letter(source=source, body=b"payload"))
    requeue(rig.dead_letters, rig.post, f"{source}/2026-11-21/a-1")
    assert rig.post.sent == [(queue, b"payload")]
    assert rig.dead_letters.names() == []


def test_a_dead_letter_that_is_not_there_cannot_be_put_back(rig: Rig) -> None:
    with pytest.raises(NotThere):
        requeue(rig.dead_letters, rig.post, "table-work/2026-11-21/none")
    assert rig.post.sent == []


def test_a_queue_that_rejects_leaves_the_dead_letter_where_it_is(rig: Rig) -> None:
    class Full(MemoryRequeuer):
        def send(self, queue: str, body: bytes) -> None:
            raise OSError("full")

    rig.dead_letters.keep(dead_letter())
    with pytest.raises(OSError, match="full"):
        requeue(rig.dead_letters, Full(), dead_letter().name)
    assert rig.dead_letters.names() == [dead_letter().name]


def test_dead_letters_are_put_back_one_by_one_and_read_as_events(rig: Rig) -> None:
    rig.give_up(DEAD_PATH, json.dumps([DEAD, DEAD, DEAD]).encode())
    (found,) = collect(rig.dead_letters, rig.dead, AT)
    requeue(rig.dead_letters, rig.post, found.name)
    assert len(rig.post.sent) == 3
    for _, body in rig.post.sent:
        (event,) = read_events(body)
        assert isinstance(event, LandingEvent)
        assert event.identity == "e-1"


def test_what_is_put_back_lies_in_the_queue_as_the_platform_wants_it(azurite: Azurite) -> None:
    with QueueServiceClient.from_connection_string(azurite.connection_string) as service:
        name = f"queue-{uuid.uuid4()}"
        QueueRequeuer(service).send(name, b"payload")
        (message,) = service.get_queue_client(name).receive_messages()
        assert message.content == "cGF5bG9hZA=="


def test_what_leaves_no_room_for_base64_is_put_back_as_it_came(azurite: Azurite) -> None:
    with QueueServiceClient.from_connection_string(azurite.connection_string) as service:
        name = f"queue-{uuid.uuid4()}"
        longest = b"x" * ((64 << 10) - 1)
        QueueRequeuer(service).send(name, longest)
        (message,) = service.get_queue_client(name).receive_messages()
        assert message.content.encode() == longest
