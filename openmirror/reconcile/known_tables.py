"""Which folders have a table that is not dropped, cached by their control documents' ETags."""

from __future__ import annotations

import threading

from openmirror.errors import AccessDenied, DocumentUnreadable
from openmirror.ports import Absent
from openmirror.protocol.names import ETag, TableFolder
from openmirror.reconcile.documents import Documents
from openmirror.table.control import ControlDocument


def has_table(control: ControlDocument) -> bool:
    """Whether this folder has a table that is not dropped."""
    return control.applied is not None and control.dropped is None


class KnownTables:
    """Whether each folder has a table, by its control document's ETag; safe between threads.

    The bulk-drop guard asks it of every table of a mirror, for each table whose folder is missing.
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
        except (AccessDenied, DocumentUnreadable):
            return True  # one too many only asks a person too often; it drops nothing
        found = has_table(stored.value)
        with self._lock:
            self._known[folder] = (stored.etag, found)
        return found
