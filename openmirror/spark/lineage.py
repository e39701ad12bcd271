"""Lineage in Spark: which change writes a row, as columns of every change (PROTOCOL §5.10).

They are filled before a batch is folded. So whichever change a row has its values of, it has that
one's place as well; only what marks a row or takes it out of the table needs to know of them.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from openmirror.plan import Batch
from openmirror.ports.merge_rows import lineage_positions, positions_of
from openmirror.protocol.lineage import LINEAGE, Lineage
from openmirror.protocol.rows import Marker
from openmirror.spark.frames import MARKER, ROW, SEQUENCE, moment, operation_of
from openmirror.spark.markers import RowPlace, file_with


def with_lineage(changes: DataFrame, batch: Batch) -> DataFrame:
    """Each change with its place, where the table has lineage.

    `changes` may be any frame with sequence, row and marker; their batch must be decided.
    """
    if batch.lineage is not Lineage.WRITTEN:
        return changes
    files = [(int(file.sequence), file.name) for file in batch.files]
    names = changes.sparkSession.createDataFrame(files, "of_number long, of_name string")
    named = changes.join(F.broadcast(names), F.col(SEQUENCE) == F.col("of_number"), "left")
    filled = _filled(
        batch, F.col("of_name"), F.col(SEQUENCE), F.col(ROW), operation_of(F.col(MARKER))
    )
    return named.withColumns(filled).drop("of_number", "of_name")


def lineage_of(batch: Batch, place: RowPlace, marker: Marker) -> dict[str, Column]:
    """What one change writes into the columns of lineage that the table has."""
    if batch.lineage is Lineage.WRITTEN:
        sequence, row = place
        name, number = file_with(batch, sequence).name, F.lit(sequence).cast("long")
        return _filled(batch, F.lit(name), number, F.lit(row), F.lit(marker.operation))
    return {position: F.lit(None) for position in lineage_positions(batch)}


def _filled(
    batch: Batch, file: Column, number: Column, row: Column, operation: Column
) -> dict[str, Column]:
    assert batch.decided_at is not None  # nothing is committed before it is decided
    values = (file, number, row.cast("long") + 1, moment(batch.decided_at), operation)
    return dict(zip(positions_of(batch.union.schema, LINEAGE), values, strict=True))
