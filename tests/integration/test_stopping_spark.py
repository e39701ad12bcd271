"""Stopping Spark whose JVM heard the same signal as its process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_CODE = """
import os, signal
from openmirror.settings import Settings
from openmirror.wiring.spark import rootless_spark

with rootless_spark(Settings()) as spark:
    java = spark.sparkContext._gateway.proc
    os.kill(java.pid, signal.SIGTERM)
    java.wait(60)
print("ended well")
"""


@pytest.mark.spark
def test_a_process_whose_jvm_a_signal_ended_ends_without_an_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _CODE],
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "ended well\n"), done.stderr
