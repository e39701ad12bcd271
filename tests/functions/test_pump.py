"""Messages through real queues and the real runtime: repeated until handled, kept when not."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from azure.storage.blob import BlobServiceClient

from openmirror.ingress.dead_letters import QUEUE_OF, dead_letter_page, requeue
from openmirror.ports import Step
from openmirror.ports.work_items import EVENTS_QUEUE, POISON_SUFFIX
from openmirror.stores.azure.dead_letters import BlobDeadLetters, QueueRequeuer
from standins.functions_host import Died, FunctionsHost, Result, host
from standins.functions_pump import Pump
from standins.functions_worker import KILL_AT
from tests.functions.conftest import Publisher, Queues, event, text


@pytest.fixture
def pump(app: FunctionsHost, queues: Queues, settings: dict[str, str]) -> Iterator[Pump]:
    made = Pump.of(app, settings["OPENMIRROR_QUEUES"])
    yield made
    made.service.close()


def encoded(value: object) -> str:
    return base64.b64encode(text(value).encode()).decode()


def test_an_event_in_the_queue_becomes_a_wake_up_whether_encoded_or_plain(
    pump: Pump, queues: Queues, publisher: Publisher
) -> None:
    publisher.metadata()
    landed = publisher.land(1)
    queues.send(EVENTS_QUEUE, encoded(landed))
    queues.send(EVENTS_QUEUE, text([landed]))
    pump.until_idle()
    assert len(queues.wake_ups()) == 2
    assert queues.bodies(EVENTS_QUEUE) == []


def test_a_malformed_message_ends_as_a_dead_letter_with_its_payload(
    pump: Pump, queues: Queues, blobs: BlobServiceClient
) -> None:
    queues.send(EVENTS_QUEUE, "this is no event")
    pump.until_idle()
    attempts = [result for name, result in pump.results if name == "landing"]
    assert len(attempts) == 5
    dead_letters = BlobDeadLetters(blobs, QUEUE_OF)
    shown = dead_letter_page(dead_letters)
    assert shown.count == 1
    assert shown.newest[0].body == b"this is no event"
    assert "no JSON object" in shown.newest[0].reason
    assert queues.bodies(f"{EVENTS_QUEUE}-poison") == []


class FailingApp:
    """An app whose function of poison messages always fails."""

    functions = ("poison_events",)

    def trigger(self, function: str) -> dict[str, str]:
        return {"type": "queueTrigger", "queueName": EVENTS_QUEUE + POISON_SUFFIX}

    def queue(self, function: str, body: str, identity: str, times: int) -> Result:
        return Result(f"{body} cannot be kept, for the {times}. time")


def test_a_message_that_cannot_be_kept_as_a_dead_letter_stays_in_its_poison_queue(
    queues: Queues,
) -> None:
    poison = EVENTS_QUEUE + POISON_SUFFIX
    queues.send(poison, "given up")
    # The host waits ten minutes between two tries.
    pump = Pump(host=cast("FunctionsHost", FailingApp()), service=queues.service, hidden=1, most=2)
    until = time.monotonic() + 4
    while time.monotonic() < until:
        pump.turn()
        time.sleep(0.1)
    assert len(pump.results) == pump.most
    time.sleep(1.1)
    assert queues.bodies(poison) == [b"given up"]
    assert not [
        queue.name for queue in queues.service.list_queues(EVENTS_QUEUE + POISON_SUFFIX * 2)
    ]


def test_the_good_events_beside_a_malformed_one_still_wake_up(
    pump: Pump, queues: Queues, blobs: BlobServiceClient, publisher: Publisher
) -> None:
    publisher.metadata()
    queues.send(EVENTS_QUEUE, encoded([{"id": 1}, publisher.land(1)]))
    pump.until_idle()
    assert queues.wake_ups()
    assert dead_letter_page(BlobDeadLetters(blobs, QUEUE_OF)).count == 1


def test_a_dead_letter_that_is_put_back_is_handled(
    pump: Pump, queues: Queues, blobs: BlobServiceClient, publisher: Publisher
) -> None:
    publisher.metadata()
    landed = publisher.land(1)
    blobs.get_container_client("dead-letters").upload_blob(
        "TOPIC/SUB/2026/11/21/9/x.json", json.dumps([landed])
    )
    assert pump.host.timer("dead_letters").error is None
    dead_letters = BlobDeadLetters(blobs, QUEUE_OF)
    requeue(dead_letters, QueueRequeuer(queues.service), dead_letters.names()[0])
    pump.until_idle()
    assert len(queues.wake_ups()) == 1
    assert dead_letters.names() == []


def test_killed_between_filtering_and_waking_the_message_comes_back_and_nothing_is_lost(
    settings: dict[str, str], app: FunctionsHost, queues: Queues, publisher: Publisher
) -> None:
    publisher.metadata()
    queues.send(EVENTS_QUEUE, encoded(publisher.land(1)))
    with host({**settings, KILL_AT: Step.FILTERED.value}) as doomed:
        pump = Pump.of(doomed, settings["OPENMIRROR_QUEUES"])
        pump.hidden = 2
        with pytest.raises(Died):
            pump.turn()
        pump.service.close()
    assert queues.wake_ups() == []
    again = Pump.of(app, settings["OPENMIRROR_QUEUES"])
    patience = time.monotonic() + 20
    while not again.turn():  # until nobody holds the message any more
        assert time.monotonic() < patience
    again.service.close()
    assert len(queues.wake_ups()) == 1


def test_a_queue_that_rejects_makes_the_message_come_again_until_it_takes_the_wake_up(
    settings: dict[str, str], app: FunctionsHost, queues: Queues, publisher: Publisher
) -> None:
    publisher.metadata()
    queues.send(EVENTS_QUEUE, encoded(publisher.land(1)))
    key = settings["OPENMIRROR_QUEUES"].partition("AccountKey=")[2].partition(";")[0]
    wrong = base64.b64encode(b"another key altogether").decode()
    refused = {
        **settings,
        "OPENMIRROR_QUEUES": settings["OPENMIRROR_QUEUES"].replace(key, wrong),
    }
    with host(refused) as rejected:
        pump = Pump.of(rejected, settings["OPENMIRROR_QUEUES"])
        pump.turn()
        pump.service.close()
    ((_, result),) = pump.results
    assert result.error is not None
    assert "AccessDenied" in result.error
    assert queues.wake_ups() == []
    assert len(queues.bodies(EVENTS_QUEUE)) == 1
    again = Pump.of(app, settings["OPENMIRROR_QUEUES"])
    again.until_idle()
    again.service.close()
    assert len(queues.wake_ups()) == 1


def test_a_bad_file_shows_in_status_without_any_runner(
    pump: Pump, queues: Queues, publisher: Publisher, root: Path
) -> None:
    publisher.metadata()
    queues.send(EVENTS_QUEUE, encoded(publisher.write(f"{1:020d}.parquet", b"id,name\n1,a\n")))
    pump.until_idle()
    assert queues.wake_ups() == []
    document = root / "lake" / "m" / "_openmirror" / "folders" / f"{publisher.table}.json"
    assert "FileUnreadable" in document.read_text()


def test_events_that_concern_no_table_leave_no_trace(
    pump: Pump, queues: Queues, blobs: BlobServiceClient
) -> None:
    for path in ("m/Files/Monitoring/tables.json", "m/Files/LandingZone/../x", "x" * 1024):
        queues.send(EVENTS_QUEUE, encoded(event(path)))
    other = {**event("m/x"), "eventType": "Microsoft.Storage.BlobTierChanged"}
    queues.send(EVENTS_QUEUE, encoded(other))
    pump.until_idle()
    assert queues.wake_ups() == []
    assert dead_letter_page(BlobDeadLetters(blobs, QUEUE_OF)).count == 0
