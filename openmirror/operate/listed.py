"""What lies in a folder, for those who only report: one that cannot be listed is none to them."""

from __future__ import annotations

from openmirror.errors import is_of_one_place
from openmirror.ports import Entry, FileStore
from openmirror.table.layout import StorePath


def listed(store: FileStore, folder: StorePath) -> tuple[Entry, ...]:
    """What lies there; nothing where it cannot be listed, which its table or zone shows."""
    try:
        return tuple(store.list_folder(folder).entries)
    except Exception as error:
        if not is_of_one_place(error):
            raise
        return ()
