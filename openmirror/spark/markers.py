"""Counting a batch's rows by marker, and finding the first that breaks a rule (PROTOCOL §5.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DateType, IntegralType

from openmirror.plan import Batch
from openmirror.plan.facts import LandedFile
from openmirror.ports import BadFile, Counts
from openmirror.ports.merge_rows import key_positions, positions_of
from openmirror.protocol.marker_rules import MarkerRules, shown
from openmirror.protocol.partial_updates import absent_columns
from openmirror.protocol.rows import UPDATES, WITHOUT_KEY, Marker
from openmirror.protocol.rules import Broken
from openmirror.spark.frames import ABSENT, MARKER, ROW, SEQUENCE, quoted
from openmirror.spark.holding import every_value
from openmirror.spark.pieces import Piece
from openmirror.spark.reading import open_pieces

RowPlace = tuple[int, int]
"""Sequence and row."""


@dataclass(frozen=True)
class KeyFacts:
    """What is known of the keys of a batch, as `MergeNeeds` has it."""

    bounds: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    not_null: frozenset[str] = frozenset()


@dataclass(frozen=True)
class MarkedRows:
    """What the markers of a batch say."""

    counts: Counts
    truncates: tuple[RowPlace, ...] = ()
    """Where the table is emptied, in order."""
    absent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of each marker of partial updates, the absent columns' positions, such as c3."""
    keys: KeyFacts = KeyFacts()


def counts_without_reading(batch: Batch) -> Counts | None:
    """The counts of a batch that can only hold inserts, known from its footers."""
    if any(file.facts is None or not file.facts.rows_are_exact for file in batch.files):
        return None
    if batch.insert_marker is not Marker.INSERT or batch.frozen.default_marker is not Marker.INSERT:
        return None
    if any(file.facts is None or file.facts.marker is not None for file in batch.files):
        return None
    return Counts(inserts=sum(file.facts.rows for file in batch.files if file.facts))


def read_markers(
    session: SparkSession,
    changes: DataFrame,
    batch: Batch,
    read: Sequence[Piece],
    *,
    reads_all: bool = False,
) -> MarkedRows | BadFile:
    """Rows by kind, or the first file with a row that the table's rules refuse.

    `changes` are the rows of the pieces that were `read`, which must still be there. With
    `reads_all` every value is read, else what is asked here.
    """
    marker, place = F.col(MARKER), F.struct(SEQUENCE, ROW)
    allowed = Marker if batch.frozen.key_columns else WITHOUT_KEY
    refused = marker.isNull() | ~marker.isin([kind.value for kind in allowed])
    truncates = marker == Marker.TRUNCATE.value
    # Not by file: rows of one partition are then counted where they are, without a shuffle.
    keys = key_positions(batch)
    whole = [name for name in keys if _is_whole(changes.schema[name].dataType)]
    [counted] = changes.agg(
        F.count_if(marker == Marker.INSERT.value).alias("inserts"),
        F.count_if(marker.isin([kind.value for kind in UPDATES])).alias("updates"),
        F.count_if((marker == Marker.DELETE.value) | truncates).alias("deletes"),
        F.count(ABSENT).alias("partial"),
        F.collect_list(F.when(truncates, place)).alias("truncates"),
        F.min(F.when(refused, place)).alias("refused"),
        *(F.count_if(F.col(name).isNull()).alias(f"nulls_{name}") for name in keys),
        *(F.min(_as_number(changes, name)).alias(f"least_{name}") for name in whole),
        *(F.max(_as_number(changes, name)).alias(f"most_{name}") for name in whole),
        *((every_value(changes),) if reads_all else ()),
    ).collect()
    first: RowPlace | None = counted["refused"] and tuple(counted["refused"])
    counts = Counts(counted["inserts"], counted["updates"], counted["deletes"])
    not_null = frozenset(name for name in keys if not counted[f"nulls_{name}"])
    bounds = {
        name: (counted[f"least_{name}"], counted[f"most_{name}"])
        for name in whole
        if name in not_null and counted[f"least_{name}"] is not None
    }
    facts = KeyFacts(bounds, not_null)
    marked = MarkedRows(counts, tuple(sorted(map(tuple, counted["truncates"]))), keys=facts)
    if counted["partial"]:
        absent, wrong = _absent(changes, batch)
        first = min(filter(None, (first, wrong)), default=None)
        marked = replace(marked, absent=absent)
    if first is None:
        return marked
    sequence, row = first
    file = file_with(batch, sequence)
    of_file = [piece for piece in read if piece.file is file]
    return BadFile(file.name, _broken(session, of_file, row, _rules(batch, file)))


def _is_whole(kind: DataType) -> bool:
    return isinstance(kind, IntegralType | DateType)


def _as_number(changes: DataFrame, name: str) -> Column:
    """A whole number, or the days since 1970."""
    column = F.col(name)
    return F.unix_date(column) if isinstance(changes.schema[name].dataType, DateType) else column


def file_with(batch: Batch, sequence: int) -> LandedFile:
    """The file of a batch with a sequence that some row of it has."""
    return next(file for file in batch.files if file.sequence == sequence)


def after_last_truncate(changes: DataFrame, marked: MarkedRows) -> DataFrame:
    """The rows that anything comes of."""
    return changes.where(_place() > _literal(marked.truncates[-1])) if marked.truncates else changes


def truncates_before(marked: MarkedRows) -> Column:
    """How often the table was emptied before a row."""
    emptied = F.lit(0)
    for place in marked.truncates:
        emptied = emptied + (_place() > _literal(place)).cast("int")
    return emptied


def _place() -> Column:
    return F.struct(F.col(SEQUENCE), F.col(ROW))


def _literal(place: RowPlace) -> Column:
    sequence, row = place
    return F.struct(F.lit(sequence).cast("long"), F.lit(row).cast("long"))


def _rules(batch: Batch, file: LandedFile) -> MarkerRules:
    assert file.facts is not None
    frozen = batch.frozen
    return MarkerRules(frozen.key_columns, file.facts.schema.names, frozen.version_column)


def _absent(
    changes: DataFrame, batch: Batch
) -> tuple[Mapping[str, tuple[str, ...]], RowPlace | None]:
    """What partial updates leave out, and the first that may not."""
    place = F.min(F.struct(SEQUENCE, ROW)).alias("first")
    partial = changes.where(F.col(ABSENT).isNotNull())
    absent: dict[str, tuple[str, ...]] = {}
    wrong: list[RowPlace] = []
    for sequence, text, first in partial.groupBy(SEQUENCE, ABSENT).agg(place).collect():
        rules = _rules(batch, file_with(batch, sequence))
        if isinstance(rules.read(text, ""), Broken):
            wrong.append(tuple(first))
        else:
            absent[text] = tuple(positions_of(batch.union.schema, absent_columns(text) or ()))
    return absent, min(wrong, default=None)


def _broken(
    session: SparkSession,
    read: Sequence[Piece],
    row: int,
    rules: MarkerRules,
) -> Broken:
    """Which rule a row breaks; `read` are the pieces of its file."""
    piece = max((p for p in read if p.first_row <= row), key=lambda p: p.first_row)
    facts = piece.file.facts
    assert facts is not None
    frame = open_pieces(session, [piece])
    value: object = None
    if facts.marker is not None:
        at = frame.metadataColumn("_metadata")["row_index"]
        wrong = frame.where(at == row - piece.first_row)
        found = wrong.select(F.col(quoted(facts.marker))).first()
        value = found[0] if found else None
    where = f"row {row + 1} has {facts.marker or 'the default marker'} = {shown(value)}"
    broken = rules.read(value if facts.marker else 0, where)
    assert isinstance(broken, Broken), where  # Spark refused it by the same rules
    return broken
