"""What a look must read before a plan can answer: how far, which files, whether the archive."""

from __future__ import annotations

from collections.abc import Iterator

from openmirror.control import BatchKind, FileDigest
from openmirror.plan.look import Look
from openmirror.plan.opening import Opening, is_of_this_life, opening_of
from openmirror.plan.table import applied_file_changed
from openmirror.protocol.sequence import START, Position, Sequence, next_sequence
from openmirror.tablelog import BrokenLog


def reads_from(look: Look) -> Position:
    """The position behind which the next batch begins: what a look must inspect."""
    return START if replaces(look) else look.applied


def replaces(look: Look) -> bool:
    """Whether the table's next batch makes it anew."""
    opening = None if isinstance(look.log, BrokenLog) else opening_of(look)
    return isinstance(opening, Opening) and opening.kind is BatchKind.REPLACE


def decided_files(look: Look) -> tuple[FileDigest, ...]:
    """Files of a decided batch that comes next: none once it is applied or given up."""
    opening = None if isinstance(look.log, BrokenLog) else opening_of(look)
    decided = opening.decided if isinstance(opening, Opening) else None
    return decided.files if decided else ()


def reads_again(look: Look) -> bool:
    """Whether files are read that were applied before: by a new life, or by a reseed."""
    until = look.life.reseeding_until if look.life else START
    return replaces(look) or look.applied < until


def needs_archive(look: Look) -> bool:
    """Whether a number is missing in the folder that the archive may hold, or may have come again.

    A cleanup pass that died after a move, or lost the race for the document, has written nothing
    down: only the archive tells that a number in the folder came again.
    """
    if look.life is None:
        return False
    return reads_again(look) or applied_file_changed(look) is not None or any(_missing(look))


def _missing(look: Look) -> Iterator[Sequence]:
    decided = look.control.decided
    if decided is not None and look.incarnation and is_of_this_life(look, decided):
        yield from (d.sequence for d in decided.files if d.sequence not in look.files)
    after = reads_from(look)
    following = next_sequence(after)
    if look.life is not None and following <= look.life.archived_through:
        yield following  # what lies in the folder under this number came again, if anything does
    elif following not in look.files and (after < look.applied or _ahead(look, after)):
        yield following


def _ahead(look: Look, after: Position) -> bool:
    return any(sequence > after for sequence in look.files)
