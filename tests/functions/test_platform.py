"""The stand-in for the platform around an app: what it makes go off, hands over and answers."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from functions import bindings
from openmirror.ports import Step
from openmirror.ports.work_items import EVENTS_QUEUE
from standins.functions_front import status_page
from standins.functions_host import ROOT, Died, FunctionsHost, host
from standins.functions_platform import Platform
from standins.functions_pump import Pump
from standins.functions_worker import KILL_AT
from standins.ncrontab import goes_off
from tests.functions.conftest import Publisher, Queues

OUTLIVED = """
import os, pathlib, sys
from standins.azurite import running
with running(pathlib.Path(sys.argv[1])) as emulator:
    print(emulator.queue_url, flush=True)
    os._exit(9)
"""
HOUR = [datetime(2026, 11, 21, 9, tzinfo=UTC) + timedelta(seconds=n) for n in range(3600)]


def wait(done: Callable[[], object]) -> None:
    until = time.monotonic() + 30
    while not done():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("schedule", "times"),
    [
        (bindings.SWEEP, 120),
        (bindings.START_RUNNER, 360),
        (bindings.CLEANUP, 6),
        (bindings.COLLECT, 12),
        ("5,10 0 9 * * *", 2),
        ("0 0 10 * * *", 0),
        ("0 0 * * * 6", 1),
        ("0 0 * * * 0", 0),
        ("0 0 9 21 11 *", 1),
    ],
)
def test_a_timer_goes_off_as_often_as_its_schedule_says(schedule: str, times: int) -> None:
    assert sum(goes_off(schedule, second) for second in HOUR) == times


def test_an_app_at_work_sweeps_at_its_start_and_gets_what_comes_to_its_queues(
    app: FunctionsHost, settings: dict[str, str], queues: Queues, publisher: Publisher
) -> None:
    publisher.metadata()
    pump = Pump.of(app, settings["OPENMIRROR_QUEUES"])
    with pump.service, Platform(app, pump) as platform:
        wait(lambda: platform.invoked["sweep"])
        queues.send(EVENTS_QUEUE, json.dumps([publisher.land(1)]))
        wait(lambda: platform.invoked["landing"])
        queues.send(EVENTS_QUEUE, json.dumps([publisher.land(2)]))
        platform.stop()
        assert platform.invoked["landing"] == 2
        assert platform.failed == []
        platform.check()


def test_the_end_of_an_app_is_an_answer_to_whoever_asks(
    settings: dict[str, str], queues: Queues, publisher: Publisher
) -> None:
    publisher.metadata()
    queues.send(EVENTS_QUEUE, json.dumps([publisher.land(1)]))
    with host({**settings, KILL_AT: Step.FILTERED.value}) as doomed:
        pump = Pump.of(doomed, settings["OPENMIRROR_QUEUES"])
        with pump.service, Platform(doomed, pump) as platform:
            wait(lambda: platform.ended)
            with pytest.raises(Died):
                platform.check()


def test_the_front_answers_with_the_status_page_and_nothing_else(app: FunctionsHost) -> None:
    with status_page(app) as url:
        with urllib.request.urlopen(f"{url}?refresh=0") as answer:
            assert answer.status == 200
            assert answer.headers["Content-Type"].startswith("text/html")
            assert "openmirror" in answer.read().decode()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(url.replace("status", "operate/pause"))


def test_the_storage_emulator_ends_with_whoever_started_it_however_that_ended(
    tmp_path: Path,
) -> None:
    started = subprocess.run(
        [sys.executable, "-c", OUTLIVED, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert started.returncode == 9, started.stderr
    here = urlsplit(started.stdout.strip())
    assert here.port

    def refuses() -> bool:
        with socket.socket() as knocking:
            return knocking.connect_ex((here.hostname, here.port)) != 0

    wait(refuses)
