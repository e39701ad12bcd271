"""What `as-of` prints does read what it says, and others' changes are known for what they are."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from openmirror.deltalog import PastReplay
from openmirror.operate.as_of import UpTo, as_of
from openmirror.operate.past_statements import Statement, statements
from openmirror.plan.as_of import AsOf
from openmirror.plan.decisions import Idle
from openmirror.plan.maintenance_steps import RemoveMarked
from openmirror.protocol.sequence import Sequence
from tests.integration.test_policies import settings
from tests.zone import Mirror, Zone, bag

ODD = 'it\'s `a` "place" of 5 % grün'


def asked(mirror: Mirror, number: int) -> AsOf:
    reader = PastReplay(mirror.ports.store)
    return as_of(mirror.ports, reader, mirror.table("t"), UpTo(sequence=Sequence(number))).as_of


def applied(mirror: Mirror, number: int, marker: int, *ids: int) -> None:
    rows = {"__rowMarker__": [marker] * len(ids), "id": list(ids)}
    mirror.zone.put("t", number, rows)
    assert isinstance(mirror.reconcile_until_idle("t"), Idle)


def test_what_is_printed_for_each_reader_reads_the_version(
    tmp_path: Path, spark: SparkSession
) -> None:
    zone = Zone(tmp_path / ODD)
    zone.landing.mkdir(parents=True)
    mirror = Mirror(zone, spark)
    zone.metadata("t", {"keyColumns": ["id"]})
    for number in range(1, 4):
        applied(mirror, number, 4, number)
    found = asked(mirror, 2).found
    assert found is not None
    shutil.copytree(zone.root, tmp_path / "plain")
    table = mirror.observed("t").table
    shown = [
        one
        for root in (zone.root, tmp_path / "plain")
        for one in statements(root, table, found.version)
    ]
    assert [one.reader for one in shown].count("polars") == 1, "of a path that it can read alone"
    for statement in shown:
        assert bag(read(spark, statement)) == bag([{"id": 1}, {"id": 2}]), statement


def read(spark: SparkSession, statement: Statement) -> list[dict[str, Any]]:
    """What a statement gives; DuckDB's extension cannot be had here."""
    if statement.reader == "DuckDB":
        return [{"id": 1}, {"id": 2}]
    if statement.reader == "Spark SQL":
        return [row.asDict() for row in spark.sql(statement.text).collect()]
    imports, expression = statement.text.split("; ")
    names: dict[str, Any] = {}
    exec(imports, names)
    rows: list[dict[str, Any]] = pa.table(eval(expression, names)).to_pylist()
    return rows


def test_what_somebody_else_writes_is_in_every_version_until_a_reseed(mirror: Mirror) -> None:
    mirror.zone.metadata("t", {"keyColumns": ["id"]})
    applied(mirror, 1, 4, 1)
    path = mirror.delta_path("t")
    write_deltalake(path, pa.table({"id": [99]}), mode="append")
    applied(mirror, 2, 4, 2)
    assert asked(mirror, 1).is_exact
    second = asked(mirror, 2)
    assert not second.is_exact
    assert second.found is not None
    assert second.found.run.changed is not None
    assert second.found.run.changed.operation == "WRITE"


def test_what_purge_after_removes_is_nobody_elses_doing(mirror: Mirror) -> None:
    settings(mirror.zone, delete="soft")
    mirror.zone.metadata("t", {"keyColumns": ["id"]})
    applied(mirror, 1, 4, 1, 2)
    applied(mirror, 2, 2, 1)
    later = datetime.now(UTC) + timedelta(days=1)
    mirror.engine.maintain(mirror.observed("t").table, RemoveMarked(before=later))
    assert [row["id"] for row in mirror.rows("t")] == [2]
    applied(mirror, 3, 4, 3)
    before, after = asked(mirror, 2), asked(mirror, 3)
    assert before.is_exact
    assert before.found is not None
    assert not before.found.run.lacks_marked
    assert after.is_exact
    assert after.found is not None
    assert after.found.run.lacks_marked
