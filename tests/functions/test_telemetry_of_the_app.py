"""What a Function App sends to Application Insights, by its own identity and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from openmirror import letterevent, startevent, statusevent
from openmirror.endpoint.certificate import certificate as make_certificate
from openmirror.services.letters import QUEUE_OF
from openmirror.statusevent import Health
from standins.functions_host import FunctionsHost, host
from tests.databricks_stub import JOB, Jobs, jobs_api
from tests.functions.test_status_over_http import applied
from tests.identity_stub import Identities, identities
from tests.ingestion_stub import QUIET, Ingestion, ingestion
from tests.unit.paper import land, table

CLIENT = "the-client-id"
APP = "func-openmirror-abc123"


@dataclass
class Platform:
    """All that the app finds outside itself."""

    env: dict[str, str]
    sent: Ingestion
    jobs: Jobs
    identities: Identities

    @contextmanager
    def app(self) -> Iterator[FunctionsHost]:
        """The app, as infra/bicep sets it up; all that it told has arrived when it has ended."""
        with host(self.env) as running_app:
            yield running_app


@pytest.fixture
def platform(settings: dict[str, str], tmp_path: Path) -> Iterator[Platform]:
    certificate = make_certificate(tmp_path / "certificate", [])
    with (
        identities() as given,
        jobs_api(certificate) as jobs,
        ingestion(certificate) as sent,
    ):
        jobs.pages = "https://adb-1.1.azuredatabricks.net"
        env = {
            **settings,
            **QUIET,
            **given.env,
            "REQUESTS_CA_BUNDLE": str(certificate[0]),
            "TMPDIR": str(tmp_path),
            "FUNCTIONS_WORKER_RUNTIME": "python",
            "WEBSITE_SITE_NAME": APP,
            "AZURE_CLIENT_ID": CLIENT,
            "OPENMIRROR_JOB": str(JOB),
            "DATABRICKS_HOST": jobs.url,
            "PYTHON_APPLICATIONINSIGHTS_ENABLE_TELEMETRY": "true",
            "APPLICATIONINSIGHTS_CONNECTION_STRING": sent.connection_string,
            "APPLICATIONINSIGHTS_AUTHENTICATION_STRING": f"ClientId={CLIENT};Authorization=AAD",
        }
        yield Platform(env, sent, jobs, given)


def test_the_app_sends_tables_starts_and_letters_in_its_identitys_name(
    platform: Platform, root: Path
) -> None:
    folder = table("seen", "Orders")
    store = applied(root, folder)
    land(store, folder, 2)
    land(store, folder, 4)
    with platform.app() as app:
        for function in ("sweep", "start_runner", "start_runner", "dead_letters"):
            assert app.timer(function).error is None
        for _ in range(2):
            assert app.queue("poison_events", "junk", identity="id-9").error is None
        assert app.timer("dead_letters").error is None
    sent = platform.sent
    (status,) = [e for e in sent.events(statusevent.EVENT) if e["Mirror"] == "seen"]
    assert (status["SourceTableName"], status["PendingFiles"]) == ("Orders", "2")
    assert status["Health"] == str(int(Health.RUNNING))
    (start,) = sent.events(startevent.EVENT)
    page = f"https://adb-1.1.azuredatabricks.net/?o=1#job/{JOB}/run/1"
    assert {name: start[name] for name in ("Outcome", "JobId", "RunId", "RunPage")} == {
        "Outcome": "Started",
        "JobId": str(JOB),
        "RunId": "1",
        "RunPage": page,
    }
    (letter,) = sent.events(letterevent.EVENT)
    assert set(letter) == {*letterevent.FIELDS, "logger_name"}
    counts = {point["source"]: point["value"] for point in sent.metric("letters_waiting")}
    assert counts == {**dict.fromkeys(QUEUE_OF, 0), letter["Source"]: 1}
    assert {item["tags"]["ai.cloud.role"] for item in sent.items} == {APP}

    monitor = "https://monitor.azure.com/"
    assert sent.tokens == {f"Bearer {Identities.token(monitor, CLIENT)}"}
    assert {client for _, client in platform.identities.asked} == {CLIENT}
