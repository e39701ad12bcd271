"""Status, verbs and dead letters by the real Functions runtime, and what it sends of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from azure.storage.blob import BlobServiceClient

from openmirror.operate.requests import Operator, hold
from openmirror.ports.work_items import EVENTS_QUEUE
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.settings import Settings
from openmirror.stores.local.store import LocalStore
from openmirror.table import layout
from openmirror.wiring import local_ports
from standins.functions_host import FunctionsHost, Result, host
from tests.functions.conftest import Queues
from tests.harness.paper import PaperEngine
from tests.harness.publishing import land, table
from tests.ingestion_stub import QUIET, ingestion

WHO = {"x-ms-client-principal-name": "ann@contoso.com"}


def applied(root: Path, folder: TableFolder) -> LocalStore:
    """A table of this folder, with one file applied."""
    ports = local_ports(Settings(root=root))
    (root / layout.landing_zone(folder.mirror)).mkdir(parents=True, exist_ok=True)
    land(ports.store, folder, 1)
    reconcile_until_idle(ports, PaperEngine(ports.store), folder)
    assert isinstance(ports.store, LocalStore)
    return ports.store


def answer_of(result: Result) -> tuple[int, Any]:
    assert result.error is None, result.trace
    return result.value["status"], json.loads(result.value["body"])


def test_fabrics_two_calls_answer_in_its_shapes(app: FunctionsHost, root: Path) -> None:
    applied(root, table("http", "Sales.schema/Orders"))
    route = {"mirror": "http"}
    assert answer_of(app.http("getMirroringStatus", "POST", route=route)) == (
        200,
        {"status": "Initialized"},
    )
    status, body = answer_of(app.http("getTablesMirroringStatus", "POST", route=route))
    assert status == 200
    (one,) = body["data"]
    assert (one["sourceSchemaName"], one["sourceTableName"], one["status"]) == (
        "Sales",
        "Orders",
        "Replicating",
    )
    assert answer_of(app.http("getMirroringStatus", "POST", route={"mirror": "none"}))[0] == 404


def test_a_verb_is_carried_out_in_the_name_of_whoever_asked(app: FunctionsHost, root: Path) -> None:
    folder = table("verbs", "Orders")
    store = applied(root, folder)
    body = json.dumps({"table": "verbs/dbo.Orders", "why": "nightly load"})
    route = {"verb": "pause"}
    status, reported = answer_of(app.http("operate", "POST", route=route, headers=WHO, body=body))
    assert (status, reported) == (202, {"data": [{"table": "verbs/dbo.Orders", "done": "held"}]})
    held = Documents(store).table(folder).value.hold
    assert held is not None
    assert (held.by, held.why) == ("ann@contoso.com", "nightly load")
    again, refused = answer_of(app.http("operate", "POST", route=route, body=body))
    assert (again, refused["errorCode"]) == (409, "RequestRefused")


def test_a_dead_letter_is_shown_and_put_back(
    app: FunctionsHost, queues: Queues, blobs: BlobServiceClient
) -> None:
    assert app.queue("poison_events", "junk", identity="id-9").error is None
    name = f"{EVENTS_QUEUE}/{datetime.now(UTC):%Y-%m-%d}/id-9"
    page = app.http("status").value["body"]
    assert "1 message was given up" in page
    assert name in page
    status, reported = answer_of(
        app.http("requeue", "POST", body=json.dumps({"dead_letter": name}))
    )
    assert (status, reported) == (202, {"data": [{"dead_letter": name, "done": "put back"}]})
    assert queues.bodies(EVENTS_QUEUE) == [b"junk"]
    assert "given up" not in app.http("status").value["body"]


def test_the_platform_sends_what_a_function_reports_and_nothing_twice(
    settings: dict[str, str], root: Path
) -> None:
    folder = table("reporting", "Orders")
    applied(root, folder)
    hold(local_ports(Settings(root=root)), folder, Operator("ann"))
    with ingestion() as sent:
        env = {
            **settings,
            **QUIET,
            "PYTHON_APPLICATIONINSIGHTS_ENABLE_TELEMETRY": "true",
            "APPLICATIONINSIGHTS_CONNECTION_STRING": sent.connection_string,
        }
        with host(env) as app:
            for _ in range(2):
                assert app.timer("sweep").error is None
        stopped = [o for o in sent.operations if o["Mirror"] == "reporting"]
        assert [o["OperationName"] for o in stopped] == ["StopTable"]
        beats = [
            beat["value"] for beat in sent.metric("heartbeat") if beat["mirror"] == "reporting"
        ]
        assert sum(beats) == 2
        status = [p for p in sent.metric("table_status") if p["mirror"] == "reporting"]
        assert [point["value"] for point in status] == [3]
