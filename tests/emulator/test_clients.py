"""Readers and writers of other makers against the endpoint, each with all it does to files."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from tests.emulator_server import EndpointServer

SECONDS = 120.0


def delta_options(server: EndpointServer) -> dict[str, str]:
    return {
        "azure_storage_account_name": server.account,
        "azure_storage_account_key": server.key,
        "azure_storage_endpoint": f"{server.url}/{server.account}",
        "azure_allow_http": "true",
    }


def test_delta_rs_merges_optimizes_and_vacuums(server: EndpointServer) -> None:
    options = delta_options(server)
    table = "az://lake/m/Tables/dbo/t"

    def opened() -> deltalake.DeltaTable:
        return deltalake.DeltaTable(table, storage_options=options)

    for key in range(3):
        rows = pa.table({"k": [key], "v": ["old"]})
        deltalake.write_deltalake(table, rows, mode="append", storage_options=options)
    changes: Any = pa.table({"k": [2, 3], "v": ["new", "new"]})
    merging = opened().merge(changes, "t.k = s.k", source_alias="s", target_alias="t")
    merging.when_matched_update_all().when_not_matched_insert_all().execute()
    assert opened().optimize.compact()["numFilesAdded"] == 1
    opened().create_checkpoint()
    folder = server.root / "lake/m/Tables/dbo/t"
    gone = opened().vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert len(gone) > 1
    assert len(list(folder.glob("*.parquet"))) == 1
    found = opened().to_pyarrow_table().sort_by("k").to_pydict()
    assert found == {"k": [0, 1, 2, 3], "v": ["old", "old", "new", "new"]}


@pytest.mark.parametrize("program", ["with_pyarrow", "with_adlfs"])
def test_file_systems_of_others_do_all_they_can(server: EndpointServer, program: str) -> None:
    module = f"tests.emulator.programs.{program}"
    url = f"{server.url}/{server.account}"
    ended = subprocess.run(
        [sys.executable, "-m", module, url, server.key],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
