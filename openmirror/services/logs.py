"""The logs that a look reads: the table's own, that of a dropped life, that of a rival."""

from __future__ import annotations

from dataclasses import replace

from openmirror import layout
from openmirror.errors import NotThere
from openmirror.plan.look import Look
from openmirror.protocol.names import TableFolder, table_name
from openmirror.services.discovery import discover, landed_folders
from openmirror.services.mirrors import brake, default_schema
from openmirror.services.parts import Parts
from openmirror.services.standing import has_table
from openmirror.tablelog import BrokenLog, TableLog


def with_logs(parts: Parts, look: Look) -> Look:
    """The look with the table's log, or where there is none that of its dropped life."""
    log = parts.logs.read(look.table)
    aside = find_aside(parts, look) if log is None else None
    return replace(look, log=log, aside=aside)


def find_aside(parts: Parts, look: Look) -> TableLog | BrokenLog | None:
    """The log of the newest dropped life of this table, if one waits for its retention to end."""
    lives = layout.dropped_lives(look.folder.mirror, look.name)
    try:
        listing = parts.store.list_folder(lives)
    except NotThere:
        return None
    logs = [
        parts.logs.read(layout.join(lives, entry.name))
        for entry in listing.entries
        if entry.is_folder
    ]
    found = [log for log in logs if log is not None]
    return max(found, key=_newest_epoch, default=None)


def _newest_epoch(log: TableLog | BrokenLog) -> int:
    if isinstance(log, BrokenLog):
        return -1
    return max((epoch.number for epoch in log.epochs), default=0)


def with_mirror(parts: Parts, look: Look) -> Look:
    if look.incarnation is None:
        # The brake reads much, and never asks about a folder whose table is gone already.
        needs_yes = has_table(look.control) and look.folder in brake(parts, look.folder.mirror)
        return replace(look, drop_needs_yes=needs_yes)
    if look.log is None and look.aside is None:
        return replace(look, rival=find_rival(parts, look))
    return look


def find_rival(parts: Parts, look: Look) -> TableFolder | None:
    """Another folder that maps to the same table, and has it or comes before this one."""
    mirror = look.folder.mirror
    schema = default_schema(parts.store, mirror)
    rivals = [
        folder
        for folder in discover(parts.store, mirror)
        if folder != look.folder and table_name(folder.path, schema).folded == look.name.folded
    ]
    for rival in rivals:
        log = parts.logs.read(layout.delta_table(mirror, table_name(rival.path, schema)))
        if isinstance(log, TableLog) and rival in log.owners:
            return rival
    first = min((*(r for r in rivals if r in landed_folders(parts.store, mirror)), look.folder))
    return None if first == look.folder else first
