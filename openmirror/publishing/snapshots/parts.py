"""Batches cut into Parquet files of bounded size, written into the zone and read back."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.errors import NotThere, OpenmirrorError
from openmirror.ports import FileStore
from openmirror.publishing.snapshots.document import KeptPart
from openmirror.publishing.snapshots.grouping import GroupLimits, grouped
from openmirror.table.layout import StorePath, join


class PartDamaged(OpenmirrorError):
    """A part is not what was written; the message names it."""


def write_parts(
    store: FileStore,
    folder: StorePath,
    kind: str,
    batches: Iterable[pa.RecordBatch],
    limits: GroupLimits,
    written: Callable[[], None],
) -> tuple[KeptPart, ...]:
    """Write `<kind>-1.parquet`, `<kind>-2.parquet` …; calls `written` after each.

    A part has one schema. Without rows there are no parts.
    """
    parts: list[KeptPart] = []
    for table in grouped(batches, limits):
        data = _parquet(table)
        name = f"{kind}-{len(parts) + 1}.parquet"
        store.write(join(folder, name), data)
        hashed = hashlib.sha256(data).hexdigest()
        parts.append(KeptPart(name, table.num_rows, len(data), hashed))
        written()
    return tuple(parts)


def read_part(store: FileStore, folder: StorePath, part: KeptPart) -> bytes:
    """A part's bytes; raises PartDamaged unless they are those that were written."""
    path = join(folder, part.name)
    try:
        data = store.read(path).data
    except NotThere as error:
        raise PartDamaged(f"{path} is missing") from error
    if len(data) != part.size or hashlib.sha256(data).hexdigest() != part.sha256:
        raise PartDamaged(f"{path} is not what was written: {len(data)} bytes of {part.size}")
    return data


def keep_parts(
    store: FileStore, folder: StorePath, parts: Iterable[KeptPart], into: Path
) -> list[Path]:
    """Copies of parts in a local folder; raises PartDamaged."""
    into.mkdir(parents=True, exist_ok=True)
    kept = []
    for part in parts:
        path = into / part.name
        path.write_bytes(read_part(store, folder, part))
        kept.append(path)
    return kept


def tables_of(
    store: FileStore, folder: StorePath, parts: Iterable[KeptPart]
) -> Iterator[tuple[KeptPart, pa.Table]]:
    """Parts with their rows, one at a time; raises PartDamaged."""
    for part in parts:
        yield part, pq.read_table(io.BytesIO(read_part(store, folder, part)))


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", compression_level=1, write_statistics=False)
    return sink.getvalue()
