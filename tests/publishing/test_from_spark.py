"""DataFrames and micro-batches as publishers, on a real session."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from openmirror.errors import WrongRequest
from openmirror.protocol.rows import Marker
from openmirror.publishing import BatchLimits, PublisherOptions
from openmirror.publishing.from_spark import SparkTarget, foreach_batch, publish_dataframe
from openmirror.publishing.spark_staging import STAGED_BY_SPARK
from openmirror.stores.local.store import LocalStore

PAGE = Path(__file__).parents[2] / "docs" / "PUBLISHERS.md"
ROWS_A_FILE = 4


class Died(Exception):
    """The driver is gone."""


def target(zone: Path, **given: object) -> SparkTarget:
    options = PublisherOptions(limits=BatchLimits(rows=ROWS_A_FILE, seconds=None))
    return SparkTarget(zone=zone, table="dbo.events", key=["id"], options=options, **given)


def landed(zone: Path, table: str = "events") -> list[dict[str, object]]:
    """The rows of all change files, in order."""
    files = sorted((zone / "dbo.schema" / table).glob("0*.parquet"))
    assert [int(file.stem) for file in files] == list(range(1, len(files) + 1))
    return [row for file in files for row in pq.read_table(file).to_pylist()]


@pytest.fixture
def zone_folder(tmp_path: Path) -> Path:
    zone = tmp_path / "landing" / "m" / "Files" / "LandingZone"
    zone.mkdir(parents=True)
    return zone


@pytest.fixture
def dies(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Lets the driver die in front of the rename of the change file with this number."""
    real = LocalStore.move_file

    def at(number: int) -> None:
        def move(store: LocalStore, source: str, destination: str, etag: str) -> None:
            if destination.endswith(f"{number:020d}.parquet"):
                monkeypatch.setattr(LocalStore, "move_file", real)
                raise Died
            real(store, source, destination, etag)

        monkeypatch.setattr(LocalStore, "move_file", move)

    return at


def test_a_dataframe_lands_whole_and_in_the_order_that_was_asked_for(
    spark: SparkSession, zone_folder: Path
) -> None:
    frame = spark.range(10).select(
        (F.col("id") % 2).alias("id"),
        (100 - F.col("id")).alias("at"),
        F.lit(None).alias("untyped"),
        F.timestamp_micros(F.col("id")).alias("seen"),
    )
    rows = publish_dataframe(frame.repartition(3), target(zone_folder, order_by=["at"]))
    found = landed(zone_folder)
    assert rows == len(found) == 10
    assert [row["at"] for row in found] == list(range(91, 101))
    assert {row["__rowMarker__"] for row in found} == {Marker.UPSERT}
    assert "untyped" not in found[0]
    assert not any((zone_folder / "dbo.schema" / "events" / STAGED_BY_SPARK).iterdir())


def test_rows_that_spark_would_compute_otherwise_land_once_after_a_crash(
    spark: SparkSession, zone_folder: Path, dies: Callable[[int], None]
) -> None:
    to = target(zone_folder, marker=Marker.INSERT)
    first = spark.range(10).select("id", F.lit("first").alias("attempt"))
    second = spark.range(10).select((9 - F.col("id")).alias("id"), F.lit("second").alias("attempt"))
    dies(2)
    with pytest.raises(Died):
        publish_dataframe(first, to, source="job", position=7)
    assert len(landed(zone_folder)) == ROWS_A_FILE
    assert publish_dataframe(second, to, source="job", position=7) == 10
    found = landed(zone_folder)
    assert sorted(row["id"] for row in found) == list(range(10))
    assert {row["attempt"] for row in found} == {"first"}
    assert publish_dataframe(second, to, source="job", position=7) == 0
    assert landed(zone_folder) == found


def test_a_query_that_is_killed_in_a_micro_batch_goes_on_and_lands_each_row_once(
    spark: SparkSession, zone_folder: Path, tmp_path: Path, dies: Callable[[int], None]
) -> None:
    arriving = tmp_path / "arriving"
    arriving.mkdir()
    to = target(zone_folder, marker=None)

    def arrive(name: str, ids: range) -> None:
        markers = pa.array([0] * len(ids), pa.int32())
        pq.write_table(pa.table({"id": list(ids), "__rowMarker__": markers}), arriving / name)

    def run(checkpoint: str) -> None:
        changes = spark.readStream.schema("id long, __rowMarker__ int").parquet(str(arriving))
        writer = changes.writeStream.foreachBatch(foreach_batch(to, source="stream"))
        query = (
            writer.option("checkpointLocation", str(tmp_path / checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    arrive("a.parquet", range(6))
    dies(2)
    with pytest.raises(Exception, match="Died"):
        run("checkpoint")
    assert len(landed(zone_folder)) == ROWS_A_FILE
    run("checkpoint")
    assert sorted(row["id"] for row in landed(zone_folder)) == list(range(6))
    arrive("b.parquet", range(6, 8))
    run("checkpoint")
    assert sorted(row["id"] for row in landed(zone_folder)) == list(range(8))
    # Batch 0 of another checkpoint is no batch that has landed.
    run("another")
    assert len(landed(zone_folder)) == 16


def test_the_streaming_query_on_the_page_for_publishers_publishes(
    spark: SparkSession, zone_folder: Path, tmp_path: Path
) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (text,) = (block for block in blocks if "foreach_batch" in block)
    arriving = tmp_path / "arriving"
    arriving.mkdir()
    pq.write_table(pa.table({"id": [1, 1], "changed_at": [2, 1]}), arriving / "a.parquet")
    changes = spark.readStream.schema("id long, changed_at long").parquet(str(arriving))
    names = {"zone": zone_folder, "changes": changes, "checkpoint": str(tmp_path / "checkpoint")}
    exec(compile(text, PAGE.name, "exec"), names)  # the reader's own code
    found = landed(zone_folder, "orders")
    assert [row["changed_at"] for row in found] == [1, 2]


def test_what_cannot_be_published_is_refused_before_spark_writes(
    spark: SparkSession, zone_folder: Path
) -> None:
    with pytest.raises(WrongRequest, match="no column 'nowhere'"):
        publish_dataframe(spark.range(1), target(zone_folder, order_by=["nowhere"]))
    with pytest.raises(WrongRequest, match="no micro-batch"):
        foreach_batch(target(zone_folder))(spark.range(1), 0)
    assert not any(zone_folder.iterdir())
