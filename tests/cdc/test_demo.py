"""`./dev demo --cdc` ends with every table equal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.soak
@pytest.mark.parametrize("how", [[], ["--kafka"]], ids=["direct", "kafka"])
def test_a_short_demo_ends_with_every_table_equal(how: list[str], tmp_path: Path) -> None:
    options = ["--cdc", *how, "--seconds=10", "--rate=50", f"--root={tmp_path}"]
    command = ["standins.cdc_demo", *options]
    done = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "differs" not in done.stdout
    assert "left out" in done.stdout
