"""Finding mirrors and table folders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from openmirror.errors import NotThere
from openmirror.ports import Entry, FileStore, Listing
from openmirror.protocol.names import SCHEMA_SUFFIX, ETag, TableFolder, TablePath, is_reserved
from openmirror.table import layout
from openmirror.table.layout import StorePath


def mirrors(store: FileStore) -> list[str]:
    """Every mirror that has a landing zone; raises NotThere for a root without `landing`."""
    names = [e.name for e in _visible(store.list_folder(layout.LANDING)) if e.is_folder]
    return [name for name in names if store.incarnation(layout.landing_zone(name)) is not None]


def landed_folders(store: FileStore, mirror: str) -> set[TableFolder]:
    """Every table folder that lies in the landing zone (PROTOCOL §2.1).

    Raises NotThere when the zone cannot be listed: an unmounted zone is not an empty one.
    """
    return {folder for folder, _ in _landed(store, mirror)}


def _landed(store: FileStore, mirror: str) -> Iterator[tuple[TableFolder, ETag]]:
    zone = layout.landing_zone(mirror)
    return _tables(store, mirror, zone, lambda entry: entry.name if entry.is_folder else None)


def known_folders(store: FileStore, mirror: str) -> dict[TableFolder, ETag]:
    """Every folder that has a control document, landed or not, with the document's ETag."""
    try:
        return dict(_tables(store, mirror, layout.control_documents(mirror), _documented))
    except NotThere:
        return {}


def _documented(entry: Entry) -> str | None:
    return None if entry.is_folder else layout.table_of_document(entry.name)


def _tables(
    store: FileStore, mirror: str, folder: StorePath, table_of: Callable[[Entry], str | None]
) -> Iterator[tuple[TableFolder, ETag]]:
    """Tables directly in a folder, and in each `<schema>.schema` folder below it."""
    for entry in _visible(store.list_folder(folder)):
        schema = entry.name.removesuffix(SCHEMA_SUFFIX)
        if not (entry.is_folder and schema != entry.name):
            if table := table_of(entry):
                yield TableFolder(mirror, TablePath("", table)), entry.etag
        elif schema:
            try:
                inner = store.list_folder(layout.join(folder, entry.name))
            except NotThere:
                continue  # deleted since its parent was listed: so are its tables
            for child in _visible(inner):
                if table := table_of(child):
                    yield TableFolder(mirror, TablePath(schema, table)), child.etag


def discover(store: FileStore, mirror: str) -> list[TableFolder]:
    """Every table of a mirror, landed or remembered, by name."""
    return sorted(landed_folders(store, mirror) | known_folders(store, mirror).keys())


@dataclass(frozen=True)
class Traces:
    """What the listings of a mirror show of one table; a folder's ETag is not one of its files'."""

    folder: ETag | None
    """None while the table folder is not there."""
    document: ETag | None
    """Of its control document; None without one."""


def traces(store: FileStore, mirror: str) -> dict[TableFolder, Traces]:
    """Every table of a mirror, as `discover` finds them, and its traces; raises NotThere."""
    landed = dict(_landed(store, mirror))
    known = known_folders(store, mirror)
    return {f: Traces(landed.get(f), known.get(f)) for f in sorted(landed | known)}


def _visible(listing: Listing) -> list[Entry]:
    return [entry for entry in listing.entries if not is_reserved(entry.name)]
