"""Delimited text through Spark into Delta tables: what an independent reader finds in them."""

from __future__ import annotations

import os
import random
import re
import sys
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from openmirror.formats.conversion import FileConverter
from openmirror.plan.decisions import Idle
from openmirror.spark.engine import SparkEngine
from openmirror.spark.places import local_spark_paths
from tests.harness.publishing import file_name
from tests.text.bigfile import DOCUMENT, write_big_file
from tests.text.dialects import PRODUCT
from tests.text.reading import exact
from tests.text.tables import text_table
from tests.zone import NO_WAITS, Mirror, Zone

_AT_ONCE = replace(NO_WAITS, quiet_period=timedelta(0))
TABLES = 12
FILES = 5


def _bag(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(str({name: exact(row[name]) for name in sorted(row)}) for row in rows)


def _seed() -> int:
    chosen = int(os.environ.get("OPENMIRROR_SEED", "1"))
    sys.stdout.write(f"OPENMIRROR_SEED={chosen}\n")
    return chosen


def test_tables_of_many_dialects_hold_what_the_interpreter_makes_of_their_files(
    zone: Zone, spark: SparkSession
) -> None:
    seed = _seed()
    numbers = random.Random(seed).sample(range(3 * PRODUCT), TABLES)
    tables = [text_table(seed, number, FILES) for number in numbers]
    for table in tables:
        zone.metadata(table.name, table.document)
        for place, file in enumerate(table.files, start=1):
            zone.put_bytes(table.name, file_name(place, "txt"), file.content)
    mirror = Mirror(zone, spark, _AT_ONCE)
    decisions = mirror.reconcile_all()
    for table in tables:
        shown = f"text_table({seed}, {table.name[1:]}, {FILES}): {table.document}"
        assert isinstance(decisions[table.name], Idle), f"{shown}\n{decisions[table.name]}"
        assert _bag(mirror.rows(table.name)) == _bag(table.expected()), shown


_SPLIT = 64 * 1024


def _mirrored(zone: Zone, mirror: Mirror, expected: list[dict[str, object]]) -> None:
    assert isinstance(mirror.reconcile_until_idle("big"), Idle)
    assert _bag(mirror.rows("big")) == _bag(expected)


def test_a_file_of_many_splits_keeps_its_row_order_and_its_quoted_newlines(
    zone: Zone, spark: SparkSession
) -> None:
    zone.metadata("big", DOCUMENT)
    path = zone.folder("big") / file_name(1, "csv")
    big = write_big_file(path, _seed(), least_bytes=2 * 2**20, keys=500)
    assert big.content is not None
    quoted = [m.span() for m in re.finditer(rb',"(?:[^"\\]|\\.|"")*",', big.content, re.DOTALL)]
    cuts = range(_SPLIT, len(big.content), _SPLIT)
    inside = [cut for cut in cuts if any(start < cut < end for start, end in quoted)]
    assert len(inside) > len(cuts) / 2
    assert any(big.content[cut - 1 : cut + 1] == b"\r\n" for cut in inside)
    mirror = Mirror(zone, spark, _AT_ONCE)
    small = {"spark.sql.files.maxPartitionBytes": str(_SPLIT)}
    converter = FileConverter(mirror.ports.store, most_rows=8_000)
    mirror.engine = SparkEngine(spark, local_spark_paths(str(zone.root)), converter, small)
    _mirrored(zone, mirror, big.table.rows)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_file_larger_than_a_split_of_spark_keeps_its_row_order(
    zone: Zone, spark: SparkSession
) -> None:
    zone.metadata("big", DOCUMENT)
    path = zone.folder("big") / file_name(1, "csv")
    big = write_big_file(path, _seed(), least_bytes=300 * 10**6, keys=20_000)
    _mirrored(zone, Mirror(zone, spark, _AT_ONCE), big.table.rows)
