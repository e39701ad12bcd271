"""A file of a store as a stream that can seek, all of one content."""

from __future__ import annotations

import io
from typing import Any, BinaryIO, cast

from openmirror.errors import ConditionFailed
from openmirror.ports import Content, FileStore
from openmirror.protocol.checksums import Checksum, RunningChecksum
from openmirror.protocol.names import ETag
from openmirror.table.layout import StorePath

_READ_AHEAD = 4 << 20
"""Bytes of one request while a file is read forward."""
_MOST_AT_ONCE = 16 << 20
"""Bytes of one request at all, since what it brings is held twice for a moment."""


def open_stored(store: FileStore, path: StorePath, etag: ETag) -> tuple[BinaryIO, StoredFile]:
    """A buffered stream, and what is below it, which remembers the first failure.

    Reading raises ConditionFailed when the file no longer has this ETag, and whatever the store
    raises. Raises both at once as well.
    """
    raw = StoredFile(store, path, etag)
    return cast(BinaryIO, io.BufferedReader(raw, _READ_AHEAD)), raw


class StoredFile(io.RawIOBase):
    """Ranged reads as a stream. Libraries that read through it may hide what it raised."""

    def __init__(self, store: FileStore, path: StorePath, etag: ETag) -> None:
        self.failure: Exception | None = None
        """What the first read raised that failed."""
        self._store = store
        self._path = path
        self._etag = etag
        self._at = 0
        self._size = 0
        self._running = RunningChecksum()
        self._size = self._fetch(0, 0)[1]

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return self._size

    @property
    def checksum(self) -> Checksum | None:
        """That of the whole file; None unless it was read from its beginning to its end."""
        return self._running.checksum if self._running.size == self._size else None

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def seekable(self) -> bool:
        """Any place can be read."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to another place."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise ValueError(f"there is nothing before the start: {start + offset}")
        self._at = start + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer from here on, or its first part; 0 at the end."""
        length = min(len(buffer), self._size - self._at, _MOST_AT_ONCE)
        if length <= 0:
            return 0
        data, _ = self._fetch(self._at, length)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _fetch(self, offset: int, length: int) -> tuple[bytes, int]:
        try:
            content = self._same(self._store.read(self._path, offset, length), length)
        except Exception as error:
            self.failure = self.failure or error
            raise
        if offset == self._running.size:
            self._running.update(content.data)
        return content.data, content.size

    def _same(self, content: Content, length: int) -> Content:
        if content.etag != self._etag or (length and not content.data):
            raise ConditionFailed(f"{self._path} was replaced while it was read")
        return content
