"""What each reader that can be had here makes of our tables is what is claimed of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyspark.sql import SparkSession

from openmirror.operate.readers import readers_of_table
from openmirror.plan.decisions import Idle
from openmirror.spark.transacting import fresh_session
from openmirror.status.readers import READERS, Feature, HowKnown, Reads
from tests.integration.test_policies import log_of, settings
from tests.zone import Mirror, Paths, bag, read_delta

_MAPPED = Feature.MAPPING_OF_VERSION_2
TABLES: dict[str, tuple[dict[str, Any], frozenset[str]]] = {
    "plain": ({}, frozenset()),
    "vectors": ({"deletionVectors": True}, frozenset({Feature.DELETION_VECTORS})),
    "a mapped": ({}, frozenset({_MAPPED})),
    "b mapped": (
        {"deletionVectors": True},
        frozenset({Feature.COLUMN_MAPPING, Feature.DELETION_VECTORS}),
    ),
    "widened": ({"typeChange": "feature"}, frozenset({Feature.TYPE_WIDENING})),
    "zoneless": ({"zonelessTimestamps": "ntz"}, frozenset({Feature.TIMESTAMP_NTZ})),
    "clustered": ({"clustering": ["id"]}, frozenset()),
    "checkpoints": ({}, frozenset({Feature.V2_CHECKPOINT})),
    "checked": ({}, frozenset({Feature.VACUUM_PROTOCOL_CHECK})),
}
"""Tables by name, with what mirroring.json says of each, and what each then asks of readers."""
_CHANGED = {"vectors", "b mapped", "widened"}
"""Those that need a second batch to have the feature in their files."""
_BY_HAND = {
    "checkpoints": "'delta.checkpointPolicy' = 'v2'",
    "checked": "'delta.feature.vacuumProtocolCheck' = 'supported'",
}
"""What openmirror never turns on, and others may."""


def _rows(table: str, *ids: int, marker: int = 4) -> pa.Table:
    value = datetime(2026, 3, 5) if table == "zoneless" else "x"  # noqa: DTZ001 - it has no zone
    name = "a value" if "mapped" in table else "v"
    kind = pa.int32() if table == "widened" and 1 in ids else pa.int64()
    return pa.table(
        {
            "__rowMarker__": pa.array([marker] * len(ids), pa.int8()),
            "id": pa.array(ids, kind),
            name: [value] * len(ids),
        }
    )


def _spark(spark: SparkSession, path: str) -> list[dict[str, Any]]:
    frame = fresh_session(spark).read.format("delta").load(path)
    return [row.asDict() for row in frame.collect()]


READ: dict[str, Callable[[SparkSession, str], list[dict[str, Any]]]] = {
    "Spark with Delta Lake": _spark,
    "delta-rs (QueryBuilder, load_cdf)": lambda _, path: read_delta(path),
    "delta-rs (to_pyarrow_table, to_pandas)": lambda _, path: (
        DeltaTable(path).to_pyarrow_table().to_pylist()
    ),
    "polars": lambda _, path: pl.scan_delta(path).collect().to_dicts(),
}
FEED: dict[str, Callable[[SparkSession, str], int]] = {
    "Spark with Delta Lake": lambda spark, path: (
        spark.read.format("delta")
        .option("readChangeFeed", "true")
        .option("startingVersion", 0)
        .load(path)
        .count()
    ),
    "delta-rs (QueryBuilder, load_cdf)": lambda _, path: (
        pa.table(DeltaTable(path).load_cdf(starting_version=0).read_all()).num_rows
    ),
}


def _reads(reader: str, spark: SparkSession, path: str, expected: list[Any]) -> Reads:
    """Whether it shows the rows; whether it refuses them or shows others makes no difference."""
    try:
        found = READ[reader](spark, path)
    except (DeltaError, pl.exceptions.PolarsError, pl.exceptions.ComputeError):
        return Reads.NO
    return Reads.YES if bag(found) == expected else Reads.NO


def test_every_reader_that_is_called_tested_is() -> None:
    tested = {reader.name for reader in READERS if reader.known is HowKnown.TESTED}
    assert tested == READ.keys()


def _apply(mirror: Mirror, table: str) -> None:
    mirror.zone.metadata(table, {"keyColumns": ["id"]})
    mirror.zone.put(table, 1, _rows(table, 1, 2, 3))
    assert isinstance(mirror.reconcile_until_idle(table), Idle)
    if table in _CHANGED:
        mirror.zone.put(table, 2, _rows(table, 2, marker=2))
        assert isinstance(mirror.reconcile_until_idle(table), Idle)


@pytest.fixture
def tables(mirror: Mirror) -> Mirror:
    """A mirror with all of them, written by way of MERGE."""
    settings(mirror.zone, tables={f"dbo.{table}": policy for table, (policy, _) in TABLES.items()})
    made = Mirror(mirror.zone, mirror.spark, paths=Paths(small_table=0))
    for table in TABLES:
        _apply(made, table)
    for table, properties in _BY_HAND.items():
        path = made.delta_path(table)
        fresh_session(mirror.spark).sql(
            f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ({properties})"
        )
        logs = mirror.spark._jvm.org.apache.spark.sql.delta.DeltaLog  # type: ignore[union-attr]
        logs.forTable(mirror.spark._jsparkSession, str(path)).checkpoint()
    return made


def test_each_reader_reads_what_is_claimed_of_it_and_nothing_else(tables: Mirror) -> None:
    for table, (_, features) in TABLES.items():
        path = str(tables.delta_path(table))
        found = readers_of_table(tables.ports, tables.table(table))
        assert {f for v in found.verdicts for f in v.because} <= features
        asked = log_of(tables, table).protocol.reader_features
        assert asked == {feature.partition(" ")[0] for feature in features}, table
        ids = [1, 3] if table in _CHANGED else [1, 2, 3]
        name = "a value" if "mapped" in table else "v"
        value = _rows(table, 1).to_pylist()[0][name]
        expected = bag([{"id": number, name: value} for number in ids])
        claimed = {v.reader.name: v.reads for v in found.verdicts if v.reader.name in READ}
        seen = {reader: _reads(reader, tables.spark, path, expected) for reader in READ}
        assert seen == claimed, table


def test_a_change_data_feed_is_read_by_those_of_whom_it_is_claimed(mirror: Mirror) -> None:
    settings(mirror.zone, feed=True)
    _apply(mirror, "plain")
    path = str(mirror.delta_path("plain"))
    assert readers_of_table(mirror.ports, mirror.table("plain")).has_feed
    claimed = {r.name for r in READERS if r.known is HowKnown.TESTED and r.feed is Reads.YES}
    assert claimed == FEED.keys()
    for read in FEED.values():
        assert read(mirror.spark, path) == 3
