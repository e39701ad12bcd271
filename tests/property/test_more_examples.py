"""The random tests that `./dev test` runs with few examples, with many."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.examples import TIMES

DRAWING = sorted(
    path
    for path in Path(__file__).parents[1].rglob("test_*.py")
    if "max_examples=examples(" in path.read_text(encoding="utf-8") and path != Path(__file__)
)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("file", DRAWING, ids=lambda path: path.stem)
def test_many_more_examples_hold_as_well(file: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-o", "timeout=0", str(file)]
    done = subprocess.run(command, env={**os.environ, TIMES: "50"}, check=False)
    assert done.returncode == 0
