"""The control document: what was decided about one landing folder, and nothing that can be seen
elsewhere. Values and pure transitions; services write them under an ETag condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from openmirror.errors import Problem
from openmirror.protocol.metadata import Detection
from openmirror.protocol.names import ETag, Incarnation
from openmirror.protocol.rows import Marker
from openmirror.protocol.sequence import START, Position, Sequence, next_sequence
from openmirror.protocol.textformat import TextFormat
from openmirror.tablelog import AppId, Epoch, Totals

VERSION = 1


class BatchKind(StrEnum):
    """How a batch enters the log."""

    EXTEND = "extend"
    """Adds to the live epoch."""
    REPLACE = "replace"
    """Opens an epoch: the table becomes this batch and nothing else."""
    CONTINUE = "continue"
    """Opens an epoch at the position that the one before had; the rows stay."""


@dataclass(frozen=True)
class FileDigest:
    """One file of a batch as it was read."""

    name: str
    sequence: Sequence
    etag: ETag


@dataclass(frozen=True)
class DecidedBatch:
    """A batch that must be applied exactly as it is before any other of its epoch."""

    kind: BatchKind
    app_id: AppId
    first: Sequence
    last: Position
    """For a continue the position is read from the log when the old epochs are fenced."""
    files: tuple[FileDigest, ...] = ()
    continues: AppId | None = None
    """For a continue: the epoch whose position it takes over."""

    @property
    def epoch(self) -> Epoch:
        """The epoch it belongs to."""
        epoch = Epoch.parse(self.app_id)
        if epoch is None:
            raise ValueError(f"{self.app_id!r} does not name an epoch")
        return epoch


@dataclass(frozen=True)
class Pinned:
    """What a table's first apply fixed; keys may be declared later and are fixed then."""

    key_columns: tuple[str, ...] = ()
    detection: Detection = Detection.SEQUENTIAL
    default_marker: Marker = Marker.INSERT
    partitioned: bool = False
    text: TextFormat | None = None
    """How delimited text is written; None for Parquet. The only part that may change freely."""
    guard: str | None = None
    """The ConditionalUpdateColumn (PROTOCOL §5.6)."""


@dataclass(frozen=True)
class Hold:
    """A table held by hand."""

    since: datetime
    by: str
    why: str = ""


@dataclass(frozen=True)
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
class Archived:
    """Up to which number files had been moved to the archive within one hour."""

    hour: datetime
    through: Sequence


@dataclass(frozen=True)
class Life:
    """What is known about one incarnation; a new one starts with a new Life."""

    incarnation: Incarnation
    pinned: Pinned | None = None
    skips: tuple[Skip, ...] = ()
    batches: tuple[DecidedBatch, ...] = ()
    """Batches whose files are not all archived yet, with the digests they were read with."""
    archived: tuple[Archived, ...] = ()
    reseeding_until: Position = START
    """While a reseed has not come this far again, nothing is purged."""
    partitions: Mapping[str, Sequence] = field(default_factory=dict)
    """The highest number of its own that each partition had when its files left the folder."""

    @property
    def archived_through(self) -> int:
        """The highest number that was ever moved to the archive."""
        return max((item.through for item in self.archived), default=0)

    def applied_files(self, through: Position) -> Iterator[FileDigest]:
        """Files of batches that are applied up to a position, with what was read of each."""
        for batch in self.batches:
            if batch.kind is not BatchKind.CONTINUE and batch.last <= through:
                yield from batch.files

    @property
    def known_through(self) -> Position:
        """The highest number that this life remembers of any file."""
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


class RequestKind(StrEnum):
    """What an operator has asked the runner to do."""

    RESEED = "reseed"
    UNDROP = "undrop"
    ADOPT = "adopt"


@dataclass(frozen=True)
class Request:
    """An operator's request that the runner carries out."""

    kind: RequestKind
    at: datetime
    by: str
    why: str = ""


@dataclass(frozen=True)
class Failures:
    """Attempts in a row that ended in an error on the same files."""

    count: int
    files: tuple[FileDigest, ...]
    at: datetime
    error: str


@dataclass(frozen=True)
class Applied:
    """A copy of what the log said, never ahead of it."""

    app_id: AppId
    position: Position
    totals: Totals = Totals()
    at: datetime | None = None


@dataclass(frozen=True)
class Dropped:
    """A table that was moved aside."""

    incarnation: Incarnation
    at: datetime


@dataclass(frozen=True)
class Act:
    """Something an operator did to this table, kept for `history`."""

    at: datetime
    by: str
    what: str
    why: str = ""


@dataclass(frozen=True)
class Ended:
    """A problem that is over, kept for `history`."""

    problem: Problem
    at: datetime
    how: str
    """What ended it: what has changed, or what an operator did."""


@dataclass(frozen=True, kw_only=True)
class ControlDocument:
    """Everything decided about one landing folder."""

    version: int = VERSION
    folder: str
    epoch: int = 0
    """The highest epoch number that was ever decided."""
    epochs: tuple[AppId, ...] = ()
    """Every epoch that may still have a runner somewhere, to be fenced before another opens."""
    decided: DecidedBatch | None = None
    life: Life | None = None
    former: tuple[Life, ...] = ()
    """Earlier lives, newest first: a folder that was taken away may be put back."""
    applied: Applied | None = None
    hold: Hold | None = None
    problem: Problem | None = None
    failures: Failures | None = None
    request: Request | None = None
    missing_since: datetime | None = None
    dropped: Dropped | None = None
    rebuilt: datetime | None = None
    """When this document was made anew beside a log that already had an epoch of ours."""
    acts: tuple[Act, ...] = field(default=())
    ended: tuple[Ended, ...] = ()
    """The last problems that are over, oldest first."""

    def life_of(self, incarnation: Incarnation) -> Life:
        """What is known of this incarnation: nothing yet for a new one."""
        lives = (self.life, *self.former)
        known = (life for life in lives if life is not None and life.incarnation == incarnation)
        return next(known, Life(incarnation))


MOST_FORMER_LIVES = 5


def with_life(control: ControlDocument, life: Life) -> ControlDocument:
    """The document with this life as its present one; another one becomes a former life."""
    others = (control.life, *control.former)
    former = tuple(o for o in others if o is not None and o.incarnation != life.incarnation)
    return replace(control, life=life, former=former[:MOST_FORMER_LIVES])


MOST_ACTS = 100


def with_act(control: ControlDocument, act: Act) -> ControlDocument:
    """Remember what an operator did; the oldest go first."""
    return replace(control, acts=(*control.acts, act)[-MOST_ACTS:])


MOST_ENDED = 20


def with_end(control: ControlDocument, problem: Problem, at: datetime, how: str) -> ControlDocument:
    """Remember that a problem is over, and why; the oldest go first."""
    ended = (*control.ended, Ended(problem, at, how))[-MOST_ENDED:]
    return replace(control, ended=ended)


def decide(
    control: ControlDocument,
    batch: DecidedBatch,
    pinned: Pinned | None,
    applied: Position,
    again_through: Position = START,
) -> ControlDocument:
    """The document once `batch` is decided; `applied` is the live position that it extends.

    `pinned` None leaves what is pinned as it is. Up to `again_through` files of a ledger are read
    that were applied before.

    Batches that were cut and never applied are void and forgotten here: an extend drops those
    above the live position, a replace drops all (PROTOCOL has no say in it; ARCHITECTURE §4).
    """
    incarnation = batch.epoch.incarnation
    life = control.life_of(incarnation)
    kept = tuple(b for b in life.batches if b.kind is not BatchKind.CONTINUE)
    reseeding = Position(max(life.reseeding_until, again_through))
    if batch.kind is BatchKind.EXTEND:
        kept = tuple(b for b in kept if b.last <= applied)
    elif batch.kind is BatchKind.REPLACE:
        # What is read once more lies in the archive: it must stay there until it was read.
        reseeding = Position(max(reseeding, applied, life.archived_through))
        kept = ()
        life = replace(life, partitions={})
    if batch.kind is not BatchKind.CONTINUE:
        kept = (*kept, batch)
    life = replace(life, pinned=pinned or life.pinned, batches=kept, reseeding_until=reseeding)
    return replace(
        with_life(control, life),
        epoch=max(control.epoch, batch.epoch.number),
        epochs=_including(control.epochs, (batch.app_id,)),
        decided=batch,
        request=_left_open(control.request, batch.kind),
        problem=None,
        missing_since=None,
    )


def adopted_life(
    life: Life | None, epoch: Epoch, applied: Position, files: Iterable[FileDigest]
) -> Life:
    """The life of a copied or renamed folder: what was known goes on, digests are taken anew.

    The batch says how far it goes, also where no file is left to say so.
    """
    known = replace(life, incarnation=epoch.incarnation) if life else Life(epoch.incarnation)
    there = tuple(file for file in files if file.sequence <= applied)
    first = there[0].sequence if there else next_sequence(START)
    batch = DecidedBatch(BatchKind.EXTEND, epoch.app_id, first, applied, there)
    return replace(known, batches=(batch,))


def _left_open(request: Request | None, decided: BatchKind) -> Request | None:
    carried_out = {
        RequestKind.RESEED: BatchKind.REPLACE,
        RequestKind.ADOPT: BatchKind.CONTINUE,
    }
    return None if request and carried_out.get(request.kind) is decided else request


def _including(epochs: tuple[AppId, ...], more: Iterable[AppId]) -> tuple[AppId, ...]:
    return (*epochs, *(app for app in more if app not in epochs))


def rebuilt_from_log(
    control: ControlDocument, epochs: Iterable[Epoch], forgotten: Epoch | None, now: datetime
) -> ControlDocument:
    """A lost document made anew from the epochs that log and ledger remember.

    `forgotten` follows them all. It may have been decided, and its runner may be stalled: it is
    remembered to be fenced, and its number is not used again.
    """
    ours = sorted(epochs, key=lambda epoch: epoch.number)
    if forgotten is not None:
        ours.append(forgotten)
    return replace(
        control,
        epoch=max((epoch.number for epoch in ours), default=0),
        epochs=_including(control.epochs, (epoch.app_id for epoch in ours)),
        rebuilt=now,
    )


@dataclass(frozen=True, kw_only=True)
class MirrorDocument:
    """What one mirror has decided for all of its tables."""

    version: int = VERSION
    default_schema: str = "dbo"
    zone: Incarnation | None = None
    """The landing zone folder that the mirror knows; another one means an unmounted root."""
    confirmed_drops: tuple[str, ...] = ()
    """Folders that an operator allowed to drop although the brake had asked."""
