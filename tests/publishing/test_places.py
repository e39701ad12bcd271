"""The library on a folder of this machine, and on an account by Microsoft's SDK."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.identity import DefaultAzureCredential

from openmirror.errors import AccessDenied, CannotStart, FolderReplaced
from openmirror.publishing import Patience, Publisher, PublisherOptions
from openmirror.publishing.places import zone_place
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import StorePath
from tests.azurite.tokens import make_certificate
from tests.emulator_server import EndpointServer, endpoint_server
from tests.publishing import program
from tests.publishing.zones import ORDERS, archive_applied, landed, mirrored, numbers

ROOT = Path(__file__).parents[2]
SHORT = PublisherOptions(patience=Patience(seconds=0))


def test_no_token_is_sent_over_http() -> None:
    with pytest.raises(CannotStart, match="only sent over https"):
        zone_place("http://127.0.0.1:10000/dev/landing/sales", DefaultAzureCredential())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EndpointServer]:
    with endpoint_server(tmp_path_factory.mktemp("account")) as running:
        yield running


def test_an_account_is_published_into_by_the_same_rules(server: EndpointServer) -> None:
    url = f"{server.url}/{server.account}/landing/sales/Files/LandingZone"
    with Publisher(url, server.key, SHORT) as zone:
        zone.introduce("tests")
        with zone.table("dbo.orders", key=["id"], source="erp") as orders:
            orders.insert([{"id": 1}, {"id": 2}], position=1)
            orders.flush()
            orders.upsert([{"id": 2, "city": "Oslo"}], position=2)
        with zone.table("dbo.orders", key=["id"], source="erp") as orders:
            orders.insert([{"id": 1}], position=1)
            orders.delete([{"id": 1}], position=3)
        store = LocalStore(server.root)
        assert mirrored(store).rows == [{"id": 2, "city": "Oslo"}]
        archive_applied(store)
        orders = zone.table("dbo.orders")
        orders.insert([{"id": 9}])
        (file,) = orders.flush()
        assert file.name == f"{4:020d}.parquet"
        store.delete_folder(ORDERS)
        orders.insert([{"id": 10}])
        with pytest.raises(FolderReplaced):
            orders.flush()
        orders.abandon()
        with zone.table("dbo.orders", key=["other"], recreate=True) as orders:
            orders.insert([{"other": 1}])
        assert numbers(store) == [1]
        zone.drop("dbo.orders")
        assert store.incarnation(ORDERS) is None


def test_an_account_of_this_machine_is_reached_over_https(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate[0]))
    with endpoint_server(tmp_path / "root", certificate=certificate) as secure:
        zone = f"https://127.0.0.1:{secure.port}/{secure.account}/landing/m/Files/LandingZone"
        with Publisher(zone, secure.key, SHORT).table("T", key=["id"]) as rows:
            rows.insert([{"id": 1}])
        folder = StorePath("landing/m/Files/LandingZone/T")
        assert numbers(LocalStore(secure.root), folder) == [1]


def test_a_wrong_key_is_reported_and_nothing_is_written(server: EndpointServer) -> None:
    url = f"{server.url}/{server.account}/landing/denied/Files/LandingZone"
    with pytest.raises(AccessDenied, match="AuthenticationFailed"):
        Publisher(url, "bm9wZQ==", SHORT).table("orders", key=["id"])
    assert not (server.root / "landing" / "denied").exists()


def test_a_process_that_is_killed_for_good_loses_and_repeats_nothing(tmp_path: Path) -> None:
    zone = tmp_path / "landing" / "m" / "Files" / "LandingZone"
    command = [sys.executable, "-m", program.__name__, str(zone)]
    for lines in (1, 7):
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as running:
            assert running.stdout is not None
            for _ in range(lines):
                assert running.stdout.readline()
            running.send_signal(signal.SIGKILL)
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    folder = StorePath("landing/m/Files/LandingZone/T")
    files = landed(LocalStore(tmp_path), folder)
    found = [change.row["id"] for file in files for change in file.changes]
    assert found == list(range(program.BATCHES * program.ROWS))


def test_the_library_needs_neither_pydantic_nor_spark() -> None:
    script = (
        "import sys\n"
        "for name in ('pydantic', 'pyspark', 'delta', 'azure', 'duckdb'):\n"
        "    sys.modules[name] = None\n"
        "import openmirror.publishing as p\n"
        "import tempfile, pathlib\n"
        "with p.Publisher(pathlib.Path(tempfile.mkdtemp())).table('T', key=['id']) as t:\n"
        "    t.upsert([{'id': 1}])\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
