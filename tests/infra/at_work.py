"""A deployment at work on this machine, with all that each identity asks of storage written down.

The account is the local endpoint, queues and dead letters are Azurite's, the Function App runs in
the real runtime library, and the runner keeps the books without Spark. Each identity has addresses
of its own, so that what comes in by one was asked by it.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from azure.storage.blob import BlobServiceClient
from azure.storage.filedatalake import DataLakeServiceClient
from azure.storage.queue import QueueServiceClient

from openmirror.emulator.subscription import is_subscribed
from openmirror.ports.work_items import EVENTS_QUEUE, POISON_SUFFIX, WORK_QUEUE
from openmirror.protocol.names import TableFolder
from openmirror.settings import Settings
from openmirror.stores.azure.dead_letters import CONTAINER as DEAD_LETTERS
from openmirror.table import layout
from openmirror.wiring import root_ports
from openmirror.wiring.azure import leases, work_queue
from openmirror.wiring.runner import working
from standins.azurite import Azurite
from standins.functions_host import FunctionsHost, Result, host
from standins.functions_pump import Pump
from tests.emulator_server import EndpointServer, endpoint_server
from tests.harness.paper import PaperEngine
from tests.harness.publishing import file_name, parquet
from tests.infra.access import Operation
from tests.infra.asked_of_storage import of_the_dead_letters, of_the_lake, of_the_queues
from tests.infra.recording import Recorded, Request, recording

MIRROR = "sales"
QUEUES = [name + kind for name in (EVENTS_QUEUE, WORK_QUEUE) for kind in ("", POISON_SUFFIX)]
_PATIENCE = 30.0
_QUICK = {
    "runner_idle": timedelta(milliseconds=50),
    "runner_poll": timedelta(milliseconds=100),
    "lease_delay": timedelta(milliseconds=100),
}


@dataclass
class Identity:
    """Where one identity finds the services."""

    lake: Recorded
    dead_letters: Recorded
    queues: Recorded

    def asked(self) -> list[tuple[Request, Operation]]:
        """All that it has asked so far, with what storage asks the roles for."""
        readers: list[tuple[Recorded, Callable[[Request], Operation]]] = [
            (self.lake, of_the_lake),
            (self.dead_letters, of_the_dead_letters),
            (self.queues, of_the_queues),
        ]
        return [(one, read(one)) for recorded, read in readers for one in list(recorded.requests)]


@dataclass
class Deployment:
    """All of it, and what its people do."""

    server: EndpointServer
    azurite: Azurite
    functions: Identity
    runner: Identity
    publisher: Identity
    app: FunctionsHost
    pump: Pump

    # -- The publisher, by the SDK that publishers use

    def service(self) -> DataLakeServiceClient:
        return DataLakeServiceClient(self.publisher.lake.url, credential=self.server.credential)

    def publish(self, folder: TableFolder, name: str, data: bytes) -> None:
        """Write a file under another name, then rename it, as the protocol recommends."""
        with self.service() as service:
            place = layout.table_folder(folder).partition("/")[2]
            files = service.get_file_system_client(layout.LANDING)
            client = files.get_file_client(f"{place}/_{name}")
            client.upload_data(data, overwrite=True)
            client.rename_file(f"{layout.LANDING}/{place}/{name}")

    def describe(self, folder: TableFolder, **more: object) -> None:
        """Publish a table's metadata."""
        text = json.dumps({"keyColumns": ["id"], **more})
        self.publish(folder, "_metadata.json", text.encode())

    def land(self, folder: TableFolder, *numbers: int) -> None:
        """Publish change files."""
        for number in numbers:
            self.publish(folder, file_name(number), parquet(id=[number]))

    def delete(self, folder: TableFolder) -> None:
        """Take the table away, as the protocol has it."""
        place = layout.table_folder(folder).partition("/")[2]
        with self.service() as service:
            files = service.get_file_system_client(layout.LANDING)
            files.get_directory_client(place).delete_directory()

    # -- The Function App

    def deliver_messages(self) -> None:
        """Hand over what lies in the queues that functions listen to."""
        self.pump.until_idle()

    def timer(self, function: str) -> None:
        self._well(function, self.app.timer(function))

    def operate(self, verb: str, **asked: object) -> None:
        """What an operator asks over HTTP."""
        self._http("operate", {"verb": verb}, asked)

    def requeue(self) -> None:
        self._http("requeue", {}, {"all": True})

    def open_status_page(self) -> None:
        """Somebody opens the status page, and asks Fabric's two calls."""
        assert self.app.http("status").value["status"] == 200
        for call in ("getMirroringStatus", "getTablesMirroringStatus"):
            self._http(call, {"mirror": MIRROR}, {})

    def _http(self, function: str, route: Mapping[str, str], body: Mapping[str, object]) -> None:
        result = self.app.http(function, "POST", route=route, body=json.dumps(body))
        self._well(function, result)
        assert result.value["status"] in (200, 202), result.value["body"]

    def _well(self, function: str, result: Result) -> None:
        assert result.error is None, f"{function}: {result.error}"

    # -- The runner

    def run(self, done: Callable[[], bool] = lambda: True) -> None:
        """A runner until that is done and it is idle; it keeps the books, and no rows."""
        env = settings_of(self.runner, self.server, self.azurite)
        settings = Settings.load(env).model_copy(update=_QUICK)
        ports = root_ports(settings)
        engine = PaperEngine(ports.store)
        runner = working(settings, ports, engine, work_queue(settings), leases(settings))
        until = time.monotonic() + _PATIENCE
        try:
            while not (runner.is_idle() and done()):
                assert time.monotonic() < until, "the runner did not do what was asked"
                runner.serve(0.02)
        finally:
            run_result = runner.stop()
        assert run_result.failed == {}

    # -- Time that passes, behind everybody's back

    def days_pass(self, folder: TableFolder, days: int = 10) -> None:
        """What a table's document says of the past lies further back."""
        path = self.server.root / layout.control_document(folder)
        document: dict[str, Any] = json.loads(path.read_text())
        back = timedelta(days=days)
        if dropped := document.get("dropped"):
            dropped["at"] = (datetime.fromisoformat(dropped["at"]) - back).isoformat()
        for one in (document.get("record") or {}).get("archived", ()):
            one["hour"] = (datetime.fromisoformat(one["hour"]) - back).isoformat()
        path.write_text(json.dumps(document))


def settings_of(identity: Identity, server: EndpointServer, azurite: Azurite) -> dict[str, str]:
    """Its app settings, with the emulators' keys in place of identities."""
    text = (
        f"DefaultEndpointsProtocol=http;AccountName={azurite.account};AccountKey={azurite.key};"
        f"BlobEndpoint={identity.dead_letters.url};QueueEndpoint={identity.queues.url};"
    )
    return {
        "OPENMIRROR_ROOT": identity.lake.url,
        "OPENMIRROR_ACCOUNT_KEY": server.key,
        "OPENMIRROR_QUEUES": text,
        "OPENMIRROR_DEAD_LETTERS": text,
        "OPENMIRROR_DROP_GRACE": "0s",
        "OPENMIRROR_METADATA_GRACE": "0s",
    }


@contextmanager
def at_work(root: Path, azurite: Azurite) -> Iterator[Deployment]:
    """A deployment over a root and an emulator's account, until the block ends."""
    with ExitStack() as stack:
        (root / "account" / layout.landing_zone(MIRROR)).mkdir(parents=True)
        server = stack.enter_context(endpoint_server(root / "account"))
        _make(azurite)

        def identity() -> Identity:
            lake, dead_letters, queues = (
                stack.enter_context(recording(url))
                for url in (f"{server.url}/{server.account}", azurite.blob_url, azurite.queue_url)
            )
            return Identity(lake, dead_letters, queues)

        functions, runner, publisher = identity(), identity(), identity()
        queues = stack.enter_context(
            QueueServiceClient.from_connection_string(azurite.connection_string)
        )
        events = queues.get_queue_client(EVENTS_QUEUE)

        def deliver(event: dict[str, Any]) -> None:
            if is_subscribed(event):
                events.send_message(base64.b64encode(json.dumps(event).encode()).decode())

        server.on_event = deliver
        app = stack.enter_context(host(settings_of(functions, server, azurite)))
        # The host's own listener asks as the same identity.
        listener = stack.enter_context(QueueServiceClient(functions.queues.url, azurite.key))
        pump = Pump(host=app, service=listener)
        yield Deployment(server, azurite, functions, runner, publisher, app, pump)


def _make(azurite: Azurite) -> None:
    """What the deployment makes before anybody starts."""
    with QueueServiceClient.from_connection_string(azurite.connection_string) as queues:
        for name in QUEUES:
            queues.create_queue(name)
    with BlobServiceClient.from_connection_string(azurite.connection_string) as blobs:
        blobs.create_container(DEAD_LETTERS)
