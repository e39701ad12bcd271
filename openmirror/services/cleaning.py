"""One cleanup pass: applied files to the archive, old archives and old dropped tables away."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from openmirror import layout
from openmirror.errors import AlreadyThere, ConditionFailed, NotThere
from openmirror.layout import StorePath
from openmirror.plan.cleanup import Cleanup, expired_drop, plan_cleanup
from openmirror.plan.look import Look
from openmirror.plan.transitions.cleaned import CleanupPass, cleaned
from openmirror.ports import Step
from openmirror.progress import TableCleaned
from openmirror.protocol.names import TableFolder
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
    expired = expired_drop(look, now)
    if dry_run:
        names = tuple(file.name for file in planned.moves)
        return Cleaned(folder, names, tuple(layout.name_of(path) for path in purge), bool(expired))
    moved = _move(parts, look, planned)
    for path in purge:
        _delete(parts, path)
    if expired:
        _delete_folder(parts, expired)
    control = cleaned(look, CleanupPass(now, moved, planned.purge_through, expired is not None))
    if control != look.control:
        # A lost race costs nothing: the next pass finds the files gone and writes it down then.
        with suppress(ConditionFailed):
            Documents(parts.store).save_table(folder, control, seen.etag)
    done = Cleaned(
        folder, moved, tuple(layout.name_of(path) for path in purge), expired is not None
    )
    if done:
        parts.emit(
            TableCleaned(
                folder,
                archived=len(moved),
                purged=len(purge),
                dropped_table_deleted=done.dropped_removed,
            )
        )
    return done


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


def _delete(parts: Parts, path: StorePath) -> None:
    with suppress(NotThere):  # publishers may empty the archive themselves
        parts.store.delete_file(path)


def _delete_folder(parts: Parts, folder: StorePath) -> None:
    with suppress(NotThere):
        parts.store.delete_folder(folder)
