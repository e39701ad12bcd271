"""The record of one incarnation of a landing folder: frozen options, skips, batches, archive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from openmirror.protocol.metadata import Detection
from openmirror.protocol.names import ETag, Incarnation
from openmirror.protocol.rows import Marker
from openmirror.protocol.sequence import START, Position, Sequence
from openmirror.protocol.text_format import TextFormat
from openmirror.table.control.batch import BatchKind, DecidedBatch, ManifestEntry


@dataclass(frozen=True, kw_only=True)
class FrozenOptions:
    """What a table's first apply fixed; keys may be declared later and are fixed then."""

    key_columns: tuple[str, ...] = ()
    detection: Detection = Detection.SEQUENTIAL
    default_marker: Marker = Marker.INSERT
    partitioned: bool = False
    text: TextFormat | None = None
    """How delimited text is written; None for Parquet. The only part that may change freely."""
    version_column: str | None = None
    """The ConditionalUpdateColumn (PROTOCOL §5.6)."""


@dataclass(frozen=True, kw_only=True)
class Skip:
    """Numbers that are passed over: missing ones, or one file as it was then."""

    first: Sequence
    last: Sequence
    by: str
    at: datetime
    why: str
    etag: ETag | None = None
    """The skipped file's ETag; None skips numbers only while they are missing."""
    name: str | None = None
    """Where the table has a ledger: the skipped file, whatever number it would get."""
    partition: str | None = None
    """Where each partition has its own numbers: the one whose numbers are passed over."""

    def covers(self, sequence: Sequence, etag: ETag | None, partition: str | None = None) -> bool:
        """Whether this number is passed over while the file there has this ETag (or is missing)."""
        is_here = self.name is None and self.partition == partition
        return is_here and self.first <= sequence <= self.last and self.etag == etag


@dataclass(frozen=True)
class StopAfter:
    """A reseed ends with this file, and the table is held there."""

    sequence: Sequence
    by: str
    at: datetime
    why: str = ""


@dataclass(frozen=True)
class Archived:
    """Up to which number files had been moved to the archive within one hour."""

    hour: datetime
    through: Sequence


@dataclass(frozen=True)
class Truncated:
    """The first value of a table that lost what is finer than a microsecond."""

    file: str
    detail: str
    """Where in the file it is, and what it was."""


@dataclass(frozen=True)
class Overwrites:
    """Applied files that were written over, without stopping their table."""

    count: int
    file: str
    """The last of them."""
    at: datetime
    """When that was seen."""


@dataclass(frozen=True, kw_only=True)
class IncarnationRecord:
    """What the control document keeps of one incarnation; a new one starts with a new record."""

    incarnation: Incarnation
    frozen: FrozenOptions | None = None
    skips: tuple[Skip, ...] = ()
    batches: tuple[DecidedBatch, ...] = ()
    """Batches whose files are not all archived yet, with the manifests they were read with."""
    archived: tuple[Archived, ...] = ()
    reseeding_until: Position = START
    """While a reseed has not come this far again, nothing is purged."""
    partitions: Mapping[str, Sequence] = field(default_factory=dict)
    """The highest number of its own that each partition had when its files left the folder."""
    rewritten: Overwrites | None = None
    """Applied files that were written over with the same bytes, or only touched."""
    ignored: Overwrites | None = None
    """Applied files that were written over with others, which the table's policy ignores."""
    overwritten_through: Position = START
    """The highest applied file whose bytes are others by now, which is accepted or ignored: whoever
    has not read it yet never can."""
    truncated: Truncated | None = None
    stops_after: StopAfter | None = None
    """Until the table has come there and is held, or somebody has it go on."""
    with_history: bool = False
    """Whether its table had keys and a history from its first file on: that one has every version
    then."""

    @property
    def archived_through(self) -> int:
        """The highest number that was ever moved to the archive."""
        return max((item.through for item in self.archived), default=0)

    def applied_files(self, through: Position) -> Iterator[ManifestEntry]:
        """Files of batches that are applied up to a position, with what was read of each."""
        for batch in self.batches:
            if batch.kind is not BatchKind.CONTINUE and batch.last <= through:
                yield from batch.files

    @property
    def known_through(self) -> Position:
        """The highest number that this record has of any file."""
        decided = (b.last for b in self.batches if b.kind is not BatchKind.CONTINUE)
        return Position(max(self.archived_through, *decided, START))

    def skipped(
        self, sequence: Sequence, etag: ETag | None, partition: str | None = None
    ) -> Skip | None:
        """The skip that passes over this number, if any."""
        return next((skip for skip in self.skips if skip.covers(sequence, etag, partition)), None)

    def skipped_file(self, name: str, etag: ETag) -> Skip | None:
        """The skip that passes over this content of a file without a number, if any."""
        found = (skip for skip in self.skips if (skip.name, skip.etag) == (name, etag))
        return next(found, None)
