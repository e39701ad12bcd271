"""What an observation must read for a plan: how far, which files, whether the archive."""

from __future__ import annotations

from collections.abc import Iterator

from openmirror.plan.observed import ObservedState
from openmirror.plan.opening import Opening, is_of_this_incarnation, opening_of
from openmirror.plan.overwrites import overwrites
from openmirror.protocol.sequence import START, Position, Sequence, next_sequence
from openmirror.table.control import BatchKind, ManifestEntry
from openmirror.table.log import BrokenLog, TableLog


def reads_from(observed: ObservedState) -> Position:
    """The position behind which the next batch begins, and so the files to inspect."""
    return START if replaces(observed) else observed.applied


def replaces(observed: ObservedState) -> bool:
    """Whether the table's next batch makes it anew."""
    opening = None if isinstance(observed.log, BrokenLog) else opening_of(observed)
    return isinstance(opening, Opening) and opening.kind is BatchKind.REPLACE


def ends_at_limits(observed: ObservedState) -> bool:
    """Whether the next batch ends at its limits, whatever columns its files have.

    A table's first one goes on to the first file with a typed column. Not so where a ledger keeps
    the order: what was used before is only asked for as many names as a batch may have.
    """
    log = observed.log
    has_columns = isinstance(log, TableLog) and bool(log.schema.columns)
    return observed.naming.has_ledger or (has_columns and not replaces(observed))


def decided_files(observed: ObservedState) -> tuple[ManifestEntry, ...]:
    """Files of a decided batch that comes next: none once it is applied or given up."""
    opening = None if isinstance(observed.log, BrokenLog) else opening_of(observed)
    decided = opening.decided if isinstance(opening, Opening) else None
    return decided.files if decided else ()


def rereads(observed: ObservedState) -> bool:
    """Whether files are read that were applied before: by a new incarnation, or by a reseed."""
    until = observed.record.reseeding_until if observed.record else START
    return replaces(observed) or observed.applied < until


def needs_archive(observed: ObservedState) -> bool:
    """Whether a number is missing in the folder that the archive may hold, or may have come again.

    A cleanup pass that died after a move, or lost the race for the document, has written nothing
    down: only the archive shows that a number in the folder came again.
    """
    if observed.record is None:
        return False
    return rereads(observed) or any(overwrites(observed)) or any(_missing(observed))


def _missing(observed: ObservedState) -> Iterator[Sequence]:
    decided = observed.control.decided
    if decided is not None and observed.incarnation and is_of_this_incarnation(observed, decided):
        yield from (d.sequence for d in decided.files if d.sequence not in observed.files)
    after = reads_from(observed)
    following = next_sequence(after)
    if observed.record is not None and following <= observed.record.archived_through:
        yield following  # what lies in the folder under this number came again, if anything does
    elif following not in observed.files and (after < observed.applied or _ahead(observed, after)):
        yield following


def _ahead(observed: ObservedState, after: Position) -> bool:
    return any(sequence > after for sequence in observed.files)
