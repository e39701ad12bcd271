"""The real rclone and az against the endpoint; `./dev check-infra` makes the venv that has them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from openmirror.cli.serve_verb import connection_string
from tests.emulator_server import EndpointServer
from tests.infra.commands.asking import VENV

pytestmark = pytest.mark.check_infra

LARGE = os.urandom(12 << 20)
"""More than rclone copies by one request."""


def output(program: str, *words: str, env: Mapping[str, str]) -> str:
    """What it printed; raises AssertionError unless it ends well."""
    ended = subprocess.run(
        [VENV / "bin" / program, *words],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_rclone_copies_syncs_moves_and_purges(server: EndpointServer, tmp_path: Path) -> None:
    env = {
        "RCLONE_CONFIG": os.devnull,
        "RCLONE_CONFIG_X_TYPE": "azureblob",
        "RCLONE_CONFIG_X_ACCOUNT": server.account,
        "RCLONE_CONFIG_X_KEY": server.key,
        "RCLONE_CONFIG_X_ENDPOINT": f"{server.url}/{server.account}",
    }

    def rclone(*words: str) -> str:
        return output("rclone", "--retries=1", "--low-level-retries=1", *words, env=env)

    (tmp_path / "a b.csv").write_bytes(b"one")
    (tmp_path / "large").write_bytes(LARGE)
    source = str(tmp_path)
    rclone("copy", source, "X:lake/m/in")
    rclone("copy", "X:lake/m/in", "X:lake/m/copy")
    rclone("check", "--download", source, "X:lake/m/copy")
    rclone("sync", "X:lake/m/copy", "X:landing/z")
    rclone("moveto", "X:landing/z/a b.csv", "X:landing/moved é.csv")
    assert rclone("cat", "X:landing/moved é.csv") == "one"
    assert rclone("lsf", "-R", "--files-only", "X:landing").split("\n")[:2] == [
        "moved é.csv",
        "z/large",
    ]
    rclone("purge", "X:lake/m")
    assert rclone("lsf", "-R", "--files-only", "X:lake") == ""
    assert any(event["data"]["api"] == "CopyBlob" for event in server.events)


def test_az_copies_within_the_account(server: EndpointServer, tmp_path: Path) -> None:
    (server.root / "lake/a b.csv").write_bytes(b"one")
    env = {
        "AZURE_CONFIG_DIR": str(tmp_path),
        "AZURE_CORE_COLLECT_TELEMETRY": "no",
        "AZURE_STORAGE_CONNECTION_STRING": connection_string(
            server.url, server.account, server.key
        ),
    }
    ends = ("--destination-container", "landing", "--destination-blob", "x/copy.csv")
    source = ("--source-container", "lake", "--source-blob", "a b.csv")
    started = output("az", "storage", "blob", "copy", "start", *ends, *source, env=env)
    assert json.loads(started)["copy_status"] == "success"
    assert (server.root / "landing/x/copy.csv").read_bytes() == b"one"
    target = ("--container-name", "landing", "--name", "x/copy.csv")
    shown = json.loads(output("az", "storage", "blob", "show", *target, env=env))
    assert shown["properties"]["copy"]["status"] == "success"
