"""Counting a batch's rows by marker, and finding the first that breaks a rule (PROTOCOL §5.1)."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from openmirror.plan import Batch
from openmirror.ports import BadFile, Counts
from openmirror.protocol.rows import Marker, read_marker
from openmirror.protocol.rules import Broken, Code
from openmirror.spark.frames import MARKER, ROW, SEQUENCE, quoted
from openmirror.spark.pieces import Piece
from openmirror.spark.places import SparkPaths
from openmirror.spark.reading import open_pieces


def counts_without_reading(batch: Batch) -> Counts | None:
    """The counts of a batch that can only hold inserts, known from its footers."""
    if any(file.facts is None or not file.facts.rows_are_exact for file in batch.files):
        return None
    if batch.insert_marker is not Marker.INSERT or batch.frozen.default_marker is not Marker.INSERT:
        return None
    if any(file.facts is None or file.facts.marker is not None for file in batch.files):
        return None
    return Counts(inserts=sum(file.facts.rows for file in batch.files if file.facts))


def count_markers(
    session: SparkSession,
    spark_path: SparkPaths,
    changes: DataFrame,
    batch: Batch,
    read: Sequence[Piece],
) -> Counts | BadFile:
    """Rows by kind, or the first file with a row that the table's rules refuse.

    `changes` are the rows of the pieces that were `read`, which must still be there.
    """
    marker = F.col(MARKER)
    allowed = [kind.value for kind in Marker] if batch.frozen.key_columns else [Marker.INSERT.value]
    refused = F.when(marker.isNull() | ~marker.isin(*allowed), F.struct(SEQUENCE, ROW))
    # Not by file: rows of one partition are then counted where they are, without a shuffle.
    [counted] = changes.agg(
        F.count_if(marker == Marker.INSERT.value).alias("inserts"),
        F.count_if(marker.isin(Marker.UPDATE.value, Marker.UPSERT.value)).alias("updates"),
        F.count_if(marker == Marker.DELETE.value).alias("deletes"),
        F.min(refused).alias("refused"),
    ).collect()
    if counted["refused"] is not None:
        sequence, row = counted["refused"]
        file = next(file for file in batch.files if file.sequence == sequence)
        of_file = [piece for piece in read if piece.file is file]
        return BadFile(file.name, _broken(session, spark_path, of_file, row, allowed))
    return Counts(counted["inserts"], counted["updates"], counted["deletes"])


def _broken(
    session: SparkSession,
    spark_path: SparkPaths,
    read: Sequence[Piece],
    row: int,
    allowed: list[int],
) -> Broken:
    """Which rule a row breaks; `read` are the pieces of its file."""
    piece = max((p for p in read if p.first_row <= row), key=lambda p: p.first_row)
    facts = piece.file.facts
    assert facts is not None
    frame = open_pieces(session, spark_path, [piece])
    value: object = None
    if facts.marker is not None:
        at = frame.metadataColumn("_metadata")["row_index"]
        wrong = frame.where(at == row - piece.first_row)
        found = wrong.select(F.col(quoted(facts.marker))).first()
        value = found[0] if found else None
    shown = "NULL" if value is None else repr(value) if isinstance(value, str) else str(value)
    where = f"row {row + 1} has {facts.marker or 'the default marker'} = {shown}"
    if len(allowed) == 1 and read_marker(value) is not None:
        return Broken(Code.KEY_COLUMNS_UNDECLARED, f"{where}, but no keyColumns are declared")
    return Broken(Code.ROW_MARKER_INVALID, f"{where}; allowed are 0, 1, 2 and 4")
