"""Whether a table is known in the catalog, written down for status to show."""

from __future__ import annotations

from datetime import datetime

from openmirror.errors import ConditionFailed
from openmirror.plan.transitions.registered import registered
from openmirror.ports import ABSENT, FileStore
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.documents import Documents


def record_registration(
    store: FileStore, folder: TableFolder, failure: str | None, at: datetime
) -> None:
    """Write down why the catalog does not have a table; None once it has.

    Raises DocumentUnreadable. A lost race is left: a later commit records it.
    """
    documents = Documents(store)
    stored = documents.table(folder)
    changed = registered(stored.value, failure, at)
    if stored.etag is ABSENT or changed == stored.value:
        return
    try:
        documents.save_table(folder, changed, stored.etag)
    except ConditionFailed:
        return
