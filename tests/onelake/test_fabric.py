"""Fabric's REST, answered by the mirrors themselves."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from openmirror.emulator.onelake.fabric import Fabric
from openmirror.emulator.onelake.hosts import API
from openmirror.emulator.onelake.items import Items, NamedMirror
from openmirror.emulator.onelake.small_requests import SmallRequest
from openmirror.emulator.onelake.tokens import FABRIC, Tokens
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.root_ports import RootPorts
from openmirror.settings import Settings
from openmirror.table import layout
from openmirror.wiring.fabric import MirrorsOfRoot
from openmirror.wiring.local import local_ports
from tests.harness.publishing import land, table
from tests.onelake.conftest import Asking

TOKENS = Tokens(3600)


@dataclass(frozen=True)
class Rest:
    """Fabric over a root with the mirror `sales`, asked without a network."""

    fabric: Fabric
    ports: RootPorts
    root: Path

    def __call__(self, method: str, path: str, body: object = None, **query: str) -> Any:
        status, value = self.answered(method, path, body, **query)
        assert status in (200, 201), value
        return value

    def answered(
        self, method: str, path: str, body: object = None, **query: str
    ) -> tuple[int, Any]:
        token = TOKENS.issue("t", "c", FABRIC).text
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        parts = tuple(part for part in path.split("/") if part)
        asked = SmallRequest(method, parts, query, {"authorization": f"Bearer {token}"}, content)
        answered = self.fabric.answer(asked)
        return answered.status, answered.value

    @property
    def workspace(self) -> str:
        return f"/v1/workspaces/{next(iter(self.fabric.items)).workspace.id}"

    @property
    def item(self) -> str:
        return f"{self.workspace}/mirroredDatabases/{next(iter(self.fabric.items)).id}"


@pytest.fixture
def rest(tmp_path: Path) -> Rest:
    (tmp_path / layout.landing_zone("sales")).mkdir(parents=True)
    (tmp_path / "lake").mkdir()
    ports = local_ports(Settings(root=tmp_path))
    items = Items([NamedMirror.parse("My Workspace/Sales=sales")])
    return Rest(Fabric(items, MirrorsOfRoot(ports, tmp_path), TOKENS, page=2), ports, tmp_path)


def test_workspaces_items_and_databases_are_found_by_their_guids(rest: Rest) -> None:
    [workspace] = rest("GET", "/v1/workspaces")["value"]
    assert (workspace["displayName"], workspace["type"]) == ("My Workspace", "Workspace")
    assert rest("GET", f"/v1/workspaces/{workspace['id']}") == workspace
    [database] = rest("GET", f"/v1/workspaces/{workspace['id']}/mirroredDatabases")["value"]
    assert rest("GET", f"{rest.workspace}/mirroredDatabases/{database['id']}") == database
    assert (database["displayName"], database["workspaceId"]) == ("Sales", workspace["id"])
    tables = database["properties"]["oneLakeTablesPath"]
    assert tables.endswith(f"/{workspace['id']}/{database['id']}/Tables")
    assert len(rest("GET", f"{rest.workspace}/items", type="MirroredDatabase")["value"]) == 1
    assert rest("GET", f"{rest.workspace}/items", type="Lakehouse")["value"] == []


def test_stop_holds_the_mirror_and_start_resumes_it(rest: Rest) -> None:
    def held() -> bool:
        return Documents(rest.ports.store).mirror("sales").value.hold is not None

    land(rest.ports.store, table("sales", "dbo.schema/orders"), 1)
    assert rest("POST", f"{rest.item}/getMirroringStatus") == {"status": "Running"}
    for _ in range(2):
        rest("POST", f"{rest.item}/stopMirroring")
        assert held()
    assert rest("POST", f"{rest.item}/getMirroringStatus") == {"status": "Stopped"}
    [shown] = rest("POST", f"{rest.item}/getTablesMirroringStatus")["data"]
    assert shown["status"] == "Stopped"
    for _ in range(2):
        rest("POST", f"{rest.item}/startMirroring")
        assert not held()
    assert rest("POST", f"{rest.item}/getMirroringStatus") == {"status": "Running"}


def test_tables_come_in_pages_with_their_real_state(rest: Rest) -> None:
    for number in range(5):
        land(rest.ports.store, table("sales", f"dbo.schema/t{number}"), 1)
    bad = rest.root / layout.landing_zone("sales") / "dbo.schema/t3/_metadata.json"
    bad.write_text('{"keyColumns": 7}')
    found, token, pages = [], "", 0
    while True:
        page = rest("POST", f"{rest.item}/getTablesMirroringStatus", continuationtoken=token)
        found += page["data"]
        pages += 1
        token = page.get("continuationToken", "")
        if not token:
            break
        assert f"https://{API}{rest.item}/getTablesMirroringStatus?" in page["continuationUri"]
    assert (pages, [one["sourceTableName"] for one in found]) == (3, [f"t{n}" for n in range(5)])
    assert set(found[0]) == {"sourceSchemaName", "sourceTableName", "status", "metrics", "error"}
    assert set(found[0]["metrics"]) == {"processedBytes", "processedRows", "lastSyncDateTime"}
    assert (found[3]["status"], found[3]["error"]["errorCode"]) == ("Failed", "MetadataInvalid")
    assert found[0]["error"] is None


def test_a_mirrors_own_trouble_is_its_error(rest: Rest) -> None:
    settings = rest.root / layout.mirror_settings("sales")
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("{")
    status = rest("POST", f"{rest.item}/getMirroringStatus")
    assert status["status"] == "Running"
    assert status["error"]["errorCode"]
    assert "mirroring.json" in status["error"]["message"]


DEFINITION = {
    "properties": {
        "source": {"type": "GenericMirror", "typeProperties": {}},
        "target": {
            "type": "MountedRelationalDatabase",
            "typeProperties": {"defaultSchema": "erp", "format": "Delta"},
        },
    }
}


def definition(value: object) -> dict[str, object]:
    payload = base64.b64encode(json.dumps(value).encode()).decode()
    part = {"path": "mirroring.json", "payload": payload, "payloadType": "InlineBase64"}
    return {"parts": [part]}


def test_a_mirrored_database_is_made_with_its_definition(rest: Rest) -> None:
    body = {"displayName": "New", "definition": definition(DEFINITION)}
    made = rest("POST", f"{rest.workspace}/mirroredDatabases", body)
    assert (rest.root / layout.landing_zone("New")).is_dir()
    path = f"{rest.workspace}/mirroredDatabases/{made['id']}"
    assert rest("POST", f"{path}/getMirroringStatus") == {"status": "Running"}
    [part] = rest("POST", f"{path}/getDefinition")["definition"]["parts"]
    assert json.loads(base64.b64decode(part["payload"])) == DEFINITION
    land(rest.ports.store, table("New", "orders"), 1)
    [shown] = rest("POST", f"{path}/getTablesMirroringStatus")["data"]
    assert shown["sourceSchemaName"] == "erp"
    status, value = rest.answered("POST", f"{rest.workspace}/mirroredDatabases", body)
    assert (status, value["errorCode"]) == (409, "ItemDisplayNameAlreadyInUse")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "InvalidInput"),
        ([], "InvalidInput"),
        ({}, "InvalidInput"),
        ({"displayName": "a/b"}, "InvalidInput"),
        ({"displayName": "_a"}, "InvalidInput"),
        ({"displayName": "x", "type": "Lakehouse"}, "InvalidItemType"),
        ({"displayName": "x", "definition": {"parts": []}}, "InvalidDefinitionParts"),
        ({"displayName": "x", "definition": {"parts": [{}]}}, "InvalidDefinitionFormat"),
        ({"displayName": "x", "definition": 7}, "InvalidDefinitionFormat"),
        (
            {"displayName": "x", "definition": definition({"openmirror": 7})},
            "OperationNotSupportedForItem",
        ),
    ],
)
def test_what_cannot_be_made_is_refused_and_leaves_nothing(
    rest: Rest, body: object, code: str
) -> None:
    status, value = rest.answered("POST", f"{rest.workspace}/mirroredDatabases", body)
    assert (status, value["errorCode"]) == (400, code)
    assert [path.name for path in (rest.root / "landing").iterdir()] == ["sales"]
    assert len(list(rest.fabric.items)) == 1


def test_what_is_not_there_or_not_imitated_is_refused(rest: Rest) -> None:
    nobody = "5a6c3f0e-8d1b-4f7a-9a53-0c7f8f1d2e01"
    refused = {
        ("GET", f"/v1/workspaces/{nobody}"): (404, "WorkspaceNotFound"),
        ("GET", "/v1/workspaces/My Workspace"): (404, "WorkspaceNotFound"),
        ("GET", f"{rest.workspace}/mirroredDatabases/{nobody}"): (404, "EntityNotFound"),
        ("POST", f"{rest.item}/unknown"): (404, "EndpointNotFound"),
        ("GET", "/v1/capacities"): (404, "EndpointNotFound"),
        ("DELETE", rest.item): (403, "InsufficientPrivileges"),
    }
    for (method, path), expected in refused.items():
        status, value = rest.answered(method, path)
        assert (status, value["errorCode"]) == expected, path
    path = f"{rest.item}/getTablesMirroringStatus"
    status, value = rest.answered("POST", path, continuationtoken="none-of-ours")
    assert (status, value["errorCode"]) == (400, "InvalidParameter")


def test_without_a_token_nothing_is_answered(rest: Rest) -> None:
    asked = SmallRequest("GET", ("v1", "workspaces"), {}, {}, b"")
    assert rest.fabric.answer(asked).status == 401
    other = replace(rest.fabric, tokens=Tokens(1))
    token = TOKENS.issue("t", "c", FABRIC).text
    asked = replace(asked, headers={"authorization": f"Bearer {token}"})
    assert other.answer(asked).status == 401


def test_it_answers_at_its_own_host_and_at_this_machines(asking: Asking) -> None:
    found = asking("GET", "/v1/workspaces", host=API).json()["value"]
    assert found[0]["displayName"] == "My Workspace"
    token = asking.token(f"https://{API}")
    assert asking("GET", "/v1/workspaces", host="localhost", token=token).json()["value"] == found
