"""Replacing a file's content at once, under a condition that is exact among all our processes."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from openmirror.errors import AlreadyThere, ConditionFailed
from openmirror.ports import ABSENT, Absent
from openmirror.protocol.names import ETag
from openmirror.stores.local.mutex import locked
from openmirror.stores.local.paths import OURS, etag_of, facts_of


def replace(
    file: Path, folder: int, data: bytes, only_if: ETag | Absent | None, lock: Path
) -> ETag:
    """Write a file of an open folder, all or nothing, durably.

    Raises ConditionFailed unless `only_if` holds, AlreadyThere when a folder has this name,
    FileNotFoundError when the open folder was deleted.
    """
    with _temporary(folder, data) as temporary:
        with locked(lock):
            old = facts_of(file.name, folder)
            is_folder = old is not None and stat.S_ISDIR(old.st_mode)
            now = ABSENT if old is None or is_folder else etag_of(old)
            if only_if not in (None, now):
                raise ConditionFailed(f"{file} has changed since it was read")
            if is_folder:
                raise AlreadyThere(f"{file} is a folder")
            # Inodes are reused at once and the kernel's file times stand still for some
            # milliseconds: only a time that always grows keeps an ETag from coming back.
            modified = max(time.time_ns(), old.st_mtime_ns + 1 if old else 0)
            os.utime(temporary, ns=(modified, modified), dir_fd=folder)
            etag = etag_of(os.stat(temporary, dir_fd=folder))
            os.rename(temporary, file.name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    return etag


@contextmanager
def _temporary(folder: int, data: bytes) -> Iterator[str]:
    """A durable file with this content, which goes away again unless it is renamed."""
    name = f"{OURS}{uuid4().hex}"
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=folder)
    try:
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(file, left) :]
            os.fsync(file)
        finally:
            os.close(file)
        yield name
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
