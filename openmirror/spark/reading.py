"""Reading change files of differing schemas into one frame, with the place of each row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from openmirror.plan import Batch
from openmirror.plan.facts import FileFacts, LandedFile
from openmirror.ports.merge_rows import positional
from openmirror.protocol.names import fold_case
from openmirror.protocol.partial_updates import PARTIAL_UPDATE
from openmirror.protocol.rows import WHOLE_NUMBER, Marker
from openmirror.protocol.schema import TableSchema
from openmirror.spark.frames import ABSENT, MARKER, ROW, SEQUENCE, quoted, sql_type
from openmirror.spark.pieces import MOST_LISTED, LocatedBy, Piece, row_of, sequence_of

_PATTERN_CHARACTERS = frozenset("\\[]{}*?")
_PATTERNS = "__globPaths__"
_WITHOUT_CHECKSUMS = {
    # For these reads alone: Delta's own files keep their checksums. An instance of its own, or the
    # one with checksums that Hadoop has by now would answer.
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
"""A `.crc` file beside a landed one may be of other bytes: whoever renames or replaces a file that
Hadoop wrote leaves it behind."""
_Shape = tuple[tuple[tuple[str, str], ...], str | None, str | None, LocatedBy, int, str]


def read_changes(session: SparkSession, batch: Batch, read: Sequence[Piece]) -> DataFrame:
    """Every row of a batch's files as c0…, sequence, row, marker, absent; lazy.

    `read` is their pieces. `absent` is the marker's text in partial updates, and NULL elsewhere.

    Files of one shape are read together, each shape with its own types: Spark's own widening on
    read covers only some type pairs, a cast after the read covers all. A column that a file lacks
    is NULL. An unreadable marker is NULL too, which `count_markers` refuses.
    """
    frames = [_read_shape(session, shape, batch) for shape in _by_shape(read).values()]
    changes = frames[0]
    for frame in frames[1:]:
        changes = changes.unionByName(frame)
    return changes


def _by_shape(read: Iterable[Piece]) -> dict[_Shape, list[Piece]]:
    shapes: dict[_Shape, list[Piece]] = {}
    listed = 0
    for piece in read:
        facts = _facts(piece.file)
        columns = tuple((column.name, column.type) for column in facts.schema.columns)
        listed += piece.located_by is LocatedBy.PATH_LIST
        group = listed // MOST_LISTED if piece.located_by is LocatedBy.PATH_LIST else 0
        alone = piece.path if _must_be_read_alone(piece.path) else ""
        shape = (columns, facts.marker, facts.marker_type, piece.located_by, group, alone)
        shapes.setdefault(shape, []).append(piece)
    return shapes


def _read_shape(session: SparkSession, read: list[Piece], batch: Batch) -> DataFrame:
    facts = _facts(read[0].file)
    frame = open_pieces(session, read)
    metadata = frame.metadataColumn("_metadata")
    marker = _marker(facts, batch)
    return frame.select(
        *_data_columns(facts, batch.union.schema),
        sequence_of(session, read, metadata).alias(SEQUENCE),
        row_of(read[0].located_by, metadata).alias(ROW),
        marker.alias(MARKER),
        _absent(facts).alias(ABSENT),
    )


def open_pieces(session: SparkSession, read: Sequence[Piece]) -> DataFrame:
    """Pieces of one shape, with their own columns. The one place where a path is handed to Spark.

    Each path is a file's own, so a folder `Key=Value` above it makes no column.
    """
    facts = _facts(read[0].file)
    columns = [f"{quoted(column.name)} {sql_type(column.type)}" for column in facts.schema.columns]
    if facts.marker is not None:
        columns.append(f"{quoted(facts.marker)} {sql_type(facts.marker_type)}")  # type: ignore[arg-type]
    # Spark parses no empty text; files without a typed column still have rows.
    reader = session.read.schema(", ".join(columns) or StructType()).options(**_WITHOUT_CHECKSUMS)
    if len(read) == 1 and _must_be_read_alone(read[0].path):
        return reader.option(_PATTERNS, "false").parquet(read[0].path)
    return reader.parquet(*(_literal(piece.path) for piece in read))


def _must_be_read_alone(path: str) -> bool:
    """Whether a path has a pattern's character and a colon, which Hadoop's patterns cannot have.

    Spark's switch against patterns is no help for several: it reads every file twice once two paths
    hold such characters.
    """
    below = path.rpartition("://")[2]
    return ":" in below and not _PATTERN_CHARACTERS.isdisjoint(below)


def _literal(path: str) -> str:
    """A path that means itself: to Spark, `a[1]` and `x{y}` are patterns."""
    return "".join(
        "\\" + character if character in _PATTERN_CHARACTERS else character for character in path
    )


def _data_columns(facts: FileFacts, schema: TableSchema) -> list[Column]:
    found = {fold_case(column.name): column.name for column in facts.schema.columns}
    columns = []
    for position, column in zip(positional(len(schema.columns)), schema.columns, strict=True):
        name = found.get(fold_case(column.name))
        value = F.lit(None) if name is None else F.col(quoted(name))
        columns.append(value.cast(sql_type(column.type)).alias(position))
    return columns


def _marker(facts: FileFacts, batch: Batch) -> Column:
    """What each row does: its marker, or the default one, as the table's policy takes it."""
    if facts.marker is None:
        marker = F.lit(batch.frozen.default_marker.value).cast("int")
    else:
        marker = _whole(F.col(quoted(facts.marker)), facts)
    if batch.insert_marker is Marker.INSERT:
        return marker
    return F.when(marker == Marker.INSERT.value, batch.insert_marker.value).otherwise(marker)


def _absent(facts: FileFacts) -> Column:
    """The markers of partial updates, which only text can be."""
    if facts.marker is None or facts.marker_type != "string":
        return F.lit(None).cast("string")
    marker = F.col(quoted(facts.marker))
    return F.when(marker.startswith(PARTIAL_UPDATE), marker)


def _whole(marker: Column, facts: FileFacts) -> Column:
    """A marker as a whole number; NULL for what is none (`protocol.marker_rules`)."""
    kind, text = str(facts.marker_type), marker
    if kind == "string":
        # Spark's own cast takes a DEL at either end, too. No match is empty text, and no number.
        marker = F.regexp_extract(marker, rf"\A{WHOLE_NUMBER}\z", 1)
    elif kind in ("float", "double") or kind.startswith("decimal"):
        # Compared with a whole number, a decimal would lose its last digits to their common type.
        marker = F.when(marker % 1 == 0, marker)
    # A partial update names its columns: a number alone is none.
    number = marker.try_cast("int")
    number = F.when(number != Marker.PARTIAL_UPDATE.value, number)
    if kind != "string":
        return number
    return F.when(text.startswith(PARTIAL_UPDATE), Marker.PARTIAL_UPDATE.value).otherwise(number)


def _facts(file: LandedFile) -> FileFacts:
    if file.facts is None:
        raise ValueError(f"{file.path} was planned without its facts")
    return file.facts
