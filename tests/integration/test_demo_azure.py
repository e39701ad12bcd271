"""The demo as a deployment runs it: one more way for the same files to the same tables."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from openmirror.demo.run import run_demo
from openmirror.demo.source import TABLES
from openmirror.ports.storage_account import AccountUrl
from standins.azure_form import LikeOnAzure
from tests.integration.test_demo import TINY
from tests.spark_accounts import forget

ONE_DAY = replace(TINY, until=date(2013, 8, 1))


@pytest.mark.soak  # what passes through every part, tests/chain shows as well
def test_a_tiny_demo_passes_through_every_part_and_ends_with_every_table_right(
    tmp_path: Path, spark: SparkSession
) -> None:
    output = io.StringIO()
    console = Console(file=output, width=200, highlight=False)
    try:
        code = run_demo(tmp_path / "a demo", ONE_DAY, console, LikeOnAzure())
    finally:
        if reached := re.search(r"Storage account: (\S+)", output.getvalue()):
            forget(spark, AccountUrl.parse(reached[1]))
    shown = output.getvalue()
    assert code == 0, shown
    assert shown.count("✔") == len(TABLES)
    assert "airports is re-created" in shown
    passed = re.search(
        r"Through: (\d+) events .*landing (\d+).*; 0 failed\);\s+(\d+) work items", shown
    )
    assert passed is not None, shown
    events, landed, wake_ups = map(int, passed.groups())
    assert len(TABLES) < landed <= events
    assert wake_ups >= len(TABLES)
