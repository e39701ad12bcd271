"""Each precaution of the stream, taken out alone, is noticed by the test that shows it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cdc.postgresql.precautions import PRECAUTIONS, VARIABLE

_HERE = Path(__file__).parent
_FAILED = 1
"""Pytest's exit code where tests ran and some failed."""


@pytest.mark.soak
@pytest.mark.parametrize("precaution", PRECAUTIONS)
def test_a_precaution_that_is_taken_out_is_noticed(precaution: str) -> None:
    test = PRECAUTIONS[precaution][3]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "tests.cdc.postgresql.precautions"),
            *("-m", "not soak", "--timeout=90", str(_HERE / test)),
        ],
        cwd=Path(__file__).parents[3],
        env={**os.environ, VARIABLE: precaution},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == _FAILED, done.stdout[-3000:] + done.stderr[-3000:]
