"""The Delta logs that are observed: the table's own, that of a retained table, that of a rival."""

from __future__ import annotations

from dataclasses import replace

from openmirror.errors import NotThere
from openmirror.plan.observed import ObservedState
from openmirror.plan.opening import with_known_position
from openmirror.protocol.names import TableFolder, name_of
from openmirror.reconcile.discovery import discover, landed_folders
from openmirror.reconcile.known_tables import has_table
from openmirror.reconcile.mirrors import bulk_drop_guard, default_schema
from openmirror.reconcile.root_ports import RootPorts
from openmirror.table import layout
from openmirror.table.log import BrokenLog, TableLog


def with_logs(ports: RootPorts, observed: ObservedState) -> ObservedState:
    """The observed state with the table's log, or without one that of the retained table."""
    log = ports.logs.read(observed.table)
    if isinstance(log, TableLog):
        log = with_known_position(log, observed.control)
    drops = not observed.folder.is_history
    retained = find_retained(ports, observed) if log is None and drops else None
    return replace(observed, log=log, retained=retained)


def find_retained(ports: RootPorts, observed: ObservedState) -> TableLog | BrokenLog | None:
    """The log of this table's newest retained incarnation, if one was dropped and still kept."""
    records = layout.dropped_incarnations(observed.folder.mirror, observed.name)
    try:
        listing = ports.store.list_folder(records)
    except NotThere:
        return None
    logs = [
        ports.logs.read(layout.join(records, entry.name))
        for entry in listing.entries
        if entry.is_folder
    ]
    found = [log for log in logs if log is not None]
    return max(found, key=_newest_epoch, default=None)


def _newest_epoch(log: TableLog | BrokenLog) -> int:
    if isinstance(log, BrokenLog):
        return -1
    return max((epoch.number for epoch in log.epochs), default=0)


def with_mirror(ports: RootPorts, observed: ObservedState) -> ObservedState:
    """The observed state with what other folders of the mirror decide: bulk drops, a rival."""
    if observed.incarnation is None:
        if observed.folder.is_history:
            return observed
        # The bulk-drop guard reads much, and never holds back a folder whose table is gone.
        needs_yes = has_table(observed.control) and observed.folder in bulk_drop_guard(
            ports, observed.folder.mirror
        )
        return replace(observed, drop_needs_yes=needs_yes)
    if observed.log is None and observed.retained is None:
        return replace(observed, rival=find_rival(ports, observed))
    return observed


def find_rival(ports: RootPorts, observed: ObservedState) -> TableFolder | None:
    """Another folder that maps to the same table, and has it or comes before this one."""
    mirror = observed.folder.mirror
    schema = default_schema(ports.store, mirror)
    rivals = [
        folder
        for folder in discover(ports.store, mirror)
        if folder != observed.folder and name_of(folder, schema).folded == observed.name.folded
    ]
    for rival in rivals:
        log = ports.logs.read(layout.delta_table(mirror, name_of(rival, schema)))
        if isinstance(log, TableLog) and rival in log.owners:
            return rival
    landed = landed_folders(ports.store, mirror) if rivals else set()
    first = min((*(r for r in rivals if r.current in landed), observed.folder))
    return None if first == observed.folder else first
