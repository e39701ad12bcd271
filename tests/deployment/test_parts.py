"""What the verbs stand on: names as Azure makes them, which subscription, which tenant, rows."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from azure.core import AzureClouds
from typer.testing import CliRunner

from openmirror.cli.app import app
from openmirror.databricks.workspace import DatabricksWorkspace
from openmirror.deltalog.rows import rows
from openmirror.deployment.azure.profile import Chosen, chosen
from openmirror.deployment.rules.naming import unique_string
from openmirror.deployment.sample_row import ParquetSampleRow
from openmirror.errors import AccessDenied, NotThere, Unavailable
from openmirror.ports.workspace import ObservedJob
from openmirror.protocol.names import TableName
from openmirror.stores.local.store import LocalStore
from openmirror.table import layout
from standins.loopback import serving
from tests.databricks_stub import JOB, jobs_api
from tests.deployment.azure import Identity

TENANT = "11111111-0000-0000-0000-000000000001"
TABLE = layout.delta_table("m", TableName("dbo", "sample"))


def now() -> datetime:
    return datetime.now(UTC)


@pytest.mark.parametrize(
    ("parts", "answer"),
    [
        # What Azure's own evaluation gives.
        (("tyeth",), "zcztcwvu6iyg6"),
        (
            (
                "/subscriptions/00000000-0000-4000-8000-000000000084/resourceGroups/rg-p84",
                "p84fixture",
            ),
            "52p2c4jfs43ig",
        ),
    ],
)
def test_unique_strings_are_those_that_azure_makes(parts: tuple[str, ...], answer: str) -> None:
    assert unique_string(*parts) == answer


# --- Which subscription ---------------------------------------------------------------------------


def profile(folder: Path) -> dict[str, str]:
    written = {
        "subscriptions": [
            {"id": "a", "name": "Trial", "isDefault": False, "environmentName": "AzureCloud"},
            {"id": "b", "name": "Gov", "isDefault": True, "environmentName": "AzureUSGovernment"},
        ]
    }
    # As az writes it: with a mark at its beginning.
    (folder / "azureProfile.json").write_text(json.dumps(written), "utf-8-sig")
    return {"AZURE_CONFIG_DIR": str(folder)}


@pytest.mark.parametrize(
    ("wanted", "answer"),
    [
        (None, Chosen("b", AzureClouds.AZURE_US_GOVERNMENT)),
        ("Trial", Chosen("a", AzureClouds.AZURE_PUBLIC_CLOUD)),
        ("a", Chosen("a", AzureClouds.AZURE_PUBLIC_CLOUD)),
        ("unknown", Chosen("unknown", AzureClouds.AZURE_PUBLIC_CLOUD)),
    ],
)
def test_the_subscription_is_the_one_that_az_works_with_unless_another_is_named(
    tmp_path: Path, wanted: str | None, answer: Chosen
) -> None:
    assert chosen(profile(tmp_path), wanted) == answer


def test_without_az_a_subscription_has_to_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = {"AZURE_CONFIG_DIR": str(tmp_path)}
    assert chosen(env, None) is None
    (tmp_path / "azureProfile.json").write_text("{")
    assert chosen(env, None) is None
    monkeypatch.delenv("AZURE_SUBSCRIPTION_ID", raising=False)
    refused = CliRunner().invoke(app, ["azure", "verify", "-g", "rg"], env=env)
    assert refused.exit_code == 1
    assert "no subscription is known: `az login`" in refused.stderr


def test_without_the_packages_it_says_which_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "openmirror.deployment.azure.clients", raising=False)
    monkeypatch.setitem(sys.modules, "azure.mgmt.web", None)
    refused = CliRunner().invoke(app, ["azure", "verify", "-g", "rg", "--subscription", "a"])
    assert refused.exit_code == 1
    assert "pip install 'openmirror[cli,azure,deploy]'" in refused.stderr


def test_a_parameters_file_that_is_none_is_a_wrong_use(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text("{}")
    words = ["azure", "preflight", "-g", "rg", "--parameters", str(file)]
    refused = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    assert refused.exit_code == 2
    assert "no parameters file" in refused.stderr


# --- The Databricks workspace ---------------------------------------------------------------------


@contextmanager
def login_page(status: int, location: str) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/aad/auth" else 404)
            self.send_header("Location", location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    with serving(Handler) as url:
        yield url


@pytest.mark.parametrize(
    ("status", "location", "tenant"),
    [
        (302, f"https://login.microsoftonline.com/{TENANT}/oauth2/authorize?x=1", TENANT),
        (302, f"https://login.microsoftonline.us/{TENANT}/oauth2/authorize", TENANT),
        (302, "https://login.microsoftonline.com/common/oauth2/authorize", None),
        (302, "", None),
        (200, "", None),
        (404, "", None),
    ],
)
def test_a_workspaces_tenant_is_the_one_whose_login_page_it_sends_a_browser_to(
    status: int, location: str, tenant: str | None
) -> None:
    with login_page(status, location) as url:
        assert DatabricksWorkspace(url, Identity(), now).tenant() == tenant


def test_a_workspace_that_cannot_be_reached_says_no_tenant() -> None:
    with login_page(302, "") as url:
        gone = url
    assert DatabricksWorkspace(gone, Identity(), now).tenant() is None


def test_how_the_runners_job_stands() -> None:
    with jobs_api() as api:
        workspace = DatabricksWorkspace(api.url, Identity(), now)
        assert workspace.job(JOB) == ObservedJob(active=False)
        api.start("a")
        assert workspace.job(JOB) == ObservedJob(active=True)
        api.end("SUCCESS")
        assert workspace.job(JOB) == ObservedJob(active=False, last="SUCCESS")
        api.start("b")
        api.end("DRIVER_ERROR", "out of memory")
        failed = ObservedJob(active=False, last="DRIVER_ERROR: out of memory", failed=True)
        assert workspace.job(JOB) == failed
        api.refusals = [(403, "PERMISSION_DENIED", "no")]
        with pytest.raises(AccessDenied, match="CAN_VIEW"):
            workspace.job(JOB)
        api.refusals = [(404, "RESOURCE_DOES_NOT_EXIST", "no")]
        with pytest.raises(NotThere):
            workspace.job(JOB)
        api.refusals = [(400, "INVALID_STATE", "no")]
        with pytest.raises(Unavailable):
            workspace.job(JOB)


# --- The sample's row -----------------------------------------------------------------------------


def write(root: Path, mode: Any, *ids: str) -> None:
    deltalake.write_deltalake(str(root / TABLE), pa.table({"id": list(ids)}), mode=mode)


def test_rows_are_those_of_the_newest_version_also_behind_a_checkpoint(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    assert list(rows(store, TABLE)) == []
    write(tmp_path, "append", "a")
    write(tmp_path, "append", "b")
    assert [row["id"] for row in rows(store, TABLE)] == ["a", "b"]
    deltalake.DeltaTable(str(tmp_path / TABLE)).create_checkpoint()
    write(tmp_path, "append", "c")
    assert sorted(row["id"] for row in rows(store, TABLE)) == ["a", "b", "c"]
    write(tmp_path, "overwrite", "d")
    assert [row["id"] for row in rows(store, TABLE)] == ["d"]


def test_the_samples_files_are_change_files_with_the_marker_last(tmp_path: Path) -> None:
    row = ParquetSampleRow(LocalStore(tmp_path))
    at = datetime(2026, 11, 21, tzinfo=UTC)
    for data, marker in ((row.insert("x", at), 0), (row.delete(["x"]), 2)):
        (tmp_path / "file").write_bytes(data)
        table = pq.read_table(tmp_path / "file")
        assert table.schema.names[-1] == "__rowMarker__"
        assert table["__rowMarker__"].to_pylist() == [marker]
        assert table["id"].to_pylist() == ["x"]
