"""How far a named source has been published, and which rows of a batch are still to come.

A source counts its batches by positions: whole numbers, which are ordered, or texts, which are only
equal or not. A batch may be cut into several files, and a publisher may die between two of them.
What landed of it is counted in change rows, so that it can be cut differently when it comes again;
its rows must then come in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from openmirror.errors import OtherPublisher, WrongRequest
from openmirror.protocol.names import is_unicode

SourcePosition = int | str
"""A place in a source's own history: a log position, an offset, a token, a snapshot's name."""


@dataclass(frozen=True)
class CutBatch:
    """A batch of which a file holds the newest rows: file `k` of `n`."""

    position: SourcePosition
    k: int
    """Files of it that landed, this one included."""
    n: int | None
    """Files that it has in all; None until its last one has landed."""
    rows: int
    """Change rows of it that landed."""


@dataclass(frozen=True)
class SourceProgress:
    """What a footer says of one source."""

    position: SourcePosition | None = None
    """Of the last batch that landed whole; None before the first."""
    batch: CutBatch | None = None
    """The batch that the source's newest file has rows of; its last one where there are several."""
    file: str | None = None
    """The identity of the source's newest file."""

    @property
    def open(self) -> CutBatch | None:
        """The batch that landed in part, if there is one."""
        return self.batch if self.batch is not None and self.batch.n is None else None


NOTHING_YET = SourceProgress()
_MOST_TEXTS = 100_000
"""Texts that a writer remembers; the oldest are forgotten, so that it does not grow for ever."""


class BatchRows(Protocol):
    """Some change rows of one batch, in order."""

    @property
    def position(self) -> SourcePosition | None:
        """The batch; None for rows that no position speaks for."""
        ...

    @property
    def offset(self) -> int:
        """The place of the first row in its batch, counted from 0."""
        ...

    @property
    def count(self) -> int:
        """Rows."""
        ...

    @property
    def ends(self) -> bool:
        """Whether the batch has no more rows after these."""
        ...


class CuttableRows(BatchRows, Protocol):
    """The same where the first rows can be taken away."""

    def without_first(self: Rows, rows: int) -> Rows:
        """What is left behind the first rows."""
        ...


Rows = TypeVar("Rows", bound="CuttableRows")


def need_position(position: object) -> None:
    """Raise WrongRequest for what is no position, or cannot be written into a footer."""
    if isinstance(position, bool) or not isinstance(position, (int, str)):
        raise WrongRequest(f"position {position!r} is neither a whole number nor a text")
    if isinstance(position, str) and not is_unicode(position):
        raise WrongRequest(f"position {position!r} is no Unicode text (PROTOCOL §13.2)")


def still_to_land(
    source: str, waiting: Sequence[Rows], progress: SourceProgress, seen: SourceProgress
) -> list[Rows]:
    """What of these rows did not land yet, by the progress that the newest footer has.

    `seen` is the progress that the publisher knew when it took the rows. Raises OtherPublisher
    where it cannot be known: another process publishes the same source and is elsewhere in it.
    """
    known = [rows.position for rows in waiting if rows.position is not None]
    _need_same_order(source, known, progress)
    _need_known_text(source, known, progress, seen)
    landed_texts = _up_to(known, progress.position) if isinstance(progress.position, str) else ()
    left = []
    for rows in waiting:
        if rows.position is None:
            left.append(rows)
        elif not _has_landed(rows.position, progress.position, landed_texts):
            done = _landed_of(rows.position, progress) - rows.offset
            if done <= 0:
                left.append(rows)
            elif done < rows.count or rows.ends:
                left.append(rows.without_first(min(done, rows.count)))
    return left


def landed(progress: SourceProgress, rows: Sequence[BatchRows], file: str) -> SourceProgress:
    """The progress of a source after a file with these rows of it."""
    position, batch = progress.position, progress.batch
    for piece in rows:
        if piece.position is None:
            continue
        goes_on = batch is not None and batch.position == piece.position and batch.n is None
        if batch is None or not goes_on:
            batch, k = None, 1
        else:
            k = batch.k if batch is not progress.batch else batch.k + 1
        batch = CutBatch(piece.position, k, k if piece.ends else None, piece.offset + piece.count)
        if piece.ends:
            position = piece.position
    return SourceProgress(position, batch, file)


def need_no_step_back(source: str, progress: SourceProgress, seen: SourceProgress) -> None:
    """Raise OtherPublisher where the newest footer knows less of a source than was seen before.

    Then a file that was taken for landed is gone, and going on would hide that its rows are lost.
    Texts have no order: of them only that the source is not there at all is known to be less.
    """
    now, then = progress.position, seen.position
    is_less = seen.file is not None and progress.file is None
    if isinstance(now, int) and isinstance(then, int):
        is_less |= now < then
    elif now is None and then is not None:
        is_less = True
    if now == then and seen.open is not None:
        is_less |= _landed_of(seen.open.position, progress) < seen.open.rows
    if is_less:
        raise OtherPublisher(
            f"source {source!r}: {then!r} had landed, but the newest file's footer has {now!r}: a "
            "file of this table was taken away or written over. Open the table again, compare its "
            "position with the source, and go on behind it"
        )


def is_before(position: SourcePosition, done: SourcePosition | None) -> bool:
    """Whether a batch at this position landed before: a number not above, or the very text."""
    if isinstance(position, int) and isinstance(done, int):
        return position <= done
    return position == done


class AcceptedPositions:
    """The batches that a writer took whole, landed or waiting; it takes none of them again."""

    def __init__(self) -> None:
        self.last: SourcePosition | None = None
        """The highest number, or the newest text; None before the first."""
        self._texts: dict[str, None] = {}

    def add(self, position: SourcePosition) -> None:
        """A batch was given to its end."""
        if isinstance(position, str):
            self._texts[position] = None
            if len(self._texts) > _MOST_TEXTS:
                del self._texts[next(iter(self._texts))]
        if position not in self or isinstance(position, str):
            self.last = position

    def __contains__(self, position: SourcePosition) -> bool:
        return is_before(position, self.last) or position in self._texts


def _has_landed(
    position: SourcePosition, done: SourcePosition | None, texts: Sequence[SourcePosition]
) -> bool:
    return is_before(position, done) or position in texts


def _up_to(known: Sequence[SourcePosition], done: str) -> Sequence[SourcePosition]:
    """Texts have the order in which they were given."""
    last = max((i for i, position in enumerate(known) if position == done), default=-1)
    return known[: last + 1]


def _landed_of(position: SourcePosition, progress: SourceProgress) -> int:
    begun = progress.open
    return begun.rows if begun is not None and begun.position == position else 0


def _need_known_text(
    source: str,
    known: Sequence[SourcePosition],
    progress: SourceProgress,
    seen: SourceProgress,
) -> None:
    now = progress.position
    if known and isinstance(now, str) and now != seen.position and now not in known:
        raise OtherPublisher(
            f"source {source!r}: another process published it up to {now!r} meanwhile, and texts "
            "have no order: open the table again and go on behind its position"
        )


def _need_same_order(
    source: str, known: Sequence[SourcePosition], progress: SourceProgress
) -> None:
    begun = progress.open
    coming = [p for p in known if not is_before(p, progress.position)]
    if not coming or begun is None:
        return
    if begun.position not in known:
        raise OtherPublisher(
            f"source {source!r}: batch {begun.position!r} was begun, and {begun.rows} rows of it "
            f"landed, but {coming[0]!r} comes next: publish {begun.position!r} once more, from its "
            "first row, and then go on"
        )
