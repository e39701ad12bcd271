"""Which folders have a table in its place, without reading every control document each time."""

from __future__ import annotations

import threading

from openmirror.errors import DocumentUnreadable
from openmirror.ports import Absent
from openmirror.protocol.names import ETag, TableFolder
from openmirror.reconcile.documents import Documents
from openmirror.table.control import ControlDocument


def has_table(control: ControlDocument) -> bool:
    """Whether this folder has a table that is not dropped."""
    return control.applied is not None and control.dropped is None


class KnownTables:
    """What control documents said of this, by their ETags; safe to share between threads.

    The brake asks it of every table of a mirror, for each table whose folder is missing.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[TableFolder, tuple[ETag | Absent, bool]] = {}

    def holds(self, documents: Documents, folder: TableFolder, etag: ETag) -> bool:
        """Whether a folder has a table; `etag` is that of its document as it was listed."""
        with self._lock:
            known = self._known.get(folder)
        if known is not None and known[0] == etag:
            return known[1]
        try:
            stored = documents.table(folder)
        except DocumentUnreadable:
            return True  # to count one too many asks too often; a table is never dropped by it
        found = has_table(stored.value)
        with self._lock:
            self._known[folder] = (stored.etag, found)
        return found
