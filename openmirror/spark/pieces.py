"""What Spark reads for a change file: the file itself, or the parts it was converted to.

This is the one place that knows how Spark spells a path, and how the place of a row in its change
file is found: a file's name is the publisher's, so no number is ever read from it unless it is
the file's own sequence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from openmirror.plan.facts import LandedFile
from openmirror.plan.read_rules import ReadRules
from openmirror.ports import Part
from openmirror.protocol.sequence import Sequence as Number
from openmirror.spark.places import SparkPaths
from openmirror.spark.scala import class_of
from openmirror.table.layout import PART_NUMBER, name_of

_DIGITS = 20

MOST_LISTED = 100
"""Files whose sequences one frame looks up by their paths: each row is compared with each."""


class LocatedBy(Enum):
    """How the place of a row in its change file is found."""

    OWN_NAME = "own-name"
    """The name begins with the file's own sequence."""
    PART_NAME = "part-name"
    """A part of a converted file: its name has the sequence and its first row."""
    PATH_LIST = "path-list"
    """Any other name: a list of paths has its sequence."""


@dataclass(frozen=True)
class Piece:
    """One Parquet file for Spark, with all rows of a change file or some."""

    file: LandedFile
    path: str
    """As Spark names it."""
    first_row: int
    located_by: LocatedBy


PartsByFile = Mapping[Number, Sequence[Part]]
"""The parts of those files of a batch that were converted."""


def needs_conversion(file: LandedFile, rules: ReadRules) -> bool:
    """Whether Spark cannot read a file by these rules: what is in it, or under such a name."""
    facts = file.facts
    if facts and (facts.needs_conversion or rules.reads_exactly(facts.int96)):
        return True
    return not _is_seen(name_of(file.path))


def _is_seen(name: str) -> bool:
    """Whether Hadoop reads files of this name: some it passes over in silence."""
    hidden = name.startswith((".", "_")) or name.endswith("._COPYING_")
    return not hidden and ":" not in name


def pieces(
    files: Iterable[LandedFile],
    parts: PartsByFile,
    spark_path: SparkPaths,
    copies: Mapping[Number, str] | None = None,
) -> Iterator[Piece]:
    """What Spark reads for these files, in their order: parts, copies, or the files themselves."""
    for file in files:
        for part in parts.get(file.sequence, ()):
            yield Piece(file, spark_path(part.path), part.first_row, LocatedBy.PART_NAME)
        if file.sequence not in parts:
            path = (copies or {}).get(file.sequence) or spark_path(file.path)
            own = path.rpartition("/")[2].startswith(f"{file.sequence:0{_DIGITS}d}.")
            yield Piece(file, path, 0, LocatedBy.OWN_NAME if own else LocatedBy.PATH_LIST)


def spelled(session: SparkSession, path: str) -> str:
    """A path as Spark's `_metadata.file_path` has it: a URI, with Java's own quoting."""
    java_path: Any = class_of(session, "org.apache.hadoop.fs.Path")
    uri = f"file:{path}" if path.startswith("/") else path
    return str(java_path(uri).toUri().toString())


def sequence_of(session: SparkSession, read: Sequence[Piece], metadata: Column) -> Column:
    """The sequence of each row of pieces that are located in one way, as bigint."""
    if read[0].located_by is not LocatedBy.PATH_LIST:
        return F.substring(metadata["file_name"], 1, _DIGITS).cast("bigint")
    listed: list[Column] = []
    for piece in read:
        listed += (F.lit(spelled(session, piece.path)), F.lit(int(piece.file.sequence)))
    path = metadata["file_path"]
    unknown = F.raise_error(F.concat(F.lit("a path that nobody asked for: "), path))
    # A row without a sequence would be lost further on, so it must not come that far.
    return F.coalesce(F.create_map(*listed)[path].cast("bigint"), unknown.cast("bigint"))


def row_of(located_by: LocatedBy, metadata: Column) -> Column:
    """The place of each row in its change file, counted from 0."""
    row = metadata["row_index"]
    if located_by is not LocatedBy.PART_NAME:
        return row
    first = F.substring(metadata["file_name"], _DIGITS + 2, PART_NUMBER)
    return first.cast("bigint") + row
