"""A lock between all threads and processes that change names in a root."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def locked(lock: Path) -> Iterator[None]:
    """Keep out every other thread and process that asks for this lock."""
    fd = _taken(lock)
    try:
        yield
    finally:
        # A child that was forked meanwhile has the file open too: closing would not unlock.
        fcntl.flock(fd, fcntl.LOCK_UN)
        os.close(fd)


def _taken(lock: Path) -> int:
    while True:
        lock.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                # Whoever deletes the lock file must not make two holders of one lock.
                if os.path.samestat(os.fstat(fd), lock.stat()):
                    return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
