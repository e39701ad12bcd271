"""Writing a file in parts: into the file itself, whose name nothing reads before it is moved."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from openmirror.errors import AlreadyThere
from openmirror.protocol.names import ETag
from openmirror.stores.local.paths import etag_of, facts_of, in_our_words, opened
from openmirror.table.layout import StorePath


def begin(file: Path) -> int:
    """Make an empty file in place of one that has its name, and return its inode.

    Raises AlreadyThere when a folder has this name, FileNotFoundError when the folder is missing.
    """
    with opened(file.parent) as folder:
        try:
            with suppress(FileNotFoundError):
                os.unlink(file.name, dir_fd=folder)
        except (IsADirectoryError, PermissionError) as error:
            if not file.is_dir():
                raise
            raise AlreadyThere(f"{file} is a folder") from error
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        made = os.open(file.name, flags, 0o666, dir_fd=folder)
        try:
            return os.fstat(made).st_ino
        finally:
            os.close(made)


class LocalStream:
    """A StreamedFile below a folder of this machine."""

    def __init__(self, path: StorePath, file: Path, inode: int) -> None:
        """`inode` is the one of the empty file that `begin` made."""
        self._path = path
        self._file = file
        self._inode = inode
        self._etag: ETag | None = None
        """Of the finished file; None while it is written."""
        self._size = 0
        """Bytes of the body."""
        self._modified = 0
        """The file's time when it was finished last, in nanoseconds."""

    def append(self, data: bytes | memoryview) -> None:
        """Write the next part behind the others."""
        with (
            in_our_words(self._path),
            opened(self._file.parent) as folder,
            self._opened(folder) as file,
        ):
            _write(file, data, self._size)
        self._size += len(data)

    def finish(self, tail: bytes) -> ETag:
        """Write the tail behind the body, durably, and return the ETag of the whole."""
        with in_our_words(self._path), opened(self._file.parent) as folder:
            with self._opened(folder) as file:
                _write(file, tail, self._size)
                os.ftruncate(file, self._size + len(tail))
                # As in `replace`: only a time that always grows gives each content its own ETag.
                self._modified = max(time.time_ns(), self._modified + 1)
                os.utime(file, ns=(self._modified, self._modified))
                os.fsync(file)
                etag = etag_of(os.fstat(file))
            os.fsync(folder)
        self._etag = etag
        return etag

    def discard(self) -> None:
        """Remove the name if it is still the one of this file."""
        with (
            in_our_words(self._path),
            suppress(FileNotFoundError),
            opened(self._file.parent) as folder,
        ):
            found = facts_of(self._file.name, folder)
            if found is not None and self._is(found):
                os.unlink(self._file.name, dir_fd=folder)

    @contextmanager
    def _opened(self, folder: int) -> Iterator[int]:
        """The file for writing; raises FileNotFoundError when the name has another one by now."""
        file = os.open(self._file.name, os.O_WRONLY | os.O_CLOEXEC, dir_fd=folder)
        try:
            facts = os.fstat(file)
            # A second name is the one that the file was moved to by a move that then failed:
            # writing here would change a file that has landed.
            if not self._is(facts) or facts.st_nlink != 1:
                raise FileNotFoundError(errno.ENOENT, "another file by now", str(self._file))
            self._etag = None
            yield file
        finally:
            os.close(file)

    def _is(self, facts: os.stat_result) -> bool:
        """Whether it is this file. The inode of one that was deleted is soon another file's."""
        return facts.st_ino == self._inode and self._etag in (None, etag_of(facts))


def _write(file: int, data: bytes | memoryview, at: int) -> None:
    left = memoryview(data)
    while left:
        done = os.pwrite(file, left, at)
        left, at = left[done:], at + done
