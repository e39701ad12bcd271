"""One cleanup pass: applied files to the archive, old archives and old dropped tables away."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from openmirror import layout
from openmirror.control import Archived, ControlDocument, DecidedBatch, Life, with_life
from openmirror.errors import AlreadyThere, ConditionFailed, NotThere
from openmirror.layout import StorePath
from openmirror.plan.cleanup import Cleanup, plan_cleanup
from openmirror.plan.look import Look, TablePolicy
from openmirror.plan.numbering import count
from openmirror.ports import Progress, Step
from openmirror.protocol.names import TableFolder
from openmirror.protocol.sequence import Sequence
from openmirror.services.documents import Documents
from openmirror.services.looking import look_at
from openmirror.services.parts import Parts
from openmirror.services.purging import archived_through


@dataclass(frozen=True)
class Cleaned:
    """What a pass did, or would do."""

    folder: TableFolder
    moved: tuple[str, ...] = ()
    purged: tuple[str, ...] = ()
    dropped_removed: bool = False

    def __bool__(self) -> bool:
        return bool(self.moved or self.purged or self.dropped_removed)


def clean_table(parts: Parts, folder: TableFolder, *, dry_run: bool = False) -> Cleaned:
    """Clean one table; with `dry_run` say what would go, and touch nothing.

    Raises NotThere when the landing zone cannot be listed.
    """
    seen = look_at(parts, folder, listing_last=True)
    look = seen.look
    now = look.at
    planned = plan_cleanup(look, now)
    purge = tuple(archived_through(parts, look, planned.purge_through))
    expired = _expired_drop(look, now)
    if dry_run:
        names = tuple(file.name for file in planned.moves)
        return Cleaned(folder, names, tuple(layout.name_of(path) for path in purge), bool(expired))
    moved = _move(parts, look, planned)
    for path in purge:
        _delete(parts, path)
    if expired:
        _delete_folder(parts, expired)
    control = _after(look, moved, planned, now, removed=expired is not None)
    if control != look.control:
        # A lost race costs nothing: the next pass finds the files gone and writes it down then.
        with suppress(ConditionFailed):
            Documents(parts.store).save_table(folder, control, seen.etag)
    cleaned = Cleaned(
        folder, moved, tuple(layout.name_of(path) for path in purge), expired is not None
    )
    if cleaned:
        parts.watch(Progress(folder, "cleaned", {"moved": len(moved), "purged": len(purge)}))
    return cleaned


def _move(parts: Parts, look: Look, planned: Cleanup) -> tuple[str, ...]:
    """Move oldest first, and stop at the first file that is not as planned."""
    archive = layout.archive_folder(look.folder)
    moved: list[str] = []
    for file in planned.moves:
        if not _is_same_life(parts, look):
            break
        try:
            to = layout.join(archive, *file.name.split("/"))
            parts.store.move_file(file.path, to, file.etag)
        except (ConditionFailed, AlreadyThere, NotThere):
            break
        moved.append(file.name)
        parts.steps(Step.MOVED)
    return tuple(moved)


def _is_same_life(parts: Parts, look: Look) -> bool:
    return parts.store.incarnation(layout.table_folder(look.folder)) == look.incarnation


def _expired_drop(look: Look, now: datetime) -> StorePath | None:
    """A dropped table whose retention has ended, while nobody has asked for it back."""
    dropped = look.control.dropped
    if dropped is None or look.aside is None or look.incarnation or look.control.request:
        return None
    policy = look.policy if isinstance(look.policy, TablePolicy) else None
    ended = policy is not None and dropped.at + policy.retention <= now
    return look.aside.path if ended else None


def _after(
    look: Look, moved: tuple[str, ...], planned: Cleanup, now: datetime, *, removed: bool
) -> ControlDocument:
    control = replace(look.control, dropped=None) if removed else look.control
    if look.life is None or look.live is None:
        return control
    life = _with_archived(look.life, look, moved, now)
    kept = tuple(item for item in life.archived if item.through > planned.purge_through)
    # The highest number stays known for good: it tells a number that came again.
    life = replace(life, archived=kept or life.archived[-1:])
    return control if life == look.life else with_life(control, life)


def _with_archived(life: Life, look: Look, moved: tuple[str, ...], now: datetime) -> Life:
    there = {f.name: f for f in look.files.values() if not f.archived and f.name not in moved}
    batches = tuple(_left(look, life, there))
    hour = now.replace(minute=0, second=0, microsecond=0)
    numbers = [f.sequence for f in look.files.values() if f.name in moved]
    # Files that a pass moved before it died are counted with the first pass that misses them.
    gone = [
        digest.sequence
        for digest in life.applied_files(look.applied)
        if digest.name not in there and digest.sequence > life.archived_through
    ]
    # Of an adopted folder only the batch says how far it was applied.
    gone += [
        Sequence(batch.last)
        for batch in life.batches
        if look.filing.has_ledger and batch.last <= look.applied and batch not in batches
        if not any(digest.name in there for digest in batch.files)
    ]
    partitions = _partitions_without(look, life, there)
    through = max((*numbers, *gone), default=0)
    archived = life.archived
    if through > life.archived_through:
        if archived and archived[-1].hour == hour:
            archived = archived[:-1]
        archived = (*archived, Archived(hour, Sequence(through)))
    return replace(life, batches=batches, archived=archived, partitions=partitions)


def _left(look: Look, life: Life, there: Container[str]) -> Iterator[DecidedBatch]:
    """Batches of which something is still in the folder."""
    for batch in life.batches:
        if batch.last > look.applied:
            yield batch
        elif look.filing.has_ledger:
            # A quiet partition keeps its newest file for long: not all that were decided with it.
            if files := tuple(digest for digest in batch.files if digest.name in there):
                yield replace(batch, files=files)
        elif any(digest.name in there for digest in batch.files):
            yield batch


def _partitions_without(look: Look, life: Life, there: Container[str]) -> dict[str, Sequence]:
    """How far each partition's own numbers went that no file in the folder tells any more."""
    counted = dict(life.partitions)
    if look.filing.has_ledger:
        for digest in life.applied_files(look.applied):
            if digest.name not in there:
                count(look, digest, counted)
    return counted


def _delete(parts: Parts, path: StorePath) -> None:
    with suppress(NotThere):  # publishers may empty the archive themselves
        parts.store.delete_file(path)


def _delete_folder(parts: Parts, folder: StorePath) -> None:
    with suppress(NotThere):
        parts.store.delete_folder(folder)
