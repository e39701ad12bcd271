"""Data files that this process writes, for a commit that only has to name them.

Whoever writes a file and whoever commits it agree on these values.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from pathlib import Path
from typing import Protocol

from openmirror.plan import Batch
from openmirror.ports.merge_rows import FoldedBatch
from openmirror.ports.tables import BadFile, Counts
from openmirror.protocol.checksums import Checksum
from openmirror.protocol.sequence import Sequence as SequenceNumber


class Codec(StrEnum):
    """How a file is compressed: in the ways that whoever writes it here has in common with Spark.

    Values are names of Parquet's.
    """

    SNAPPY = "snappy"
    ZSTD = "zstd"
    GZIP = "gzip"
    LZ4 = "lz4"
    NONE = "none"


def new_name(codec: Codec) -> str:
    """A name that no file has, such as Spark gives them."""
    return f"part-00000-{uuid.uuid4()}-c000.{codec}.parquet"


@dataclass(frozen=True, kw_only=True)
class NewFile:
    """A data file as a commit adds it."""

    name: str
    """Its path below the table."""
    rows: int
    """None at all: then there is no file, either."""
    bytes: int
    statistics: str
    """JSON, as the log has it: readers pass over files by it."""


class FileWriter(Protocol):
    """Writes what a folded batch comes to as one Parquet file of its table.

    Both answer None where Spark has to do it: what a table's own files have in them may be more
    than this process reads, or of other types than the batch has. Nothing is left at the place
    then. The place must not exist, and its folder must: it is never made.
    """

    def added(self, batch: Batch, folded: FoldedBatch, codec: Codec, to: Path) -> NewFile | None:
        """The rows that a batch adds to a table; it must be decided.

        Raises FileNotFoundError where the folder has gone.
        """
        ...

    def applied(
        self, files: Sequence[Path], batch: Batch, folded: FoldedBatch, codec: Codec, to: Path
    ) -> NewFile | None:
        """All rows of the table that has these data files, once a batch is applied to it.

        None as well for a file that has gone. Raises FileNotFoundError where the folder has.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class WrittenInserts:
    """A batch of inserts as data files, which are in no table yet."""

    counts: Counts
    checksums: Mapping[SequenceNumber, Checksum]
    """Those of all its change files."""
    folder: Path
    """Where the files are."""
    files: Sequence[NewFile]
    """Those that have rows."""


class NotWritten(Enum):
    """Why a batch is left to others."""

    OTHER_CHANGES = auto()
    """A row is no insert, or breaks a rule of markers."""
    UNFIT = auto()
    """Reading it has shown that its files are for Spark."""
    UNTRIED = auto()
    """That was known before: nothing was read."""


class InsertsWriter(Protocol):
    """Writes the rows of batches that can only add rows, a few at a time, however many they are."""

    def written(
        self, batch: Batch, codec: Codec, folder: Path
    ) -> WrittenInserts | BadFile | NotWritten:
        """Data files in a folder; or the first file that breaks a rule.

        Raises NotThere and ConditionFailed for a change file that is another by now, what its
        store raises, and OSError where there is no room. What is in the folder then is of no use.
        """
        ...
