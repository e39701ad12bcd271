"""Ledger files: entries that are created once, and read only when order is in doubt."""

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
from openmirror.table.control import DecidedBatch
from openmirror.table.ledger import LedgerEntry


@cache
def _codec() -> TypeAdapter[LedgerEntry]:
    return TypeAdapter(LedgerEntry)


def write_entry(store: FileStore, batch: Batch, decided: DecidedBatch) -> None:
    """Write a decided batch's ledger entry before its first commit; a second writer finds it there.

    Does nothing for a table without a ledger. Raises ConditionFailed when the entry is there with
    other files: the control document that decided those was lost, and the next observation rebuilds
    it from the ledger.
    """
    naming = naming_of(batch.frozen)
    if not naming.has_ledger:
        return
    epoch = batch.epoch
    path = layout.ledger_entry(batch.folder, epoch.incarnation, epoch.number, batch.last)
    files = decided.files
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
    """Every entry of one incarnation's ledger, by epoch and number; none without a ledger."""
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
