"""A cleanup pass moved files away, deleted archived ones, or removed a dropped table."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from openmirror.control import Archived, ControlDocument, DecidedBatch, Life
from openmirror.plan.look import Look
from openmirror.plan.numbering import count
from openmirror.plan.transitions.lives import with_life
from openmirror.protocol.sequence import Sequence


@dataclass(frozen=True)
class CleanupPass:
    """What one pass has done to one table."""

    at: datetime
    moved: tuple[str, ...] = ()
    """Names of files that are in the archive now."""
    purged_through: int = 0
    """Archived files up to this number are gone; 0 for none."""
    dropped_removed: bool = False
    """Whether the dropped table that lay aside is gone."""


def cleaned(look: Look, done: CleanupPass) -> ControlDocument:
    """The document after a pass; an equal one where there is nothing to write down.

    It also takes in what a pass before did that died before it wrote that down: what is absent
    from a listing that was read last was moved. Between two epochs nothing of a life is touched.
    """
    control = look.control
    if done.dropped_removed:
        control = replace(control, dropped=None)
    life = look.life
    if life is None or look.live is None:
        return control
    there = _left_in_folder(look, done)
    after = replace(
        life,
        batches=tuple(batches_left(look, life, there)),
        archived=hours_kept(_archived_now(look, life, there, done), done.purged_through),
        partitions=partitions_counted(look, life, there),
    )
    return control if after == life else with_life(control, after)


def batches_left(look: Look, life: Life, there: Container[str]) -> Iterator[DecidedBatch]:
    """Batches that are not applied yet, or of which something is still in the folder."""
    for batch in life.batches:
        if batch.last > look.applied:
            yield batch
        elif look.filing.has_ledger:
            # A quiet partition keeps its newest file for long: not all that were decided with it.
            if files := tuple(digest for digest in batch.files if digest.name in there):
                yield replace(batch, files=files)
        elif any(digest.name in there for digest in batch.files):
            yield batch


def partitions_counted(look: Look, life: Life, there: Container[str]) -> dict[str, Sequence]:
    """How far each partition's own numbers went that no file in the folder tells any more."""
    counted = dict(life.partitions)
    if look.filing.has_ledger:
        for digest in life.applied_files(look.applied):
            if digest.name not in there:
                count(look, digest, counted)
    return counted


def archived_by(life: Life, through: int, at: datetime) -> tuple[Archived, ...]:
    """The hours with this number as the last of the present one, if it is the highest so far."""
    if through <= life.archived_through:
        return life.archived
    hour = at.replace(minute=0, second=0, microsecond=0)
    before = life.archived
    if before and before[-1].hour == hour:
        before = before[:-1]
    return (*before, Archived(hour, Sequence(through)))


def hours_kept(archived: tuple[Archived, ...], purged_through: int) -> tuple[Archived, ...]:
    """The hours of which something may still lie in the archive, and always the last of all.

    Its number stays known for good: it tells a number that came again.
    """
    kept = tuple(item for item in archived if item.through > purged_through)
    return kept or archived[-1:]


def _left_in_folder(look: Look, done: CleanupPass) -> frozenset[str]:
    there = (file.name for file in look.files.values() if not file.archived)
    return frozenset(there).difference(done.moved)


def _archived_now(
    look: Look, life: Life, there: Container[str], done: CleanupPass
) -> tuple[Archived, ...]:
    numbers = [file.sequence for file in look.files.values() if file.name in done.moved]
    # Files that a pass moved before it died are counted with the first pass that misses them.
    numbers += [
        digest.sequence
        for digest in life.applied_files(look.applied)
        if digest.name not in there and digest.sequence > life.archived_through
    ]
    # Of an adopted folder only the batch says how far it was applied.
    numbers += [
        Sequence(batch.last)
        for batch in life.batches
        if look.filing.has_ledger and batch.last <= look.applied
        if not any(digest.name in there for digest in batch.files)
    ]
    return archived_by(life, max(numbers, default=0), done.at)
