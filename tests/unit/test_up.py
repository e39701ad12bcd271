"""`openmirror up` as a process: hears of files, and stops when it is asked to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from openmirror.stores.local.store import LocalStore
from openmirror.table import layout
from tests.harness.publishing import land, table

ORDERS = table("m", "Sales.schema/Orders")
PATIENCE = 30.0
_CODE = """
import sys, time
from contextlib import nullcontext
from pathlib import Path
from openmirror import wiring
from openmirror.stores.local.store import LocalStore
from openmirror.cli.app import app
from openmirror.runtime import daemon
from tests.harness.paper import PaperEngine

def engine(settings, spark):
    slow = lambda batch: time.sleep(3600 if batch.folder.path.table == "Stuck" else 0)
    return PaperEngine(LocalStore(settings.root_folder()), slow)

wiring.local_spark = lambda settings, say: nullcontext()
wiring.engine_over = engine
daemon.SECONDS_TO_FINISH = 1.0
app(sys.argv[1:])
"""


class Running:
    """One `openmirror up` and what it has printed."""

    def __init__(self, root: Path) -> None:
        self.store = LocalStore(root)
        self.log = root.parent / "up.log"
        env = {
            **os.environ,
            "OPENMIRROR_METADATA_GRACE": "0",
            "OPENMIRROR_DROP_GRACE": "1",
            "OPENMIRROR_SWEEP_INTERVAL": "1h",
            "PYTHONPATH": str(Path.cwd()),
        }
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _CODE, "up", "--root", str(root)], env=env, stderr=log
            )

    def says(self, text: str) -> None:
        until = time.monotonic() + PATIENCE
        while text not in self.log.read_text():
            assert time.monotonic() < until, f"{text!r} is not in:\n{self.log.read_text()}"
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.02)

    def ends(self, code: int, within: float) -> str:
        assert self.process.wait(within) == code, self.log.read_text()
        return self.log.read_text()


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Running]:
    root = tmp_path / "root"
    (root / layout.landing_zone("m")).mkdir(parents=True)
    running = Running(root)
    try:
        running.says("mirroring m")
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait()


def test_up_applies_what_lands_and_drops_what_goes_without_waiting_for_a_sweep(
    up: Running,
) -> None:
    land(up.store, ORDERS, 1)
    up.says("m/Sales.Orders  file 1  whole table  +2")
    land(up.store, ORDERS, 2)
    up.says("m/Sales.Orders  file 2  +2")
    up.store.delete_folder(layout.table_folder(ORDERS))
    up.says("m/Sales.Orders  dropped")
    up.process.send_signal(signal.SIGINT)
    assert "Traceback" not in up.ends(0, within=PATIENCE)


def test_up_stops_on_sigterm_and_lets_go_of_the_root(up: Running, tmp_path: Path) -> None:
    up.process.send_signal(signal.SIGTERM)
    assert "stopped" in up.ends(0, within=5)
    again = Running(tmp_path / "root")
    again.says("mirroring m")
    again.process.send_signal(signal.SIGTERM)
    again.ends(0, within=5)


def test_a_batch_that_does_not_end_is_abandoned_within_seconds(up: Running) -> None:
    land(up.store, table("m", "Stuck"), 1)
    time.sleep(1)  # there is nothing to see of a batch that is only being read
    up.process.send_signal(signal.SIGTERM)
    assert "abandoned a batch of m/Stuck" in up.ends(0, within=PATIENCE)


def test_the_second_signal_ends_it_at_once(up: Running) -> None:
    land(up.store, table("m", "Stuck"), 1)
    time.sleep(1)
    up.process.send_signal(signal.SIGINT)
    up.says("once more stops at once")
    up.process.send_signal(signal.SIGINT)
    up.ends(130, within=3)
