"""One subscription for each test; what is deployed is what the Bicep files make."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from openmirror.databricks import runner_job
from openmirror.deployment.azure.clients import ManagementClients
from standins.azurite import Azurite
from tests.databricks_stub import Jobs, jobs_api
from tests.deployment import azure as standin
from tests.deployment.azure import Azure
from tests.deployment.place import Place
from tests.deployment.place import place as deployed
from tests.emulator_server import EndpointServer, account_of_its_own, endpoint_server


@pytest.fixture
def azure() -> Iterator[Azure]:
    """A subscription with an empty resource group."""
    with standin.azure() as made:
        yield made


@pytest.fixture
def clients(azure: Azure) -> Iterator[ManagementClients]:
    """The real SDKs over it."""
    with standin.clients(azure) as made:
        yield made


@pytest.fixture(scope="module")
def emulator(accounts: Iterator[Azurite]) -> Azurite:
    return next(accounts)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EndpointServer]:
    root = tmp_path_factory.mktemp("deployment") / "account"
    with endpoint_server(root, account=account_of_its_own()) as made:
        yield made


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    monkeypatch.setattr(runner_job, "RETRY_SECONDS", 1)
    with jobs_api() as made:
        yield made


@pytest.fixture
def place(
    azure: Azure,
    clients: ManagementClients,
    emulator: Azurite,
    server: EndpointServer,
    jobs: Jobs,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Place]:
    """A healthy deployment, with nothing mirrored yet."""
    server.events.clear()
    with deployed(azure, clients, server, emulator, jobs, monkeypatch) as made:
        yield made
        made.clear()
