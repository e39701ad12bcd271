"""Ledgers in the control area: entries that are created once, and read when order is in doubt."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

from pydantic import TypeAdapter, ValidationError

from openmirror.errors import ConditionFailed, DocumentUnreadable, NotThere
from openmirror.plan import Batch
from openmirror.plan.naming import naming_of
from openmirror.ports import ABSENT, FileStore
from openmirror.protocol.names import Incarnation, TableFolder
from openmirror.table import layout
from openmirror.table.ledger import LedgerEntry


@cache
def _codec() -> TypeAdapter[LedgerEntry]:
    return TypeAdapter(LedgerEntry)


def write_entry(store: FileStore, batch: Batch) -> None:
    """Write a decided batch down, before its first commit; whoever comes second finds it there.

    Raises ConditionFailed when another batch is written there: the control document that decided
    it was lost, and the next look restores it from the ledger.
    """
    naming = naming_of(batch.frozen)
    if not naming.has_ledger:
        return
    epoch = batch.epoch
    path = layout.ledger_entry(batch.folder, epoch.incarnation, epoch.number, batch.last)
    files = batch.manifest.files
    entry = LedgerEntry(
        epoch=epoch.number,
        kind=batch.kind,
        naming=naming,
        first=batch.first,
        last=batch.last,
        files=files,
    )
    try:
        store.write(path, _codec().dump_json(entry, indent=1), ABSENT)
    except ConditionFailed:
        if _read(store, path).files != files:
            raise


def read_entries(
    store: FileStore, folder: TableFolder, incarnation: Incarnation
) -> list[LedgerEntry]:
    """Every entry of one life's ledger, by epoch and number; none where there is no ledger."""
    place = layout.ledger(folder, incarnation)
    try:
        epochs = store.list_folder(place).entries
    except NotThere:
        return []
    entries: list[LedgerEntry] = []
    for epoch in epochs:
        folder_of_epoch = layout.join(place, epoch.name)
        for entry in store.list_folder(folder_of_epoch).entries:
            with suppress(NotThere):  # another purge was faster
                entries.append(_read(store, layout.join(folder_of_epoch, entry.name)))
    return entries


def _read(store: FileStore, path: layout.StorePath) -> LedgerEntry:
    content = store.read(path)
    try:
        return _codec().validate_json(content.data)
    except ValidationError as error:
        raise DocumentUnreadable(f"{path} cannot be read: {error}") from error
