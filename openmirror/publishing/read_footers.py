"""What the footers of change files say, whoever wrote them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.errors import NotThere
from openmirror.formats.parquet.footer import columns, parse_footer
from openmirror.formats.parquet.types import column_type
from openmirror.ports import FileStore
from openmirror.protocol.names import ROW_MARKER_COLUMN, fold_case
from openmirror.protocol.schema import Column, TableSchema
from openmirror.publishing.footer import FOOTER_KEY, PublishedFooter, parse_published
from openmirror.table.layout import StorePath

_TAIL = 64 << 10
"""Holds most footers, so that most files cost one small read."""
_FEW = 4
"""Footers that are read one after the other; more by threads."""
_MOST_AT_ONCE = 16


@dataclass(frozen=True)
class ReadFooter:
    """What a change file's footer says, whoever wrote it."""

    published: PublishedFooter | None
    """None where the file is not one of ours."""
    columns: TableSchema = TableSchema()
    """Columns with types that tables can have, without the marker."""
    rows: int = 0


class SizedFile(NamedTuple):
    """A file as a listing had it."""

    path: StorePath
    size: int
    """Bytes."""


def read_footer(store: FileStore, path: StorePath, size: int | None = None) -> ReadFooter | None:
    """What a Parquet file's footer says; None where it is no whole Parquet file.

    `size` is what a listing had; with it most files cost one request. Raises NotThere without the
    file, OtherPublisher for a footer of a newer version.
    """
    size = store.read(path, 0, 0).size if size is None else size
    start = max(0, size - _TAIL)
    content = store.read(path, start, size - start)
    if content.size != size:
        return read_footer(store, path, content.size)  # it was written over
    tail = content.data
    length = int.from_bytes(tail[-8:-4], "little") + 8 if len(tail) >= 12 else 0
    if len(tail) < length <= content.size:
        tail = store.read(path, content.size - length, length).data
    if not tail.endswith(b"PAR1") or len(tail) < length:
        return None
    try:
        metadata = parse_footer(tail[-length:])
        found = columns(metadata)
    except (pa.ArrowException, OSError, ValueError):
        return None
    value = (metadata.metadata or {}).get(FOOTER_KEY)
    typed = tuple(
        Column(name, kind)
        for name, parquet in found
        if fold_case(name) != fold_case(ROW_MARKER_COLUMN)
        and not parquet.is_null
        and (kind := column_type(parquet)) is not None
    )
    published = None if value is None else parse_published(value)
    return ReadFooter(published, TableSchema(typed), int(metadata.num_rows))


def identity_of(store: FileStore, path: StorePath) -> str | None:
    """The identity that a file's footer gives it; None for one that is not ours, or not there."""
    try:
        found = read_footer(store, path)
    except NotThere:
        return None
    return found.published.file if found is not None and found.published is not None else None


def footers(store: FileStore, files: Iterable[SizedFile]) -> Iterator[tuple[StorePath, ReadFooter]]:
    """Files with what their footers say, in this order; without those that have none.

    The more are asked for, the more are read at once: each is a request, and a folder of another
    program may have thousands.
    """
    files, at_once = iter(files), 1
    while some := list(islice(files, at_once)):
        with ThreadPoolExecutor(len(some)) if len(some) > _FEW else nullcontext() as pool:
            read = partial(_footer_if_there, store)
            found = pool.map(read, some) if pool is not None else map(read, some)
            for file, footer in zip(some, found, strict=True):
                if footer is not None:
                    yield file.path, footer
        at_once = min(at_once * 2, _MOST_AT_ONCE)


def _footer_if_there(store: FileStore, file: SizedFile) -> ReadFooter | None:
    try:
        return read_footer(store, file.path, file.size)
    except NotThere:
        return None  # archived, or purged, between the listing and the read
