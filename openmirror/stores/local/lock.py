"""One process at a time works on a local root."""

from __future__ import annotations

import errno
import fcntl
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from openmirror.errors import CannotStart, RootLocked

LOCK_FILE = ".openmirror.lock"
WAIT_FOR_ROOT = 10.0
"""Seconds for which another holder is waited for."""
_SECONDS_BETWEEN_TRIES = 0.05


def _say_nothing(text: str) -> None:
    """The default of `say`."""


@contextmanager
def hold_root(
    root: Path, wait_seconds: float = WAIT_FOR_ROOT, say: Callable[[str], None] = _say_nothing
) -> Iterator[None]:
    """Hold a root alone; the operating system lets go of it when this process dies, however.

    Waits for another holder, calling `say` once. Raises RootLocked when that takes longer than
    `wait_seconds`, CannotStart when the root is missing or cannot be locked.
    """
    fd = _opened(root)
    try:
        _wait(fd, root, wait_seconds, say)
        _sign(fd, f"process {os.getpid()}: {shlex.join(sys.orig_argv)}")
        try:
            yield
        finally:
            _sign(fd, "")
            # A child that was forked meanwhile has the file open too: closing would not unlock.
            fcntl.flock(fd, fcntl.LOCK_UN)
    finally:
        os.close(fd)


def _opened(root: Path) -> int:
    # The file is never deleted: somebody may be waiting for it.
    try:
        return os.open(root / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise CannotStart(f"there is no folder {root}: make it, or give another --root") from error
    except OSError as error:
        raise CannotStart(
            f"{root / LOCK_FILE} cannot be opened for writing ({error.strerror}): "
            "correct its access"
        ) from error


def _wait(fd: int, root: Path, wait_seconds: float, say: Callable[[str], None]) -> None:
    until = time.monotonic() + wait_seconds
    is_announced = False
    while not _taken(fd, root):
        left = until - time.monotonic()
        holder = _holder(fd)
        if left <= 0:
            raise RootLocked(
                f"{root} is in use by {holder}. Wait until it ends or stop it; status, validate, "
                "pause, resume, retry, skip and reseed work beside it"
            )
        if not is_announced and wait_seconds:
            say(f"{root} is in use by {holder}; waiting up to {wait_seconds:g} s")
            is_announced = True
        time.sleep(min(left, _SECONDS_BETWEEN_TRIES))


def _taken(fd: int, root: Path) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            raise CannotStart(
                f"the file system of {root} has no locks: use a local disk as root"
            ) from error
        raise
    return True


def _sign(fd: int, text: str) -> None:
    """Write who holds the lock; only the holder does."""
    os.ftruncate(fd, 0)
    os.pwrite(fd, text.encode(errors="surrogateescape"), 0)


def _holder(fd: int) -> str:
    # Empty for the moment between taking the lock and signing.
    return os.pread(fd, 4096, 0).decode(errors="replace") or "another process"
