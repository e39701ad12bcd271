"""What every place for letters keeps, and what becomes of messages that were given up."""

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

from openmirror.adapters.azure.letters import BlobLetters, QueuePost
from openmirror.adapters.eventgrid import read_events
from openmirror.adapters.memory_letters import MemoryDeadLetters, MemoryLetters, MemoryPost
from openmirror.doorbells import EVENTS_QUEUE, WORK_QUEUE, Buried, encode, encode_buried
from openmirror.errors import NotThere
from openmirror.events import LandingEvent
from openmirror.ports import Ring
from openmirror.ports.letters import DeadLetters, Letter, Letters
from openmirror.services.letters import (
    EVENT_GRID,
    QUEUE_OF,
    collect,
    keep_event,
    keep_ring,
    mailbox,
    requeue,
)
from standins.azurite import Azurite
from tests.unit.paper import table

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
RING = Ring(table("m", "S.schema/T"), "sweep")
DEAD_PATH = "TOPIC/SUBSCRIPTION/2026/11/21/9/guid.json"


@dataclass
class Rig:
    """A place for letters, and Event Grid's hand in it."""

    letters: Letters
    dead: DeadLetters
    give_up: Callable[[str, bytes], None]
    """As Event Grid writes a dead letter."""
    post: MemoryPost


@pytest.fixture(params=["memory", "azurite"])
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    if request.param == "memory":
        dead = MemoryDeadLetters()
        yield Rig(MemoryLetters(), dead, dead.blobs.__setitem__, MemoryPost())
        return
    emulator: Azurite = request.getfixturevalue("azurite")
    with BlobServiceClient.from_connection_string(emulator.connection_string) as service:
        name = f"letters-{uuid.uuid4()}"
        letters = BlobLetters(service, QUEUE_OF, name)

        def give_up(path: str, body: bytes) -> None:
            container = service.get_container_client(name)
            if not container.exists():
                container.create_container()
            container.upload_blob(path, body)

        yield Rig(letters, letters.dead_letters(), give_up, MemoryPost())


def letter(**other: Any) -> Letter:
    given = {"source": WORK_QUEUE, "identity": "a-1", "at": AT, "reason": "why", "body": b"{}"}
    return Letter(**{**given, **other})


@pytest.mark.parametrize("body", [b"", b"text", "\u00e4 \u65e5\u672c".encode(), b"\xff\x00\xfe"])
def test_a_letter_is_kept_with_its_payload_byte_for_byte(rig: Rig, body: bytes) -> None:
    kept = letter(body=body)
    rig.letters.keep(kept)
    assert rig.letters.names() == ["table-work/2026-11-21/a-1"]
    assert rig.letters.read(kept.name) == kept


def test_keeping_a_letter_twice_keeps_one(rig: Rig) -> None:
    rig.letters.keep(letter())
    rig.letters.keep(letter())
    assert len(rig.letters.names()) == 1


def test_there_are_no_letters_before_the_first(rig: Rig) -> None:
    assert rig.letters.names() == []
    assert rig.dead.waiting(10) == []
    rig.letters.delete("table-work/2026-11-21/a-1")


@pytest.mark.parametrize("name", ["table-work/2026-11-21/none", "../x", "", "lake/m/x", DEAD_PATH])
def test_a_name_that_is_no_letters_is_not_there(rig: Rig, name: str) -> None:
    rig.give_up(DEAD_PATH, b"[]")
    with pytest.raises(NotThere):
        rig.letters.read(name)


def test_a_malformed_event_is_kept_and_says_what_is_wrong_with_it(rig: Rig) -> None:
    kept = keep_event(rig.letters, read_events, "id-1", b"not an event", AT)
    assert "no JSON object" in rig.letters.read(kept.name).reason
    assert rig.letters.read(kept.name).body == b"not an event"


def test_an_event_that_could_not_be_handled_leads_to_the_functions_errors(rig: Rig) -> None:
    kept = keep_event(rig.letters, read_events, "id-1", json.dumps(EVENT).encode(), AT)
    assert "function's errors" in kept.reason


def test_a_ring_that_was_given_up_names_its_table(rig: Rig) -> None:
    ring = encode(RING).encode()
    assert "m/S.schema/T" in keep_ring(rig.letters, "id-1", ring, AT).reason
    assert "no doorbell" in keep_ring(rig.letters, "id-2", b"\xff", AT).reason


@pytest.mark.parametrize("sent", [encode(RING), "no ring", "AAAA", "\u00e9", '{"buried": 1}', "{"])
def test_what_a_runner_buried_says_why_and_is_put_back_as_it_was_sent(rig: Rig, sent: str) -> None:
    buried = encode_buried(Buried(sent, "taken 5 times, at last in vain: no space left")).encode()
    kept = keep_ring(rig.letters, "id-1", buried, AT)
    assert "no space left" in kept.reason
    assert ("m/S.schema/T" in kept.reason) is (sent == encode(RING))
    requeue(rig.letters, rig.post, kept.name)
    assert rig.post.sent == [(WORK_QUEUE, sent.encode())]


@pytest.mark.parametrize("text", ['{"buried": "\\ud800", "why": ""}', '{"buried": "x"}', "[]", "1"])
def test_what_only_looks_like_a_buried_message_is_kept_as_it_is(rig: Rig, text: str) -> None:
    assert rig.letters.read(keep_ring(rig.letters, "id-1", text.encode(), AT).name).body == (
        text.encode()
    )


def test_dead_letters_of_event_grid_are_collected_once_with_its_reason(rig: Rig) -> None:
    rig.give_up(DEAD_PATH, json.dumps([DEAD, DEAD]).encode())
    rig.letters.keep(letter())
    (found,) = collect(rig.letters, rig.dead, AT)
    assert found.source == EVENT_GRID
    assert found.reason == (
        "2 event(s): MaxDeliveryAttemptsExceeded after 30 attempts, the last of which ended with "
        "NotFound"
    )
    assert found.at == datetime(2026, 11, 21, 9, 0, 1, tzinfo=UTC)
    assert collect(rig.letters, rig.dead, AT) == []
    assert set(rig.letters.names()) == {found.name, letter().name}


def test_a_dead_letter_in_the_words_of_cloud_events_is_understood(rig: Rig) -> None:
    words = {"deadletterreason": "Gone", "deliveryattempts": "3", "lastdeliveryoutcome": "Bad"}
    rig.give_up(DEAD_PATH, json.dumps([{**EVENT, **words}]).encode())
    (found,) = collect(rig.letters, rig.dead, AT)
    assert found.reason == "1 event(s): Gone after 3 attempts, the last of which ended with Bad"


def test_a_pass_that_died_before_it_deleted_leaves_one_letter(rig: Rig) -> None:
    rig.give_up(DEAD_PATH, json.dumps([DEAD]).encode())
    first = rig.dead.waiting(10)
    collect(rig.letters, rig.dead, AT)
    rig.give_up(DEAD_PATH, first[0].body)
    collect(rig.letters, rig.dead, AT)
    assert len(rig.letters.names()) == 1


@pytest.mark.parametrize("body", [b"garbage", b"", b"[1]", b"{}"])
def test_a_dead_letter_that_nobody_can_read_is_kept_all_the_same(rig: Rig, body: bytes) -> None:
    rig.give_up(DEAD_PATH, body or b" ")
    (found,) = collect(rig.letters, rig.dead, AT)
    assert rig.letters.read(found.name).body == (body or b" ")
    assert "no reason" in found.reason


def test_status_shows_how_many_letters_there_are_and_the_newest(rig: Rig) -> None:
    for number in range(5):
        rig.letters.keep(letter(identity=f"a-{number}", at=AT.replace(day=number + 1)))
    shown = mailbox(rig.letters, most=2)
    assert shown.count == 5
    assert len(shown.newest) == 2
    assert mailbox(rig.letters).newest[0].reason == "why"


def test_a_letter_that_is_put_back_while_status_is_made_does_not_hide_the_others(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        rig.letters.keep(letter(identity=f"a-{number}", at=AT.replace(day=number + 1)))
    names = rig.letters.names()
    rig.letters.delete(names[0])
    monkeypatch.setattr(rig.letters, "names", lambda: names)
    assert [found.name for found in mailbox(rig.letters, most=2).newest] == names[1:]


@pytest.mark.parametrize(
    ("source", "queue"),
    [(WORK_QUEUE, WORK_QUEUE), (EVENTS_QUEUE, EVENTS_QUEUE), (EVENT_GRID, EVENTS_QUEUE)],
)
def test_a_letter_that_is_put_back_goes_where_it_was_meant_to_go(
    rig: Rig, source: str, queue: str
) -> None:
    rig.letters.keep(letter(source=source, body=b"payload"))
    requeue(rig.letters, rig.post, f"{source}/2026-11-21/a-1")
    assert rig.post.sent == [(queue, b"payload")]
    assert rig.letters.names() == []


def test_a_letter_that_is_not_there_cannot_be_put_back(rig: Rig) -> None:
    with pytest.raises(NotThere):
        requeue(rig.letters, rig.post, "table-work/2026-11-21/none")
    assert rig.post.sent == []


def test_a_queue_that_rejects_leaves_the_letter_where_it_is(rig: Rig) -> None:
    class Full(MemoryPost):
        def send(self, queue: str, body: bytes) -> None:
            raise OSError("full")

    rig.letters.keep(letter())
    with pytest.raises(OSError, match="full"):
        requeue(rig.letters, Full(), letter().name)
    assert rig.letters.names() == [letter().name]


def test_dead_letters_are_put_back_one_by_one_and_read_as_events(rig: Rig) -> None:
    rig.give_up(DEAD_PATH, json.dumps([DEAD, DEAD, DEAD]).encode())
    (found,) = collect(rig.letters, rig.dead, AT)
    requeue(rig.letters, rig.post, found.name)
    assert len(rig.post.sent) == 3
    for _, body in rig.post.sent:
        (event,) = read_events(body)
        assert isinstance(event, LandingEvent)
        assert event.identity == "e-1"


def test_what_is_put_back_lies_in_the_queue_as_the_platform_wants_it(azurite: Azurite) -> None:
    with QueueServiceClient.from_connection_string(azurite.connection_string) as service:
        name = f"queue-{uuid.uuid4()}"
        QueuePost(service).send(name, b"payload")
        (message,) = service.get_queue_client(name).receive_messages()
        assert message.content == "cGF5bG9hZA=="


def test_what_leaves_no_room_for_base64_is_put_back_as_it_came(azurite: Azurite) -> None:
    with QueueServiceClient.from_connection_string(azurite.connection_string) as service:
        name = f"queue-{uuid.uuid4()}"
        longest = b"x" * ((64 << 10) - 1)
        QueuePost(service).send(name, longest)
        (message,) = service.get_queue_client(name).receive_messages()
        assert message.content.encode() == longest
