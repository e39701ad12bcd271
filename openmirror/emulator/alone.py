"""One endpoint at a time over a root: two would not know of each other's leases and uploads."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from openmirror.errors import RootLocked


def take(lock: Path) -> int:
    """An open file that holds the lock until it is closed, or the process ends.

    Raises RootLocked when somebody has it.
    """
    fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(fd, 32, 0).decode(errors="replace") or "another process"
        os.close(fd)
        raise RootLocked(
            f"{lock.parents[1]} is served already, by {holder}. Use that endpoint, or stop it"
        ) from error
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"process {os.getpid()}".encode(), 0)
    return fd


def give_back(fd: int) -> None:
    """Let others have it."""
    # A child that was forked meanwhile has the file open too: closing would not unlock.
    fcntl.flock(fd, fcntl.LOCK_UN)
    os.close(fd)
