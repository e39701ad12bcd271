"""Dropping a table whose folder is gone, and bringing it back (INTERNALS §3)."""

from __future__ import annotations

from openmirror.errors import AlreadyThere, NotThere
from openmirror.plan.decisions import Restore
from openmirror.plan.transitions.dropped import dropped
from openmirror.plan.transitions.restored import restored
from openmirror.ports import Step, TableEngine
from openmirror.progress.tables import TableDropped, TableRestored
from openmirror.protocol.names import Incarnation
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.emit import emit_removed
from openmirror.reconcile.epochs import fence_others
from openmirror.reconcile.mirrors import take_confirmation
from openmirror.reconcile.reads import Observation
from openmirror.reconcile.root_ports import RootPorts
from openmirror.table import layout
from openmirror.table.layout import StorePath
from openmirror.table.log import TableLog


def drop_table(ports: RootPorts, engine: TableEngine, seen: Observation) -> None:
    """Fence every epoch that was ever decided, then move the table with its log to be retained.

    The fences come first: a runner that still holds a batch of this table can then not finish it,
    at either path. An epoch that was decided and has not committed yet is fenced too, or its
    replace could land just before the move.
    """
    observed = seen.observed
    if not fence_others(ports, engine, observed.table, observed.control, None, None):
        return
    ports.steps(Step.DROP_FENCED)
    if ports.store.incarnation(layout.table_folder(observed.folder)) is not None:
        return
    record, now = _last_record(observed.log), ports.clock()
    emit_removed(ports, observed, record, now)
    control = dropped(observed.control, record, now)
    Documents(ports.store).save_table(observed.folder, control, seen.etag)
    destination = layout.dropped_table(observed.folder.mirror, observed.name, record)
    try:
        ports.store.move_folder(observed.table, destination)
    except NotThere:
        return  # another runner moved it; the next observation shows the result
    except AlreadyThere:
        # A stalled runner's log of the same incarnation: keep both, the second named by its epoch.
        destination = StorePath(f"{destination}.{observed.control.epoch}")
        ports.store.move_folder(observed.table, destination)
    ports.steps(Step.DROPPED)
    take_confirmation(ports.store, observed.folder)
    ports.emit(TableDropped(observed.folder, destination))


def _last_record(log: object) -> Incarnation:
    assert isinstance(log, TableLog)  # plan drops only a table whose log it could read
    newest = max(log.epochs, key=lambda epoch: epoch.number)
    return newest.incarnation


def restore_table(ports: RootPorts, seen: Observation, decision: Restore) -> None:
    """Move a retained table back; the next reconciliation replaces or continues it there.

    An operator's `undrop` holds the table in the same step, or the missing folder would drop it
    again.
    """
    observed = seen.observed
    control = restored(observed.control, ports.clock(), hold=decision.hold)
    try:
        ports.store.move_folder(decision.retained, observed.table)
    except NotThere:
        return
    except AlreadyThere:
        if ports.logs.read(observed.table) is not None:
            return  # somebody else was quicker
        # A writer that was too late makes the folder again; asked at once, it would be so for ever.
        raise AlreadyThere(
            f"{observed.table} is a folder without a table, where {decision.retained} is to come "
            "back: move it away"
        ) from None
    if control != observed.control:
        Documents(ports.store).save_table(observed.folder, control, seen.etag)
    ports.emit(TableRestored(observed.folder, held=decision.hold))
