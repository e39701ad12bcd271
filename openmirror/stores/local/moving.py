"""Moving a file that a publisher may replace at any moment: link, compare, unlink."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from openmirror.errors import AlreadyThere, ConditionFailed, OpenmirrorError
from openmirror.ports import Step, Steps
from openmirror.protocol.names import ETag
from openmirror.stores.local.paths import (
    OURS,
    etag_of,
    facts_of,
    make_folders,
    opened,
    opened_file,
)

_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EXDEV, errno.EMLINK}


def move(start: Path, end: Path, etag: ETag, steps: Steps) -> None:
    """Rename a file whose content is still the one of `etag`.

    Raises ConditionFailed when it has another content or another process is moving it,
    AlreadyThere when the destination is another file, OpenmirrorError without hard links.
    """
    changed = ConditionFailed(f"{start} no longer has the content that was to be moved")
    # As long as the file is open, no other can get its inode, so comparing inodes is safe.
    with opened(start.parent) as here, opened_file(start.name, here) as file, _held(file, start):
        if etag_of(os.stat(start.name, dir_fd=here)) != etag:
            raise changed
        with _destination(start.parent, here, end.parent) as there:
            if start.name == end.name and os.path.sameopenfile(here, there):
                raise AlreadyThere(f"{end} is the very file that was to be moved there")
            _link(start.name, here, end.name, there, os.fstat(file))
            steps(Step.LINKED)
            linked = facts_of(end.name, there)
            # The link must be on disk before the name that it replaces may go.
            os.fsync(there)
            if linked is None or etag_of(linked) != etag or not _take_away(start.name, here, etag):
                with suppress(FileNotFoundError):
                    os.unlink(end.name, dir_fd=there)
                raise changed


@contextmanager
def _held(file: int, path: Path) -> Iterator[None]:
    """Two movers of one file could each undo the other's name for it.

    The loser does not wait: it has to observe again anyway.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ConditionFailed(f"{path} is being moved by another process") from error
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


@contextmanager
def _destination(source: Path, source_fd: int, folder: Path) -> Iterator[int]:
    """The opened folder of a destination, made if missing.

    Below the source's folder it is reached through that very folder: the path may by now lead
    into another incarnation of it.
    """
    if not folder.is_relative_to(source):
        make_folders(folder)
        with opened(folder) as fd:
            yield fd
        return
    with ExitStack() as folders:
        fd = source_fd
        for part in folder.relative_to(source).parts:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=fd)
                os.fsync(fd)
            try:
                fd = folders.enter_context(opened(part, fd))
            except NotADirectoryError as error:
                raise AlreadyThere(f"{folder} is not a folder") from error
        yield fd


def _link(name: str, here: int, new_name: str, there: int, file: os.stat_result) -> None:
    try:
        os.link(name, new_name, src_dir_fd=here, dst_dir_fd=there)
    except FileExistsError as error:
        taken = facts_of(new_name, there)
        # The same file: whoever linked it died before it could remove the old name.
        if taken is None or not os.path.samestat(taken, file):
            raise AlreadyThere(f"{new_name} already exists") from error
    except OSError as error:
        if error.errno in _NO_HARD_LINKS:
            raise OpenmirrorError(
                f"{name} cannot be moved: this file system has no hard links between the two "
                "folders, or does not allow them on files of another user. Use a file system "
                "such as ext4, xfs, btrfs or apfs, with all files owned by one user"
            ) from error
        raise


def _take_away(name: str, folder: int, etag: ETag) -> bool:
    """Remove a name whose content is kept elsewhere; False when it has another content by now.

    unlink(2) cannot compare, so the name is first renamed: what came in between is put back.
    """
    now = facts_of(name, folder)
    if now is None:
        return True
    if etag_of(now) != etag:
        return False
    renamed = f"{OURS}{uuid4().hex}"
    try:
        os.rename(name, renamed, src_dir_fd=folder, dst_dir_fd=folder)
    except FileNotFoundError:
        return True
    taken = os.stat(renamed, dir_fd=folder)
    if stat.S_ISDIR(taken.st_mode):
        os.rename(renamed, name, src_dir_fd=folder, dst_dir_fd=folder)
        return False
    if etag_of(taken) != etag:
        # Unless something still newer has taken the name.
        with suppress(FileExistsError):
            os.link(renamed, name, src_dir_fd=folder, dst_dir_fd=folder)
    os.unlink(renamed, dir_fd=folder)
    return etag_of(taken) == etag
