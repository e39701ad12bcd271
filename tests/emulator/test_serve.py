"""`openmirror serve` and `up --serve` as processes, and what they print."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from azure.core.exceptions import ServiceRequestError
from azure.storage.filedatalake import DataLakeServiceClient, FileSystemClient

from openmirror.cli.serve_verb import exposure
from openmirror.emulator.access import DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.runtime.daemon import Daemon
from openmirror.settings import Settings
from openmirror.table import layout
from openmirror.table.layout import StorePath
from openmirror.wiring import waking
from tests.harness.command_line import run
from tests.harness.publishing import land, table
from tests.unit.test_up import _CODE

PATIENCE = 60.0
ORDERS = table("m", "Sales.schema/Orders")


class Process:
    """One `openmirror`, and what it has printed so far."""

    def __init__(self, folder: Path, *words: str, code: str | None = None) -> None:
        self.out, self.err = folder / "out", folder / "err"
        command = ["-c", code] if code else ["-m", "openmirror.cli"]
        quick = {"OPENMIRROR_METADATA_GRACE": "0", "OPENMIRROR_SWEEP_INTERVAL": "1h"}
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, *command, *words],
                env={**os.environ, **quick, "PYTHONPATH": str(Path.cwd())},
                stdout=out,
                stderr=err,
            )

    def says(self, text: str) -> str:
        until = time.monotonic() + PATIENCE
        while text not in (shown := self._shown()):
            assert time.monotonic() < until, f"{text!r} is not in:\n{shown}"
            assert self.process.poll() is None, shown
            time.sleep(0.02)
        return shown

    def _shown(self) -> str:
        errors = self.err.read_text()  # first: its last line comes there
        return self.out.read_text() + errors

    def ends(self, code: int) -> str:
        assert self.process.wait(PATIENCE) == code, self.err.read_text()
        return self.err.read_text()

    @property
    def landing(self) -> FileSystemClient:
        """Made by running the lines that it prints for Python."""
        printed = self.says("Ctrl-C stops").partition("Python:\n")[2].partition("\n\n")[0]
        names: dict[str, Any] = {}
        exec(textwrap.dedent(printed), names)
        return cast("FileSystemClient", names["landing"])


@contextmanager
def running(folder: Path, *words: str, code: str | None = None) -> Iterator[Process]:
    started = Process(folder, *words, code=code)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
            started.process.wait()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    (made / layout.landing_zone("m")).mkdir(parents=True)
    return made


def test_the_lines_that_serve_prints_reach_it(root: Path, tmp_path: Path) -> None:
    with running(tmp_path, "serve", "--root", str(root), "--port", "0") as serve:
        landing = serve.landing
        with landing:
            landing.get_file_client("m/x").upload_data(b"abc", overwrite=True)
        assert (root / "landing" / "m" / "x").read_bytes() == b"abc"
        shown = serve.says("FlushWithClose")
        assert "BlobCreated (CreateFile)  landing/m/x  0 bytes" in shown
        assert "BlobCreated (FlushWithClose)  landing/m/x  3 bytes" in shown
        (text,) = re.findall(r"AZURE_STORAGE_CONNECTION_STRING='(.*)'", shown)
        with DataLakeServiceClient.from_connection_string(text) as service:
            assert service.get_file_client("landing", "m/x").exists()
        serve.process.send_signal(signal.SIGINT)
        assert serve.ends(0).endswith("stopped\n")


def test_a_refused_request_is_reported(root: Path, tmp_path: Path) -> None:
    with running(tmp_path, "serve", "--root", str(root), "--port", "0") as serve:
        url = re.findall(r"URL +(\S+)", serve.says("Ctrl-C stops"))[0]
        stranger = {"account_name": "devstoreaccount1", "account_key": "AAAA"}
        with (
            DataLakeServiceClient(url, credential=stranger, retry_total=0) as service,
            pytest.raises(Exception, match="AuthenticationFailed"),
        ):
            service.get_file_client("landing", "x").create_file()
        serve.says("403 AuthenticationFailed")
        with serve.landing as landing:
            assert not landing.get_file_client("m/none").exists()
        serve.says("HEAD /devstoreaccount1/landing/m/none: 404 PathNotFound: m/none")
        serve.process.send_signal(signal.SIGTERM)
        serve.ends(0)
        with (
            DataLakeServiceClient(url, credential=stranger, retry_total=0) as service,
            pytest.raises(ServiceRequestError),
        ):
            list(service.list_file_systems())


def test_a_killed_endpoint_has_forgotten_nothing(root: Path, tmp_path: Path) -> None:
    words = ("serve", "--root", str(root), "--port", "0")
    with running(tmp_path, *words) as killed, killed.landing as landing:
        file = landing.create_file("m/x", metadata={"a": "b"})
        file.append_data(b"abc", 0)
        folder = landing.create_directory("m/d")
        etag = folder.get_directory_properties().etag
        lease_id = file.acquire_lease(-1).id
        killed.process.kill()
        killed.process.wait()
    with running(tmp_path, *words) as again, again.landing as landing:
        file = landing.get_file_client("m/x")
        assert landing.get_directory_client("m/d").get_directory_properties().etag == etag
        assert file.get_file_properties().lease.state == "leased"
        file.flush_data(3, lease=lease_id)
        assert file.download_file().readall() == b"abc"
        assert file.get_file_properties().metadata == {"a": "b"}


def test_a_root_that_is_served_already_is_left_alone(root: Path, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    with running(tmp_path, "serve", "--root", str(root), "--port", "0") as serve:
        serve.says("Ctrl-C stops")
        with running(tmp_path / "second", "serve", "--root", str(root), "--port", "0") as other:
            assert "is served already, by process" in other.ends(4)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--port", "70000"], "--port is 70000, but must be at most 65535"),
        (["--host", "no.such.host.invalid"], "no.such.host.invalid is no address to listen on"),
        (["--events-to", "nonsense"], "events cannot be sent"),
        (["--root", "/no/such/folder"], "the root /no/such/folder is not there"),
        (["--root", "https://contoso.dfs.core.windows.net"], "contoso"),
    ],
)
def test_what_cannot_start_says_why(root: Path, words: list[str], shown: str) -> None:
    done = run("serve", "--root", str(root), "--port", "0", *words, columns=1_000)
    assert done.exit_code == 1
    assert shown in done.stderr


def test_up_serve_mirrors_what_is_written_through_it(root: Path, tmp_path: Path) -> None:
    """A file that a publisher writes through HTTP is applied, by a rename as most of them do."""
    source = tmp_path / "source"
    land_elsewhere(source)
    words = ("up", "--root", str(root), "--serve")
    code = f"import os; os.environ['OPENMIRROR_SERVE_PORT'] = '0'\n{_CODE}"
    with running(tmp_path, *words, code=code) as up:
        up.says("mirroring m")
        with up.landing as landing:
            folder = f"m/Files/LandingZone/{ORDERS.path}"
            for file in sorted(source.iterdir()):
                written = landing.get_file_client(f"{folder}/_{file.name}")
                written.upload_data(file.read_bytes(), overwrite=True)
                written.rename_file(f"landing/{folder}/{file.name}")
            assert not landing.get_file_client("m/none").exists()
        up.says("HEAD /devstoreaccount1/landing/m/none: 404 ")
        up.says("Orders")
        up.process.send_signal(signal.SIGINT)
        up.ends(0)


def land_elsewhere(folder: Path) -> None:
    """A change file, and the folder's metadata, as a publisher has them at hand."""
    from openmirror.stores.local.store import LocalStore

    root = folder.parent / "elsewhere"
    root.mkdir()
    land(LocalStore(root), ORDERS, 1)
    (root / layout.table_folder(ORDERS)).rename(folder)


class Woken:
    """Stands for a running `up`, and remembers what it was asked."""

    def __init__(self) -> None:
        self.wake_ups: list[TableFolder] = []
        self.sweeps = 0

    def wake(self, folder: TableFolder) -> None:
        self.wake_ups.append(folder)

    def sweep(self) -> None:
        self.sweeps += 1


@pytest.mark.parametrize(
    ("path", "wake_ups", "sweeps"),
    [
        ("landing/m/Files/LandingZone/T/00000000000000000001.parquet", ["T"], 0),
        ("landing/m/Files/LandingZone/S.schema/T/_metadata.json", ["S.schema/T"], 0),
        ("landing/m/Files/LandingZone/T", ["T"], 0),
        ("landing/m/Files/LandingZone/S.schema", [], 1),
        ("landing/m", [], 1),
        ("landing/m/Files/LandingZone/T/_scratch.parquet", [], 0),
        ("landing/m/Files/Monitoring/tables.json", [], 0),
        ("landing/unwanted/Files/LandingZone/T/00000000000000000001.parquet", [], 0),
        ("lake/m/Files/LandingZone/T/00000000000000000001.parquet", [], 0),
    ],
)
def test_an_event_wakes_for_the_table_that_it_concerns(
    path: str, wake_ups: list[str], sweeps: int
) -> None:
    woken = Woken()
    container, _, rest = StorePath(path).partition("/")
    sink = waking(cast("Daemon", woken), lambda mirror: mirror != "unwanted")
    sink({"subject": f"/blobServices/default/containers/{container}/blobs/{rest}"})
    assert woken.wake_ups == [TableFolder("m", TablePath.parse(table)) for table in wake_ups]
    assert woken.sweeps == sweeps


@pytest.mark.parametrize(
    ("host", "key", "warned"),
    [
        ("127.0.0.1", None, False),
        ("::1", None, False),
        ("localhost", None, False),
        ("0.0.0.0", None, True),
        ("10.0.0.1", None, True),
        ("0.0.0.0", "b3du", False),
    ],
)
def test_letting_others_in_with_the_public_key_is_warned_of(
    host: str, key: str | None, warned: bool
) -> None:
    given = {"serve_host": host} | ({"serve_key": key} if key else {})
    assert (exposure(Settings.load({}, given)) is not None) == warned


def test_the_defaults_are_loopback_and_the_account_of_every_emulator() -> None:
    settings = Settings()
    assert settings.serve_host == "127.0.0.1"
    assert settings.serve_account == DEVELOPMENT_ACCOUNT
    assert settings.serve_key.get_secret_value() == DEVELOPMENT_KEY
