"""Dropping a table whose folder is gone, and bringing it back (ARCHITECTURE §6)."""

from __future__ import annotations

from openmirror import layout
from openmirror.errors import AlreadyThere, NotThere
from openmirror.layout import StorePath
from openmirror.plan.decisions import Restore
from openmirror.plan.transitions.dropped import dropped
from openmirror.plan.transitions.restored import restored
from openmirror.ports import Step, TableEngine
from openmirror.progress import TableDropped, TableRestored
from openmirror.protocol.names import Incarnation
from openmirror.services.documents import Documents
from openmirror.services.epochs import fence_others
from openmirror.services.looking import Seen
from openmirror.services.mirrors import take_confirmation
from openmirror.services.parts import Parts
from openmirror.services.telling import tell_removed
from openmirror.tablelog import TableLog


def drop_table(parts: Parts, engine: TableEngine, seen: Seen) -> None:
    """Fence every epoch that was ever decided, then move the table aside with its log.

    The fences come first: a runner that still holds a batch of this table can then not finish it,
    here or aside. One that was decided and has not committed yet is fenced too, or its replace
    could land just before the move.
    """
    look = seen.look
    if not fence_others(parts, engine, look.table, look.control, None, None):
        return
    parts.steps(Step.DROP_FENCED)
    if parts.store.incarnation(layout.table_folder(look.folder)) is not None:
        return
    life, now = _last_life(look.log), parts.clock()
    tell_removed(parts, look, life, now)
    control = dropped(look.control, life, now)
    Documents(parts.store).save_table(look.folder, control, seen.etag)
    destination = layout.dropped_table(look.folder.mirror, look.name, life)
    try:
        parts.store.move_folder(look.table, destination)
    except NotThere:
        return  # another runner moved it; the next look says how things stand
    except AlreadyThere:
        # A stalled runner's log of the same life: keep both, under the epoch that tells them apart.
        destination = StorePath(f"{destination}.{look.control.epoch}")
        parts.store.move_folder(look.table, destination)
    parts.steps(Step.DROPPED)
    take_confirmation(parts.store, look.folder)
    parts.emit(TableDropped(look.folder, destination))


def _last_life(log: object) -> Incarnation:
    assert isinstance(log, TableLog)  # plan drops only a table whose log it could read
    newest = max(log.epochs, key=lambda epoch: epoch.number)
    return newest.incarnation


def restore_table(parts: Parts, seen: Seen, decision: Restore) -> None:
    """Move a dropped table back to its place; the next look replaces or continues it there.

    An operator's `undrop` holds the table in the same step, or the missing folder would drop it
    again.
    """
    look = seen.look
    control = restored(look.control, parts.clock(), hold=decision.hold)
    try:
        parts.store.move_folder(decision.aside, look.table)
    except (NotThere, AlreadyThere):
        return
    if control != look.control:
        Documents(parts.store).save_table(look.folder, control, seen.etag)
    parts.emit(TableRestored(look.folder, held=decision.hold))
