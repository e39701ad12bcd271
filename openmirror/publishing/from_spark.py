"""Publishing from Spark: a DataFrame, or each micro-batch of a streaming query.

Spark's executors write the rows into the table folder, where mirrors pass them over; from there
the driver lands them by the one rule of all publishers (PROTOCOL §13). Rows that Spark computes a
second time may come in another order, or be others. So what was written for a position is kept
until it has landed, and a second attempt goes on with that and computes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from openmirror.errors import WrongRequest
from openmirror.ports.zone_url import ZoneUrl
from openmirror.protocol.names import fold_case
from openmirror.protocol.rows import Marker
from openmirror.publishing.naming import table_path
from openmirror.publishing.places import ZoneCredential, zone_place
from openmirror.publishing.positions import SourcePosition, is_before
from openmirror.publishing.publisher import Publisher, PublisherOptions
from openmirror.publishing.spark_staging import StagedRows
from openmirror.publishing.table import TableWriter
from openmirror.spark.places import account_spark_paths
from openmirror.table.layout import join

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_QUERY_ID = "sql.streaming.queryId"
"""Where the thread of a micro-batch finds which query it is of. That identity is kept in the
checkpoint, so a query with a new checkpoint, which counts its batches from 0 again, has another."""


@dataclass(frozen=True, kw_only=True)
class SparkTarget:
    """The table that DataFrames are published into, and how."""

    zone: str | Path
    """The landing zone, as `Publisher` takes it."""
    table: str
    key: Sequence[str] | None = None
    marker: Marker | None = Marker.UPSERT
    """What every row does; None where each says it in its column `__rowMarker__`."""
    order_by: Sequence[str] = ()
    """Columns to sort by first. Rows of Spark have no order of their own: where one DataFrame may
    have several rows of a key, this says which of them is the last."""
    credential: ZoneCredential | None = None
    """The driver's. Executors write with the session's own (`fs.azure…`, or the workspace's)."""
    spark_path: str | None = None
    """The zone as Spark reaches it, where that is another address than `zone`."""
    options: PublisherOptions = field(default_factory=PublisherOptions)


def publish_dataframe(
    frame: DataFrame,
    target: SparkTarget,
    *,
    source: str = "spark",
    position: SourcePosition | None = None,
) -> int:
    """Publish all rows of a DataFrame; answers how many there were, 0 for what landed before.

    With `position` they are the batch of `source` there, which lands once: the same call after a
    crash finishes what was begun. Without it every call publishes its rows.

    Raises what `TableWriter` raises, WrongRequest for a column to sort by that is not there, and
    what Spark raises.
    """
    names = {fold_case(name) for name in frame.columns}
    if missing := [name for name in target.order_by if fold_case(name) not in names]:
        raise WrongRequest(f"order_by: the DataFrame has no column {missing[0]!r}")
    if target.order_by:
        frame = frame.orderBy(*target.order_by)
    place = zone_place(target.zone, target.credential)
    path = str(table_path(target.table))
    with closing(place), Publisher.of_store(place.store, place.path, target.options) as publisher:
        writer = publisher.table(target.table, target.key, source=source)
        staged = StagedRows(
            place.store,
            join(place.path, *path.split("/")),
            f"{target.spark_path or _spark_path(target.zone)}/{path}",
            _batch_name(source, position),
        )
        if position is not None and is_before(position, writer.position):
            staged.discard()
            return 0
        try:
            rows = _publish(frame, target, writer, staged, position)
        finally:
            if position is None:
                staged.discard()  # nobody would find it again
    staged.discard()
    return rows


def foreach_batch(
    target: SparkTarget, *, source: str = "spark"
) -> Callable[[DataFrame, int], None]:
    """A function for `foreachBatch` of a streaming query: it publishes every micro-batch once.

    One that Spark repeats after a failure goes on where it was. Batches are counted by the query's
    checkpoint: with a new one they are counted anew, here as well.
    """

    def publish(frame: DataFrame, batch: int) -> None:
        query = frame.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
        if not query:
            raise WrongRequest(
                "this is no micro-batch of a streaming query: call publish_dataframe, with a "
                "source and a position of your own"
            )
        publish_dataframe(frame, target, source=f"{source}/{query}", position=batch)

    return publish


def _publish(
    frame: DataFrame,
    target: SparkTarget,
    writer: TableWriter,
    staged: StagedRows,
    position: SourcePosition | None,
) -> int:
    rows = 0
    with writer.batch(position) if position is not None else nullcontext():
        for part in staged.write(frame, target.options.limits.rows):
            for table in staged.read(part):
                writer.publish(table, marker=target.marker)
                rows += table.num_rows
    writer.flush()
    return rows


def _batch_name(source: str, position: SourcePosition | None) -> str:
    if position is None:
        return uuid4().hex
    return hashlib.sha256(json.dumps([source, position]).encode()).hexdigest()[:32]


def _spark_path(zone: str | Path) -> str:
    if isinstance(zone, Path) or "://" not in zone:
        return str(Path(zone).expanduser().resolve())
    url = ZoneUrl.parse(zone)
    return account_spark_paths(url.account)(url.path)
