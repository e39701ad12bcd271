"""A deployment at rest: Azure, the accounts and the Databricks job as stand-ins, and no runner."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from azure.core.exceptions import ResourceNotFoundError
from azure.storage.blob import BlobServiceClient
from azure.storage.queue import QueueServiceClient
from typer.testing import CliRunner, Result

from openmirror.cli.app import app
from openmirror.databricks.workspace import DatabricksWorkspace
from openmirror.deployment.azure.clients import ManagementClients
from openmirror.deployment.azure.deployed import ArmDeployed
from openmirror.deployment.rules.findings import Finding, Verdict
from openmirror.deployment.rules.outputs import Outputs
from openmirror.deployment.rules.roles import QUEUES, Who, check_roles
from openmirror.ingress.queue_wake_up import QueueWaker
from openmirror.reconcile.discovery import mirrors
from openmirror.reconcile.liveness import SweepRecord, SweptBy, write_sweep
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.sweeping import publish_all, sweep
from openmirror.settings import Settings
from openmirror.stores.azure.store import AzureStore
from openmirror.table import layout
from openmirror.wiring import deployment
from openmirror.wiring.azure import azure_ports, work_queue
from openmirror.wiring.deployment import Management
from standins.azurite import Azurite
from tests.databricks_stub import JOB, Jobs
from tests.deployment.azure import NAME, Azure, Identity, bicep
from tests.emulator_server import EndpointServer

DEAD_LETTERS = "dead-letters"


@dataclass
class Place:
    """What `openmirror azure verify` checks."""

    azure: Azure
    clients: ManagementClients
    server: EndpointServer
    azurite: Azurite
    jobs: Jobs
    env: dict[str, str]
    queues: QueueServiceClient
    on_sleep: Callable[[], None] = lambda: None
    """What all others do while the sample waits."""
    slept: timedelta = field(default_factory=timedelta)

    @property
    def settings(self) -> Settings:
        return Settings.load(self.env)

    ports: RootPorts = field(init=False)

    def __post_init__(self) -> None:
        self.ports = azure_ports(self.settings)

    def clear(self) -> None:
        """Forget every mirror."""
        self.server.on_event = None
        for container in (layout.LANDING, layout.LAKE):
            for mirror in self.ports.store.list_folder(container).entries:
                self.ports.store.delete_folder(layout.join(container, mirror.name))
        self.beat()

    def beat(
        self,
        ended: timedelta = timedelta(0),
        timer: timedelta | None = timedelta(0),
        seconds: float = 1.0,
    ) -> None:
        """Sweeps as far back as this: the last that ended, and the last by the timer."""
        now = self.ports.clock()
        record = SweepRecord(
            ended=now - ended,
            seconds=seconds,
            by=SweptBy.TIMER if timer == ended else SweptBy.EVENT,
            timer=now - timer if timer is not None else None,
        )
        write_sweep(self.ports.store, record)

    def swept(self) -> None:
        """What the timer's function does."""
        ports = self.ports
        names = mirrors(ports.store)
        seen = sweep(ports, names, QueueWaker(work_queue(self.settings), "sweep")).seen
        publish_all(ports, names, seen)

    def verify(self, *words: str) -> Result:
        return CliRunner().invoke(app, ["azure", "verify", "-g", NAME, *words])

    def found(self, *words: str) -> list[dict[str, str]]:
        """The findings, as programs get them."""
        result = self.verify("--json", *words)
        assert result.exit_code in (0, 1), result.output
        found: list[dict[str, str]] = json.loads(result.stdout)["data"]
        assert result.exit_code == any(one["verdict"] == "fault" for one in found)
        return found

    def only_roles(self) -> list[Finding]:
        """What is found of the roles that is not fine, for many questions in one test."""
        deployed = ArmDeployed(self.clients)
        (outputs,) = deployed.deployments(NAME)
        known = Outputs.read(outputs.outputs)
        assert isinstance(known, Outputs)
        given = {who: deployed.assignments(NAME, self.principal(who)) for who in Who}
        return [one for one in check_roles(known, given) if one.verdict is not Verdict.OK]

    def principal(self, who: Who) -> str:
        """An identity of the deployment."""
        deployed = self.azure.deployments[0]["properties"]["outputs"]
        outputs = {name.upper(): one["value"] for name, one in deployed.items()}
        topic = self.azure.one("Microsoft.EventGrid/systemTopics")
        principals: dict[Who, str] = {
            Who.FUNCTIONS: outputs["FUNCTIONS_PRINCIPAL_ID"],
            Who.RUNNER: outputs["RUNNER_PRINCIPAL_ID"],
            Who.TOPIC: topic["identity"]["principalId"],
        }
        return principals[who]

    def bad(self, *words: str) -> dict[str, str]:
        """The one finding that is not fine."""
        (bad,) = (one for one in self.found(*words or ("--no-sample",)) if one["verdict"] != "ok")
        return bad


@contextmanager
def place(
    azure: Azure,
    clients: ManagementClients,
    server: EndpointServer,
    azurite: Azurite,
    jobs: Jobs,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Place]:
    """A healthy deployment, which the Bicep files made; its accounts are these."""
    root = f"{server.url}/{server.account}"
    azure.deploy(
        bicep(),
        OPENMIRROR_ROOT=root,
        OPENMIRROR_QUEUES=azurite.queue_url,
        OPENMIRROR_DEAD_LETTERS=azurite.blob_url,
    )
    made_outputs = azure.deployments[0]["properties"]["outputs"]
    (lake,) = (one["value"] for name, one in made_outputs.items() if name.upper() == "LAKE_ACCOUNT")
    jobs.locations = [
        {
            "name": f"openmirror_{container}",
            "url": f"abfss://{container}@{lake}.dfs.core.windows.net/",
            "effective_enable_file_events": False,
        }
        for container in ("landing", "lake")
    ]
    azure.settings |= {
        "OPENMIRROR_ROOT": root,
        "OPENMIRROR_QUEUES__queueServiceUri": azurite.queue_url,
        "OPENMIRROR_DEAD_LETTERS__blobServiceUri": azurite.blob_url,
        "OPENMIRROR_JOB": str(JOB),
        "DATABRICKS_HOST": jobs.url,
    }
    env = {
        "OPENMIRROR_ROOT": root,
        "OPENMIRROR_ACCOUNT_KEY": server.key,
        "OPENMIRROR_QUEUES": azurite.connection_string,
        "OPENMIRROR_DEAD_LETTERS": azurite.connection_string,
    }
    with ExitStack() as open_clients:
        queues = open_clients.enter_context(
            QueueServiceClient.from_connection_string(azurite.connection_string)
        )
        blobs = open_clients.enter_context(
            BlobServiceClient.from_connection_string(azurite.connection_string)
        )
        empty(queues, blobs)
        made = Place(azure, clients, server, azurite, jobs, env, queues)

        @contextmanager
        def management(_: object, subscription: str | None) -> Iterator[Management]:
            with ExitStack() as opened:
                yield Management(clients, env, opened)

        def sleep(span: timedelta) -> None:
            made.slept += span
            made.on_sleep()

        def workspace(url: str) -> DatabricksWorkspace:
            return DatabricksWorkspace(url, Identity(), lambda: datetime.now(UTC))

        store = made.ports.store
        assert isinstance(store, AzureStore)
        open_clients.callback(store.close)
        made.beat()
        server.events.clear()
        monkeypatch.setattr(deployment, "management", management)
        monkeypatch.setattr(deployment, "workspace", workspace)
        monkeypatch.setattr(deployment, "_sleep", sleep)
        yield made


def empty(queues: QueueServiceClient, blobs: BlobServiceClient) -> None:
    """As a deployment makes them."""
    for name in QUEUES:
        client = queues.get_queue_client(name)
        try:
            client.clear_messages()
        except ResourceNotFoundError:
            client.create_queue()
    container = blobs.get_container_client(DEAD_LETTERS)
    if not container.exists():
        container.create_container()
    for blob in container.list_blobs():
        container.delete_blob(blob.name)


def shown(found: list[dict[str, str]]) -> dict[str, Any]:
    """Each check's verdicts."""
    verdicts: dict[str, Any] = {}
    for one in found:
        verdicts.setdefault(one["check"], []).append(one["verdict"])
    return verdicts
