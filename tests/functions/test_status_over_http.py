"""Status, verbs and letters by the real Functions runtime, and what it sends of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from azure.storage.blob import BlobServiceClient

from openmirror import layout
from openmirror.adapters.local.store import LocalStore
from openmirror.doorbells import EVENTS_QUEUE
from openmirror.protocol.names import TableFolder
from openmirror.services.documents import Documents
from openmirror.services.requests import Operator, hold
from openmirror.services.visiting import settle
from openmirror.settings import Settings
from openmirror.wiring import local_parts
from standins.functions_host import FunctionsHost, Result, host
from tests.functions.conftest import Queues
from tests.ingestion_stub import QUIET, ingestion
from tests.unit.paper import PaperEngine, land, table

WHO = {"x-ms-client-principal-name": "ann@contoso.com"}


def applied(root: Path, folder: TableFolder) -> LocalStore:
    """A table of this folder, with one file applied."""
    parts = local_parts(Settings(root=root))
    (root / layout.landing_zone(folder.mirror)).mkdir(parents=True, exist_ok=True)
    land(parts.store, folder, 1)
    settle(parts, PaperEngine(parts.store), folder)
    assert isinstance(parts.store, LocalStore)
    return parts.store


def said(result: Result) -> tuple[int, Any]:
    assert result.error is None, result.trace
    return result.value["status"], json.loads(result.value["body"])


def test_fabrics_two_calls_answer_in_its_shapes(app: FunctionsHost, root: Path) -> None:
    applied(root, table("http", "Sales.schema/Orders"))
    route = {"mirror": "http"}
    assert said(app.http("getMirroringStatus", "POST", route=route)) == (
        200,
        {"status": "Initialized"},
    )
    status, body = said(app.http("getTablesMirroringStatus", "POST", route=route))
    assert status == 200
    (one,) = body["data"]
    assert (one["sourceSchemaName"], one["sourceTableName"], one["status"]) == (
        "Sales",
        "Orders",
        "Replicating",
    )
    assert said(app.http("getMirroringStatus", "POST", route={"mirror": "none"}))[0] == 404


def test_a_verb_is_carried_out_in_the_name_of_whoever_asked(app: FunctionsHost, root: Path) -> None:
    folder = table("verbs", "Orders")
    store = applied(root, folder)
    body = json.dumps({"table": "verbs/dbo.Orders", "why": "nightly load"})
    route = {"verb": "pause"}
    status, told = said(app.http("operate", "POST", route=route, headers=WHO, body=body))
    assert (status, told) == (202, {"data": [{"table": "verbs/dbo.Orders", "done": "held"}]})
    held = Documents(store).table(folder).value.hold
    assert held is not None
    assert (held.by, held.why) == ("ann@contoso.com", "nightly load")
    again, refused = said(app.http("operate", "POST", route=route, body=body))
    assert (again, refused["errorCode"]) == (409, "RequestRefused")


def test_a_letter_is_shown_and_put_back(
    app: FunctionsHost, queues: Queues, blobs: BlobServiceClient
) -> None:
    assert app.queue("poison_events", "junk", identity="id-9").error is None
    name = f"{EVENTS_QUEUE}/{datetime.now(UTC):%Y-%m-%d}/id-9"
    page = app.http("status").value["body"]
    assert "1 message was given up" in page
    assert name in page
    status, told = said(app.http("requeue", "POST", body=json.dumps({"letter": name})))
    assert (status, told) == (202, {"data": [{"letter": name, "done": "put back"}]})
    assert queues.bodies(EVENTS_QUEUE) == [b"junk"]
    assert "given up" not in app.http("status").value["body"]


def test_the_platform_sends_what_a_function_tells_and_nothing_twice(
    settings: dict[str, str], root: Path
) -> None:
    folder = table("told", "Orders")
    applied(root, folder)
    hold(local_parts(Settings(root=root)), folder, Operator("ann"))
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
        stopped = [o for o in sent.operations if o["Mirror"] == "told"]
        assert [o["OperationName"] for o in stopped] == ["StopTable"]
        beats = [beat["value"] for beat in sent.metric("heartbeat") if beat["mirror"] == "told"]
        assert sum(beats) == 2
        status = [p for p in sent.metric("table_status") if p["mirror"] == "told"]
        assert [point["value"] for point in status] == [3]
