"""The actions in one file of a log: a commit's lines, or a checkpoint's rows."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.errors import ConditionFailed
from openmirror.ports import Entry, FileStore
from openmirror.table.layout import StorePath, join

LogAction = Mapping[str, Any]
"""One action under its kind, such as `txn`."""

_WANTED = ("txn", "metaData", "protocol", "domainMetadata")
_BLOCK = 1 << 20


class Damaged(Exception):
    """A file of the log cannot be read for what it is."""


def actions_of(
    store: FileStore, folder: StorePath, entry: Entry, wanted: Sequence[str] = _WANTED
) -> Iterator[LogAction]:
    """The actions of a listed file; raises ConditionFailed when another has taken its place.

    Of a checkpoint only those that are `wanted`.
    """
    path = join(folder, entry.name)
    if entry.name.endswith(".json"):
        return _lines(entry.name, _read(store, path, entry))
    return _rows(_Ranges(store, path, entry), entry.name, wanted)


def _lines(name: str, data: bytes) -> Iterator[LogAction]:
    if not data.strip():
        raise Damaged(f"{name} is empty")
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            action = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise Damaged(f"{name}, line {number} is not JSON") from error
        if not isinstance(action, dict):
            raise Damaged(f"{name}, line {number} is not an action")
        yield action


def _rows(ranges: _Ranges, name: str, wanted: Sequence[str]) -> Iterator[LogAction]:
    """Only the columns that count: the rest, one row for each data file, can be large."""
    try:
        with pq.ParquetFile(io.BufferedReader(ranges, _BLOCK)) as file:
            # One thread: to seek and to read are two calls.
            for batch in file.iter_batches(columns=list(wanted), use_threads=False):
                for kind in batch.schema.names:
                    for value in batch.column(kind).drop_null().to_pylist():
                        yield {kind: value}
    except (pa.ArrowException, OSError, ValueError) as error:
        if ranges.failure is not None:
            raise ranges.failure from None
        raise Damaged(f"{name} cannot be read: {error}") from error


class _Ranges(io.RawIOBase):
    """A file of the store as Python's buffers read it, range by range."""

    def __init__(self, store: FileStore, path: StorePath, entry: Entry) -> None:
        super().__init__()
        self._store, self._path, self._entry = store, path, entry
        self._at = 0
        self.failure: Exception | None = None
        """Kept apart: a store that fails must not pass for a checkpoint that is damaged."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._entry.size}[whence]
        self._at = start + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        try:
            data = _read(self._store, self._path, self._entry, self._at, len(buffer))
        except Exception as failure:
            self.failure = failure
            raise
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


def _read(
    store: FileStore, path: StorePath, entry: Entry, offset: int = 0, length: int | None = None
) -> bytes:
    content = store.read(path, offset, length)
    if content.etag != entry.etag:
        raise ConditionFailed(f"{entry.name} was replaced while the log was read")
    return content.data
