"""Listing a folder that others may change or replace meanwhile."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from openmirror.ports import Entry, Listing, UnseenEntry
from openmirror.protocol.names import ETag
from openmirror.stores.local.incarnation import INCARNATION_FILE
from openmirror.stores.local.paths import OURS, etag_of, opened


def all_names(folder: int) -> list[str]:
    """The names in an open folder, by name."""
    return sorted(os.listdir(folder))


def list_once(
    folder: Path, *, still: bool, names: Callable[[int], Iterable[str]] = all_names
) -> Listing | None:
    """Its children; None when the folder was replaced, or with `still` when it changed.

    All of them, or those of some `names` in it, in their order.
    """
    with opened(folder) as fd:
        # Taken first, so that no file ever seems older than it is.
        at = datetime.now(UTC)
        before = os.fstat(fd)
        entries = _entries(fd, names(fd))
        # A folder that was deleted meanwhile lists as if it had been half empty.
        replaced = not os.path.samestat(folder.stat(), before)
        # While names come and go, some file systems may miss one that was there all along.
        changed = os.fstat(fd).st_mtime_ns != before.st_mtime_ns
        return None if replaced or (changed and still) else Listing(at, entries)


def _entries(fd: int, names: Iterable[str]) -> tuple[Entry, ...]:
    found: list[Entry] = []
    for name in names:
        try:
            facts = os.stat(name, dir_fd=fd)
        except OSError as error:
            # Gone since, or a symbolic link that leads nowhere.
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                continue
            if error.errno not in (errno.ELOOP, errno.EACCES):
                raise
            # One link that may not be followed must not hide all that lies beside it.
            found += _unseen(name, fd)
            continue
        is_folder = stat.S_ISDIR(facts.st_mode)
        if not _hidden(name, is_folder):
            size = 0 if is_folder else facts.st_size
            modified = _moment(facts.st_mtime)
            # A folder's own time and size change with its children; its ETag shall not.
            etag = ETag(f"folder-{facts.st_ino}") if is_folder else etag_of(facts)
            found.append(Entry(_text(name), is_folder, size, modified, etag))
    return tuple(found)


def _moment(seconds: float) -> datetime:
    """A file's time; where it lies beyond every calendar, the first or the last moment of one."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError):
        if seconds > 0:
            return datetime.max.replace(tzinfo=UTC)
        return datetime.min.replace(tzinfo=UTC)


def _unseen(name: str, folder: int) -> list[UnseenEntry]:
    """The entry of a link by itself; raises PermissionError where it is not the link's fault."""
    try:
        link = os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return []
    if _hidden(name, is_folder=False):
        return []
    modified = _moment(link.st_mtime)
    return [UnseenEntry(_text(name), False, 0, modified, etag_of(link))]


def _text(name: str) -> str:
    """A name as text that can be written down, also where its bytes are none."""
    return os.fsencode(name).decode(errors="replace")


def _hidden(name: str, is_folder: bool) -> bool:
    if name.startswith(OURS):
        return True
    # Hadoop's local file system writes a checksum beside every file.
    return not is_folder and (
        name == INCARNATION_FILE or (name.startswith(".") and name.endswith(".crc"))
    )
