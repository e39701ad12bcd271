"""Reads what lies in a landing zone, as evidence: by the rules that a mirror has for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import groupby

from openmirror.conformance.evidence import TableContents, ZoneContents
from openmirror.conformance.retracing import is_staged
from openmirror.errors import is_of_one_place
from openmirror.operate.mirror_notes import not_applied, partner_of
from openmirror.operate.validate import FolderFinding, examine_folder
from openmirror.plan import Limits, ObservedState
from openmirror.ports import Entry, FileStore, Inspector, RowReader
from openmirror.protocol.names import (
    METADATA_FILE,
    PARTNER_EVENTS_FILE,
    TableFolder,
    TablePath,
    name_refused,
    table_name,
)
from openmirror.reconcile.discovery import landed_folders
from openmirror.table import layout

Known = Callable[[TableFolder], ObservedState | FolderFinding | None]
"""What the mirror of a table folder observes of it; None where none was ever at work on it."""


def nobody_knows(folder: TableFolder) -> None:
    """The zone of a publisher that no mirror of this machine has."""


def read_zone(
    store: FileStore,
    inspector: Inspector,
    rows: RowReader,
    mirror: str,
    limits: Limits,
    known: Known = nobody_knows,
) -> ZoneContents:
    """Everything in the landing zone of this mirror; reads only.

    Raises NotThere when the zone cannot be listed.
    """
    tables = [
        _table(store, inspector, rows, folder, limits, known(folder))
        for folder in sorted(landed_folders(store, mirror))
    ]
    zone = layout.landing_zone(mirror)
    listed = {entry.name for entry in store.list_folder(zone).entries}
    refused = [(table.path, name_refused(table.path)) for table in tables]
    return ZoneContents(
        name=mirror,
        tables=tuple(tables),
        misplaced=tuple(
            ((warn.file or "").removeprefix(f"{zone}/"), warn.detail)
            for warn in not_applied(store, mirror)
        ),
        refused_names=tuple((str(path), why) for path, why in refused if why is not None),
        has_partner_events=PARTNER_EVENTS_FILE in listed,
        partner=partner_of(store, mirror),
    )


def collisions(zone: ZoneContents, default_schema: str) -> Iterator[tuple[TablePath, ...]]:
    """Table folders that map to one table (PROTOCOL §2.2)."""

    def name(path: TablePath) -> str:
        return str(table_name(path, default_schema).folded)

    paths = sorted((table.path for table in zone.tables), key=name)
    for _, same in groupby(paths, key=name):
        found = tuple(sorted(same))
        if len(found) > 1:
            yield found


def _table(
    store: FileStore,
    inspector: Inspector,
    rows: RowReader,
    folder: TableFolder,
    limits: Limits,
    seen: ObservedState | FolderFinding | None,
) -> TableContents:
    place = layout.table_folder(folder)
    listing = store.list_folder(place)
    observed = seen if isinstance(seen, ObservedState) else None
    examined = examine_folder(store, inspector, rows, place, limits, observed)
    unreadable = (seen,) if isinstance(seen, FolderFinding) else ()
    return TableContents(
        path=folder.path,
        metadata=examined.metadata,
        metadata_written=_written(listing.entries, METADATA_FILE),
        findings=(*unreadable, *examined.findings),
        files=examined.files,
        archived=examined.archived or (),
        staged=tuple(_staged(store, place, listing.entries)),
        has_partner_events=_written(listing.entries, PARTNER_EVENTS_FILE) is not None,
    )


def _written(entries: tuple[Entry, ...], name: str) -> datetime | None:
    found = (entry.modified for entry in entries if entry.name == name and not entry.is_folder)
    return next(found, None)


def _staged(store: FileStore, place: layout.StorePath, entries: tuple[Entry, ...]) -> Iterator[str]:
    """Data that was staged in the folder, or one folder further down."""
    for entry in entries:
        path = layout.join(place, entry.name)
        if not entry.is_folder:
            if is_staged(path):
                yield entry.name
        elif is_staged(layout.join(path, "1.parquet")):
            try:
                below = store.list_folder(path).entries
            except Exception as error:
                if not is_of_one_place(error):
                    raise
                continue  # it has just gone, or is nobody's to see
            yield from (f"{entry.name}/{one.name}" for one in below if not one.is_folder)
