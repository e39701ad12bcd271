"""Finding mirrors and table folders."""

from __future__ import annotations

from openmirror import layout
from openmirror.errors import NotThere
from openmirror.layout import StorePath
from openmirror.ports import FileStore
from openmirror.protocol.names import SCHEMA_SUFFIX, TableFolder, TablePath, is_reserved


def mirrors(store: FileStore) -> list[str]:
    """Every mirror that has a landing zone; raises NotThere for a root without `landing`."""
    names = _folders(store, layout.LANDING)
    return [name for name in names if store.incarnation(layout.landing_zone(name)) is not None]


def landed_folders(store: FileStore, mirror: str) -> set[TableFolder]:
    """Every table folder that lies in the landing zone (PROTOCOL §2.1).

    Raises NotThere when the zone cannot be listed: an unmounted zone is not an empty one.
    """
    zone = layout.landing_zone(mirror)
    found: set[TableFolder] = set()
    for name in _folders(store, zone):
        schema = name.removesuffix(SCHEMA_SUFFIX)
        if schema == name:
            found.add(TableFolder(mirror, TablePath("", name)))
        elif schema:
            found |= _tables_of_schema(store, mirror, schema)
    return found


def _tables_of_schema(store: FileStore, mirror: str, schema: str) -> set[TableFolder]:
    folder = layout.join(layout.landing_zone(mirror), schema + SCHEMA_SUFFIX)
    try:
        return {TableFolder(mirror, TablePath(schema, table)) for table in _folders(store, folder)}
    except NotThere:
        return set()  # deleted since the zone was listed: so are its tables


def known_folders(store: FileStore, mirror: str) -> set[TableFolder]:
    """Every folder that has a control document, landed or not."""
    try:
        listing = store.list_folder(layout.control_documents(mirror))
    except NotThere:
        return set()
    found = (layout.folder_of_document(mirror, entry.name) for entry in listing.entries)
    return {folder for folder in found if folder is not None}


def discover(store: FileStore, mirror: str) -> list[TableFolder]:
    """Every table of a mirror, landed or remembered, by name."""
    return sorted(landed_folders(store, mirror) | known_folders(store, mirror))


def _folders(store: FileStore, folder: StorePath) -> list[str]:
    return [
        entry.name
        for entry in store.list_folder(folder).entries
        if entry.is_folder and not is_reserved(entry.name)
    ]
