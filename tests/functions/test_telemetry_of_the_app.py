"""What a Function App sends to Application Insights, by its own identity and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from openmirror.ingress.dead_letters import QUEUE_OF
from openmirror.ports.telemetry import dead_letter_event, runner_start_event, table_status_event
from openmirror.ports.telemetry.table_status_event import Health
from standins.functions_host import ROOT, FunctionsHost, host
from tests.azure_platform import APP, CLIENT, WORKSPACE, platform
from tests.databricks_stub import JOB
from tests.functions.test_status_over_http import applied
from tests.harness.publishing import land, table
from tests.identity_stub import Identities


def test_the_app_sends_tables_starts_and_dead_letters_in_its_identitys_name(
    settings: dict[str, str], root: Path, tmp_path: Path
) -> None:
    folder = table("seen", "Orders")
    store = applied(root, folder)
    land(store, folder, 2)
    land(store, folder, 4)
    with platform(tmp_path) as azure:
        with host({**settings, **azure.app, **quiet_libraries()}) as app:
            _emit(app)
        sent = azure.sent
    (status,) = [e for e in sent.events(table_status_event.EVENT) if e["Mirror"] == "seen"]
    assert (status["SourceTableName"], status["PendingFiles"]) == ("Orders", "2")
    assert status["Health"] == str(int(Health.RUNNING))
    (start,) = sent.events(runner_start_event.EVENT)
    page = f"{WORKSPACE}/?o=1#job/{JOB}/run/1"
    assert {name: start[name] for name in ("Outcome", "JobId", "RunId", "RunPage")} == {
        "Outcome": "Started",
        "JobId": str(JOB),
        "RunId": "1",
        "RunPage": page,
    }
    (dead_letter,) = sent.events(dead_letter_event.EVENT)
    assert set(dead_letter) == {*dead_letter_event.FIELDS, "logger_name"}
    counts = {point["source"]: point["value"] for point in sent.metric("dead_letters_waiting")}
    assert counts == {**dict.fromkeys(QUEUE_OF, 0), dead_letter["Source"]: 1}
    assert {item["tags"]["ai.cloud.role"] for item in sent.items} == {APP}

    monitor = "https://monitor.azure.com/"
    assert sent.tokens == {f"Bearer {Identities.token(monitor, CLIENT)}"}
    assert {client for _, client in azure.identities.asked} == {CLIENT}
    assert not sent.of_type("RemoteDependencyData")


def quiet_libraries() -> dict[str, str]:
    """The setting by which docs/OPERATIONS.md leaves out what libraries emit of storage."""
    operations = (ROOT / "docs" / "OPERATIONS.md").read_text()
    found = re.search(r"`(OTEL_PYTHON_DISABLED_INSTRUMENTATIONS)=([\w,]+)`", operations)
    assert found is not None
    return {found[1]: found[2]}


def _emit(app: FunctionsHost) -> None:
    """Let the functions run from which all of it comes, some more than once."""
    for function in ("sweep", "start_runner", "start_runner", "dead_letters"):
        assert app.timer(function).error is None
    for _ in range(2):
        assert app.queue("poison_events", "junk", identity="id-9").error is None
    assert app.timer("dead_letters").error is None
