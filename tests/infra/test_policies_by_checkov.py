"""checkov reads every Bicep file and finds nothing but what is excused where it stands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.infra.commands.asking import VENV
from tests.infra.commands.finding import ROOT

pytestmark = pytest.mark.check_infra

BICEP = ROOT / "infra" / "bicep"
INSECURE = """
resource account 'Microsoft.Storage/storageAccounts@2025-08-01' = {
  name: 'stplanted'
  location: 'westeurope'
  kind: 'StorageV2'
  sku: { name: 'Standard_LRS' }
  properties: {
    supportsHttpsTrafficOnly: false
    minimumTlsVersion: 'TLS1_0'
  }
}
"""


def scanned(folder: Path) -> dict[str, Any]:
    """What checkov says of a folder of Bicep files."""
    done = subprocess.run(
        [
            *(VENV / "bin" / "python", "-I", VENV / "bin" / "checkov", "--directory", folder),
            *("--framework", "bicep", "--skip-download", "--output", "json"),
        ],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder.parent), "LOG_LEVEL": "ERROR"},
    )
    report = json.loads(done.stdout)
    assert isinstance(report, dict), done.stderr
    return report


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    copy = tmp_path_factory.mktemp("ours") / "bicep"
    shutil.copytree(BICEP, copy, ignore=shutil.ignore_patterns("*.json"))
    return scanned(copy)


def test_checkov_reads_every_file_and_no_check_fails(ours: dict[str, Any]) -> None:
    failed = [
        f"{one['check_id']} {one['file_path']}: {one['resource']}: {one['check_name']}"
        for one in ours["results"]["failed_checks"]
    ]
    assert not failed, "\n".join(failed)
    assert ours["summary"]["parsing_errors"] == 0
    assert ours["results"]["parsing_errors"] == []
    assert ours["summary"]["passed"] > 20


def test_each_exception_says_its_reason_where_it_stands(ours: dict[str, Any]) -> None:
    for one in ours["results"]["skipped_checks"]:
        reason = one["check_result"].get("suppress_comment") or ""
        assert len(reason.split()) > 3, f"{one['check_id']} in {one['file_path']}"


def test_a_planted_insecure_account_is_caught(tmp_path: Path) -> None:
    folder = tmp_path / "bicep"
    folder.mkdir()
    (folder / "planted.bicep").write_text(INSECURE)
    found = {one["check_id"] for one in scanned(folder)["results"]["failed_checks"]}
    assert "CKV_AZURE_3" in found, "https only"
    assert "CKV_AZURE_44" in found, "the newest TLS"


def test_a_file_that_checkov_cannot_read_is_a_failure_and_not_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "bicep"
    folder.mkdir()
    (folder / "planted.bicep").write_text(INSECURE)
    (folder / "unread.bicep").write_text("param settings object\nvar both = {\n  ...settings\n}\n")
    report = scanned(folder)
    assert report["summary"]["parsing_errors"] == 1
    assert [Path(name).name for name in report["results"]["parsing_errors"]] == ["unread.bicep"]
