"""Landing zones that tests publish into, and what a mirror would make of them."""

from __future__ import annotations

import io
from collections.abc import Iterable
from datetime import UTC, datetime

import pyarrow.parquet as pq

from openmirror.errors import NotThere
from openmirror.ports import FileStore
from openmirror.protocol.marker_rules import MarkerRules
from openmirror.protocol.names import ROW_MARKER_COLUMN, fold_case
from openmirror.protocol.rows import Change, ChangeFile, Marker, Table, interpret
from openmirror.protocol.rules import Broken
from openmirror.protocol.sequence import ChangeFileName, parse_change_file
from openmirror.publishing import BatchLimits, Patience, Publisher, PublisherOptions
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import StorePath, join

ZONE = StorePath("landing/sales/Files/LandingZone")
ORDERS = join(ZONE, "dbo.schema", "orders")


def memory() -> MemoryStore:
    """An empty store whose clock stands still."""
    return MemoryStore(lambda: datetime(2026, 1, 1, tzinfo=UTC))


def publisher(store: FileStore, *, rows: int = 1_000_000) -> Publisher:
    """A publisher that flushes only when asked, and does not wait for a service that is away."""
    options = PublisherOptions(
        limits=BatchLimits(rows=rows, seconds=None), patience=Patience(seconds=0)
    )
    return Publisher.of_store(store, ZONE, options)


def numbers(store: FileStore, folder: StorePath = ORDERS) -> list[int]:
    """The numbers of the change files that lie in a folder."""
    try:
        entries = store.list_folder(folder).entries
    except NotThere:
        return []
    parsed = (parse_change_file(entry.name) for entry in entries)
    return sorted(int(name.sequence) for name in parsed if isinstance(name, ChangeFileName))


def change_file(data: bytes) -> ChangeFile:
    """A change file as the interpreter needs it."""
    table = pq.read_table(io.BytesIO(data))
    marker = next(
        (n for n in table.column_names if fold_case(n) == fold_case(ROW_MARKER_COLUMN)), ""
    )
    rules = MarkerRules(None, tuple(name for name in table.column_names if name != marker))
    changes = []
    for row in table.to_pylist():
        given = row.pop(marker, Marker.INSERT)
        read = rules.read(given, "")
        assert not isinstance(read, Broken), given
        values = {fold_case(name): value for name, value in row.items()}
        changes.append(Change(read.marker, values, read.absent))
    return ChangeFile(tuple(n for n in table.column_names if n != marker), changes)


def landed(store: FileStore, folder: StorePath = ORDERS) -> list[ChangeFile]:
    """What a mirror reads: every number once, the archive's file where there are two, no gap."""
    archive = join(folder, "_ProcessedFiles")
    found = {n: join(folder, f"{n:020d}.parquet") for n in numbers(store, folder)}
    found |= {n: join(archive, f"{n:020d}.parquet") for n in numbers(store, archive)}
    assert sorted(found) == list(range(1, len(found) + 1)), "a gap"
    return [change_file(store.read(found[n]).data) for n in sorted(found)]


def mirrored(store: FileStore, keys: Iterable[str] = ("id",), folder: StorePath = ORDERS) -> Table:
    """The table that a mirror makes of a folder."""
    return interpret(landed(store, folder), keys)


def archive_applied(store: FileStore, folder: StorePath = ORDERS) -> None:
    """What a mirror's cleanup does once everything is applied: all but the newest file moves."""
    for number in numbers(store, folder)[:-1]:
        name = f"{number:020d}.parquet"
        etag = store.read(join(folder, name), 0, 0).etag
        store.move_file(join(folder, name), join(folder, "_ProcessedFiles", name), etag)
