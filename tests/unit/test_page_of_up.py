"""`up --page` serves the status page to this machine, and names what the first batch waits for."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from openmirror.cli.named_wait import NamedWait
from openmirror.stores.local.store import LocalStore
from openmirror.table import layout
from tests.harness.command_line import run
from tests.harness.publishing import land, table

PATIENCE = 30.0
ORDERS = table("m", "Sales.schema/Orders")
_CODE = """
import sys, time
from contextlib import contextmanager
from pathlib import Path
from openmirror import wiring
from openmirror.stores.local.store import LocalStore
from openmirror.cli.app import app
from tests.harness.paper import PaperEngine

@contextmanager
def spark(settings, say):
    while not Path(sys.argv[1]).exists():
        time.sleep(0.05)
    yield

wiring.local_spark = spark
wiring.engine_over = lambda settings, spark: PaperEngine(LocalStore(settings.root_folder()))
app(sys.argv[2:])
"""


class Up:
    """One `openmirror up --page` whose Spark starts when it is let."""

    def __init__(self, root: Path) -> None:
        self.log, self._started = root.parent / "up.log", root.parent / "started"
        env = {
            **os.environ,
            "OPENMIRROR_METADATA_GRACE": "0",
            "OPENMIRROR_PAGE_PORT": "0",
            "PYTHONPATH": str(Path.cwd()),
        }
        words = [str(self._started), "up", "--page", "--root", str(root)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _CODE, *words], env=env, stderr=log
            )

    def start_spark(self) -> None:
        self._started.touch()

    def says(self, text: str) -> str:
        until = time.monotonic() + PATIENCE
        while text not in (log := self.log.read_text()):
            assert time.monotonic() < until, log
            assert self.process.poll() is None, log
            time.sleep(0.02)
        return log

    @property
    def address(self) -> str:
        return self.says("status page: http").partition("status page: ")[2].splitlines()[0]

    def page(self, path: str = "/", host: str | None = None) -> tuple[int, str]:
        place = urlsplit(self.address)
        connection = http.client.HTTPConnection("127.0.0.1", place.port, timeout=PATIENCE)
        connection.request("GET", path, headers={"Host": host or place.netloc})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def shows(self, text: str) -> None:
        until = time.monotonic() + PATIENCE
        while text not in (page := self.page()[1]):
            assert time.monotonic() < until, page
            time.sleep(0.1)


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    """One whose Spark is starting."""
    with _up(tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def left_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """The same for tests that only read its pages."""
    with _up(tmp_path_factory.mktemp("up")) as running:
        yield running


@contextmanager
def _up(folder: Path) -> Iterator[Up]:
    root = folder / "root"
    (root / layout.landing_zone("m")).mkdir(parents=True)
    land(LocalStore(root), ORDERS, 1)
    running = Up(root)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait()


def test_the_page_names_what_the_first_batch_waits_for_while_it_lasts(up: Up) -> None:
    assert up.address.startswith("http://127.0.0.1:")
    status, page = up.page()
    assert status == 200
    assert "starting Spark, which the first batch waits for" in page
    assert "Sales.Orders" in page
    up.start_spark()
    up.shows("Replicating")
    assert "starting Spark" not in up.page()[1]


def test_the_page_is_there_until_the_process_ends(up: Up) -> None:
    up.start_spark()
    up.says("mirroring m")
    assert up.page()[0] == 200
    up.process.send_signal(signal.SIGTERM)
    assert up.process.wait(PATIENCE) == 0
    log = up.log.read_text()
    assert "Traceback" not in log
    with pytest.raises(ConnectionRefusedError):
        up.page()


def test_ctrl_c_ends_it_while_spark_is_starting(up: Up) -> None:
    assert up.page()[0] == 200
    up.says("starting Spark")
    up.process.send_signal(signal.SIGINT)
    assert up.process.wait(PATIENCE) != 0
    assert "Traceback" not in up.log.read_text()


def test_the_page_is_for_this_machine_and_is_all_there_is(left_alone: Up) -> None:
    up = left_alone
    assert up.page("/anything")[0] == 404
    assert up.page(host="evil.example")[0] == 403
    assert up.page(host="localhost:1")[0] == 200
    port = int(up.address.rpartition(":")[2].strip("/"))
    outside = [at[4][0] for at in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)]
    for address in {str(one) for one in outside} - {"127.0.0.1"}:
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((address, port), timeout=PATIENCE)


def test_the_address_asks_for_a_mirror_or_for_a_page_that_stands_still(left_alone: Up) -> None:
    up = left_alone
    assert 'http-equiv="refresh"' in up.page()[1]
    status, still = up.page("/?refresh=0")
    assert (status, 'http-equiv="refresh"' in still) == (200, False)
    assert up.page("/?mirror=m")[0] == 200
    status, refused = up.page("/?mirror=%3Cother%3E")
    assert status == 404
    assert "there is no mirror &lt;other&gt;" in refused
    assert up.page("/?after=!")[0] == 400


def test_a_port_that_is_taken_is_an_error_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / layout.landing_zone("m")).mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("up", "--page", root=tmp_path, env={"OPENMIRROR_PAGE_PORT": str(port)})
    assert done.exit_code == 1
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr
    assert "OPENMIRROR_PAGE_PORT" in done.stderr
    assert "starting Spark" not in done.stderr


def test_a_wait_is_repeated_while_it_lasts_and_not_after() -> None:
    lines: list[str] = []
    waiting = NamedWait("starting Spark", lines.append, remind=0.01)
    assert waiting.text() is None
    with waiting.named():
        until = time.monotonic() + PATIENCE
        while len(lines) < 3 and time.monotonic() < until:
            time.sleep(0.01)
        assert "so far" in str(waiting.text())
    assert lines[0] == "starting Spark"
    assert "starting Spark, for 0 s so far" in lines
    count = len(lines)
    time.sleep(0.05)
    assert len(lines) == count
    assert waiting.text() is None
