"""What is read in this process has its checksum from being read, however large it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from openmirror.plan.decisions import Idle, Pause
from openmirror.protocol.rules import Code
from openmirror.reconcile import checksums
from tests.zone import EVERY_PATH, Mirror, Paths, Zone

HELD = Paths(small_batch=0, copies=False)
"""By Spark, which alone reads the files."""


@pytest.mark.parametrize(
    ("paths", "converted", "is_known"),
    [
        (HELD, True, True),
        (HELD, False, False),
        (Paths(small_batch=0), False, True),
        (EVERY_PATH, False, True),
    ],
)
def test_a_large_file_is_known_again_where_the_driver_has_read_it(
    paths: Paths,
    converted: bool,
    is_known: bool,
    tmp_path: Path,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checksums, "MOST_READ_FOR_IT", 0)
    zone = Zone(tmp_path)
    mirror = Mirror(zone, spark, paths=paths)
    if converted:
        columns = [{"Name": "id", "DataType": "Int64"}]
        text = {"FileFormat": "CSV", "SchemaDefinition": {"Columns": columns}}
        zone.metadata("t", text)
        path = zone.put_bytes("t", f"{1:020d}.csv", b"id\r\n1\r\n2\r\n")
        os.utime(path, (1, 1))
    else:
        path = zone.put("t", 1, {"id": [1, 2]})
    assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    os.utime(path)
    left = mirror.reconcile_until_idle("t")
    if is_known:
        assert isinstance(left, Idle)
    else:
        assert isinstance(left, Pause)
        assert left.problem.code is Code.APPLIED_FILE_CHANGED
    assert [row["id"] for row in mirror.rows("t")] == [1, 2]
