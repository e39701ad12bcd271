"""Counting a batch's rows by marker, and finding the first that breaks a rule (PROTOCOL §5.1)."""

from __future__ import annotations

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from openmirror.plan import Batch
from openmirror.plan.facts import LandedFile
from openmirror.ports import BadFile, Counts
from openmirror.protocol.names import fold_case
from openmirror.protocol.rows import Marker
from openmirror.protocol.rules import Broken, Code
from openmirror.spark.frames import MARKER, ROW, SEQUENCE, quoted
from openmirror.spark.places import Place
from openmirror.spark.reading import open_files


def counts_without_reading(batch: Batch) -> Counts | None:
    """The counts of a batch that can only hold inserts, known from its footers."""
    if batch.pinned.default_marker is not Marker.INSERT:
        return None
    if any(file.facts is None or file.facts.marker is not None for file in batch.files):
        return None
    return Counts(inserts=sum(file.facts.rows for file in batch.files if file.facts))


def count_markers(
    session: SparkSession, place: Place, changes: DataFrame, batch: Batch
) -> Counts | BadFile:
    """Rows by kind, or the first file with a row that the table's rules refuse."""
    marker = F.col(MARKER)
    allowed = [kind.value for kind in Marker] if batch.pinned.key_columns else [Marker.INSERT.value]
    refused = F.when(marker.isNull() | ~marker.isin(*allowed), F.col(ROW))
    by_file = (
        changes.groupBy(SEQUENCE)
        .agg(
            F.count_if(marker == Marker.INSERT.value).alias("inserts"),
            F.count_if(marker.isin(Marker.UPDATE.value, Marker.UPSERT.value)).alias("updates"),
            F.count_if(marker == Marker.DELETE.value).alias("deletes"),
            F.min(refused).alias("refused"),
        )
        .collect()
    )
    bad = min((row for row in by_file if row["refused"] is not None), key=_sequence, default=None)
    if bad is not None:
        file = next(file for file in batch.files if file.sequence == bad[SEQUENCE])
        return BadFile(file.name, _broken(session, place, file, bad["refused"], allowed))
    return Counts(
        inserts=sum(row["inserts"] for row in by_file),
        updates=sum(row["updates"] for row in by_file),
        deletes=sum(row["deletes"] for row in by_file),
    )


def _sequence(row: Row) -> int:
    return int(row[SEQUENCE])


def _broken(
    session: SparkSession, place: Place, file: LandedFile, row: int, allowed: list[int]
) -> Broken:
    assert file.facts is not None
    frame = open_files(session, place, [file])
    value: object = None
    if file.facts.marker is not None:
        at = frame.metadataColumn("_metadata")["row_index"]
        found = frame.where(at == row).select(F.col(quoted(file.facts.marker))).first()
        value = found[0] if found else None
    shown = "NULL" if value is None else repr(value)
    where = f"row {row + 1} has {file.facts.marker or 'the default marker'} = {shown}"
    if len(allowed) == 1 and fold_case(str(value)) in {str(kind.value) for kind in Marker}:
        return Broken(Code.KEY_COLUMNS_UNDECLARED, f"{where}, but no keyColumns are declared")
    return Broken(Code.ROW_MARKER_INVALID, f"{where}; allowed are 0, 1, 2 and 4")
