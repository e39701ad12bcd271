"""One cleanup pass: applied files to the archive, old archives and old dropped tables away."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from openmirror.errors import AlreadyThere, ConditionFailed, NotThere
from openmirror.plan.cleanup import Cleanup, expired_drop, plan_cleanup
from openmirror.plan.history import is_wanted, kept_through
from openmirror.plan.observed import ObservedState
from openmirror.plan.rules import frozen_rules
from openmirror.plan.transitions.cleaned import CleanupPass, cleaned
from openmirror.ports import Step
from openmirror.progress.tables import TableCleaned
from openmirror.protocol.names import TableFolder, name_of
from openmirror.protocol.sequence import Position
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.mirrors import default_schema
from openmirror.reconcile.observing import observe
from openmirror.reconcile.purge import archived_through
from openmirror.reconcile.root_ports import RootPorts
from openmirror.table import layout
from openmirror.table.layout import StorePath


@dataclass(frozen=True)
class Cleaned:
    """What a pass did, or would do."""

    folder: TableFolder
    moved: tuple[str, ...] = ()
    purged: tuple[str, ...] = ()
    dropped_removed: bool = False

    def __bool__(self) -> bool:
        return bool(self.moved or self.purged or self.dropped_removed)


def clean_table(ports: RootPorts, folder: TableFolder, *, dry_run: bool = False) -> Cleaned:
    """Clean one table; with `dry_run` only return what would be done.

    Raises NotThere when the landing zone cannot be listed.
    """
    seen = observe(ports, folder, listing_last=True)
    observed = seen.observed
    now = observed.at
    planned = plan_cleanup(observed, now, _kept_from(ports, observed))
    # The archive is one, and the current table's.
    purge_through = 0 if folder.is_history else planned.purge_through
    purge = tuple(archived_through(ports, observed, purge_through))
    expired = expired_drop(observed, now)
    if dry_run:
        names = tuple(file.name for file in planned.moves)
        return Cleaned(folder, names, tuple(layout.name_of(path) for path in purge), bool(expired))
    moved = _move(ports, observed, planned)
    for path in purge:
        _delete(ports, path)
    if expired:
        _delete_folder(ports, expired)
    control = cleaned(observed, CleanupPass(now, moved, planned.purge_through, expired is not None))
    if control != observed.control:
        # A lost race costs nothing: the next pass finds the files gone and writes it down then.
        with suppress(ConditionFailed):
            Documents(ports.store).save_table(folder, control, seen.etag)
    done = Cleaned(
        folder, moved, tuple(layout.name_of(path) for path in purge), expired is not None
    )
    if done:
        ports.emit(
            TableCleaned(
                folder,
                archived=len(moved),
                purged=len(purge),
                dropped_table_deleted=done.dropped_removed,
            )
        )
    return done


def _kept_from(ports: RootPorts, observed: ObservedState) -> Position | None:
    """Behind which position files stay for the table's history; None where it needs none."""
    if observed.folder.is_history or not is_wanted(observed.policy):
        return None
    schema = default_schema(ports.store, observed.folder.mirror)
    name = name_of(observed.folder.history, schema)
    log = ports.logs.read(layout.delta_table(observed.folder.mirror, name))
    return kept_through(observed, frozen_rules(observed), log)


def _move(ports: RootPorts, observed: ObservedState, planned: Cleanup) -> tuple[str, ...]:
    """Move oldest first, and stop at the first file that is not as planned."""
    archive = layout.archive_folder(observed.folder)
    moved: list[str] = []
    for file in planned.moves:
        if not _is_same_incarnation(ports, observed):
            break
        try:
            to = layout.join(archive, *file.name.split("/"))
            ports.store.move_file(file.path, to, file.etag)
        except (ConditionFailed, AlreadyThere, NotThere):
            break
        moved.append(file.name)
        ports.steps(Step.MOVED)
    return tuple(moved)


def _is_same_incarnation(ports: RootPorts, observed: ObservedState) -> bool:
    return ports.store.incarnation(layout.table_folder(observed.folder)) == observed.incarnation


def _delete(ports: RootPorts, path: StorePath) -> None:
    with suppress(NotThere):  # publishers may empty the archive themselves
        ports.store.delete_file(path)


def _delete_folder(ports: RootPorts, folder: StorePath) -> None:
    with suppress(NotThere):
        ports.store.delete_folder(folder)
