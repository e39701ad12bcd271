"""A landing zone in memory that snapshots are published into, and the table that comes of it."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from openmirror.ports import FileStore
from openmirror.protocol.names import fold_case
from openmirror.protocol.rows import Change, ChangeFile, Marker, Table, interpret
from openmirror.protocol.schema import TableSchema
from openmirror.publishing.buffer import BatchLimits
from openmirror.publishing.newest import change_files
from openmirror.publishing.patience import Patience
from openmirror.publishing.publisher import Publisher, PublisherOptions
from openmirror.publishing.reading import OpenInput
from openmirror.publishing.reading.parquet import open_parquet
from openmirror.publishing.snapshots import (
    Doubt,
    Resources,
    SnapshotOutcome,
    SnapshotRun,
    SnapshotTable,
    Spool,
    publish_snapshot,
    spool,
)
from openmirror.publishing.snapshots.grouping import GroupLimits
from openmirror.publishing.snapshots.table import SOURCE
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import StorePath, join

ZONE = StorePath("landing/m/Files/LandingZone")
FOLDER = join(ZONE, "t")
RESOURCES = Resources(64 << 20, 1)


def memory_store() -> MemoryStore:
    """A store whose clock stands still."""
    return MemoryStore(lambda: datetime(2026, 11, 22, tzinfo=UTC))


def reader(rows: pa.Table, temp: Path) -> Callable[[TableSchema], Spool]:
    """Reads a snapshot out of a Parquet file, as the verb does."""
    path = temp / "given.parquet"
    pq.write_table(rows, path)
    columns, read = open_parquet(path)
    given = OpenInput("given.parquet", columns, read)
    return lambda known: spool([given], known, temp / "spool.parquet")


def publish(
    store: FileStore,
    rows: pa.Table,
    temp: Path,
    key: Sequence[str] = ("id",),
    *,
    file_rows: int = 3,
    ask: Callable[[Doubt], bool] = lambda _: True,
    recreate: bool = False,
) -> SnapshotOutcome:
    """Publish one snapshot, in change files of a few rows."""
    temp.mkdir(parents=True)
    options = PublisherOptions(
        limits=BatchLimits(rows=file_rows, seconds=None), patience=Patience(seconds=0)
    )
    with Publisher.of_store(store, ZONE, options) as zone:
        writer = zone.table("t", key=key, source=SOURCE, recreate=recreate)
        table = SnapshotTable(
            store, FOLDER, store.incarnation(FOLDER), GroupLimits(rows=4, size=1 << 20)
        )
        run = SnapshotRun(key=key, temp=temp, ask=ask, resources=RESOURCES)
        return publish_snapshot(table, writer, reader(rows, temp), run)


def mirrored(store: FileStore, key: Sequence[str] = ("id",)) -> Table:
    """The table that the landed files give, by the definition."""
    files = change_files(store, FOLDER)
    assert sorted(files) == list(range(1, len(files) + 1)), "numbers have a gap"
    return interpret(
        [_file(store, join(FOLDER, files[number].name)) for number in sorted(files)], key
    )


def _file(store: FileStore, path: StorePath) -> ChangeFile:
    table = pq.read_table(io.BytesIO(store.read(path).data))
    columns = tuple(n for n in table.column_names if n != "__rowMarker__")
    changes = []
    for row in table.to_pylist():
        marker = Marker(row.pop("__rowMarker__", Marker.INSERT))
        changes.append(Change(marker, {fold_case(name): value for name, value in row.items()}))
    return ChangeFile(columns, changes)


def bag(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Rows as sorted text, in which NULLs do not count and -0.0 is 0.0."""
    return sorted(
        repr(sorted((fold_case(n), _plain(v)) for n, v in row.items() if v is not None))
        for row in rows
    )


def _plain(value: object) -> str:
    return repr(value + 0.0 if isinstance(value, float) else value)
