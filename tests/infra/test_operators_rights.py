"""An operator who verifies a deployment may do all that this asks of storage, and needs no more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from openmirror.deployment.rules.sample import MIRROR
from standins.azurite import Azurite
from tests.databricks_stub import jobs_api
from tests.deployment import azure as standin
from tests.deployment.place import place
from tests.emulator_server import account_of_its_own, endpoint_server
from tests.infra.access import Operation, Verdict, verdict
from tests.infra.asked_of_storage import of_the_dead_letters, of_the_lake, of_the_queues
from tests.infra.recording import recording
from tests.infra.role_matrix import OPERATOR
from tests.infra.sample_deployment import assignments


@pytest.fixture
def asked(
    tmp_path: Path, accounts: Iterator[Azurite], monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, Operation]]:
    """What `openmirror azure verify` asks, with its sample, of which nothing comes here."""
    azurite = next(accounts)
    with (
        standin.azure() as azure,
        standin.clients(azure) as clients,
        jobs_api() as jobs,
        endpoint_server(tmp_path / "account", account=account_of_its_own()) as server,
        recording(server.url) as lake,
        recording(azurite.blob_url) as dead_letters,
        recording(azurite.queue_url) as queues,
    ):
        watched = replace(azurite, blob_url=dead_letters.url, queue_url=queues.url)
        with place(azure, clients, replace(server, url=lake.url), watched, jobs, monkeypatch) as it:
            made_here = [recorded.requests for recorded in (lake, dead_letters, queues)]
            for requests in made_here:
                requests.clear()
            found = it.found("--timeout", "2s")
        assert "sample" in {one["check"] for one in found}
        yield {
            operation.what: operation
            for requests, read in zip(
                made_here, (of_the_lake, of_the_dead_letters, of_the_queues), strict=True
            )
            for operation in map(read, requests)
        }


_OBSERVING = ("read ", "list ", "describe ", "count ", "peek ")


def test_verifying_asks_for_what_an_operator_may_and_changes_only_its_own_sample(
    asked: dict[str, Operation],
) -> None:
    given = assignments()
    refused = {
        what: came
        for what, operation in asked.items()
        if (came := verdict(given, OPERATOR, operation)) is not Verdict.ALLOWED
    }
    assert refused == {}
    changed = {what for what in asked if not what.startswith(_OBSERVING)}
    assert changed
    assert all(f" landing/{MIRROR}/Files/LandingZone/" in what for what in changed), changed
