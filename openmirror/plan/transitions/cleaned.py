"""A cleanup pass moved files away, deleted archived ones, or removed a dropped table."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from openmirror.plan.observed import ObservedState
from openmirror.plan.ordering import count
from openmirror.plan.transitions.incarnations import with_record
from openmirror.protocol.sequence import Sequence
from openmirror.table.control import Archived, ControlDocument, DecidedBatch, IncarnationRecord


@dataclass(frozen=True)
class CleanupPass:
    """What one pass has done to one table."""

    at: datetime
    moved: tuple[str, ...] = ()
    """Names of files that are in the archive now."""
    purged_through: int = 0
    """Archived files up to this number are gone; 0 for none."""
    dropped_removed: bool = False
    """Whether the retained table is gone."""


def cleaned(observed: ObservedState, done: CleanupPass) -> ControlDocument:
    """The document after a pass; an equal one where there is nothing to write down.

    It also takes in what a pass before did that died before it wrote that down: what is absent
    from a listing that was read last was moved. Between two epochs no record is touched.
    """
    control = observed.control
    if done.dropped_removed:
        control = replace(control, dropped=None)
    record = observed.record
    if record is None or observed.live is None:
        return control
    there = _left_in_folder(observed, done)
    after = replace(
        record,
        batches=tuple(batches_left(observed, record, there)),
        archived=hours_kept(_archived_now(observed, record, there, done), done.purged_through),
        partitions=partitions_counted(observed, record, there),
    )
    return control if after == record else with_record(control, after)


def batches_left(
    observed: ObservedState, record: IncarnationRecord, there: Container[str]
) -> Iterator[DecidedBatch]:
    """Batches that are not applied yet, or of which something is still in the folder."""
    for batch in record.batches:
        if batch.last > observed.applied:
            yield batch
        elif observed.naming.has_ledger:
            # A quiet partition keeps its newest file for long: not all that were decided with it.
            if files := tuple(manifest for manifest in batch.files if manifest.name in there):
                yield replace(batch, files=files)
        elif any(manifest.name in there for manifest in batch.files):
            yield batch


def partitions_counted(
    observed: ObservedState, record: IncarnationRecord, there: Container[str]
) -> dict[str, Sequence]:
    """How far each partition's own numbers went, where no file in the folder shows it any more."""
    counted = dict(record.partitions)
    if observed.naming.has_ledger:
        for manifest in record.applied_files(observed.applied):
            if manifest.name not in there:
                count(observed, manifest, counted)
    return counted


def archived_by(record: IncarnationRecord, through: int, at: datetime) -> tuple[Archived, ...]:
    """The hours with this number as the last of the present one, if it is the highest so far."""
    if through <= record.archived_through:
        return record.archived
    hour = at.replace(minute=0, second=0, microsecond=0)
    before = record.archived
    if before and before[-1].hour == hour:
        before = before[:-1]
    return (*before, Archived(hour, Sequence(through)))


def hours_kept(archived: tuple[Archived, ...], purged_through: int) -> tuple[Archived, ...]:
    """The hours of which something may still lie in the archive, and always the last of all.

    Its number stays known for good: by it a number that came again is recognised.
    """
    kept = tuple(item for item in archived if item.through > purged_through)
    return kept or archived[-1:]


def _left_in_folder(observed: ObservedState, done: CleanupPass) -> frozenset[str]:
    there = (file.name for file in observed.files.values() if not file.archived)
    return frozenset(there).difference(done.moved)


def _archived_now(
    observed: ObservedState, record: IncarnationRecord, there: Container[str], done: CleanupPass
) -> tuple[Archived, ...]:
    numbers = [file.sequence for file in observed.files.values() if file.name in done.moved]
    # Files that a pass moved before it died are counted with the first pass that misses them.
    numbers += [
        manifest.sequence
        for manifest in record.applied_files(observed.applied)
        if manifest.name not in there and manifest.sequence > record.archived_through
    ]
    # Of an adopted folder only the batch says how far it was applied.
    numbers += [
        Sequence(batch.last)
        for batch in record.batches
        if observed.naming.has_ledger and batch.last <= observed.applied
        if not any(manifest.name in there for manifest in batch.files)
    ]
    return archived_by(record, max(numbers, default=0), done.at)
