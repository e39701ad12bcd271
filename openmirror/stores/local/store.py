"""The FileStore port over a local folder.

Files that publishers write are outside every lock of ours, so moves and reads compare what they
did with what they meant to do. Files that only we write (control documents, status) change under
a lock between processes, which makes their conditions exact.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from openmirror.errors import AlreadyThere, ConditionFailed, NotThere, WrongRequest
from openmirror.ports import Absent, Content, Entry, Listing, Steps, StreamedFile, no_steps
from openmirror.protocol.names import ETag, Incarnation
from openmirror.stores.local.incarnation import identify_once
from openmirror.stores.local.listing import all_names, list_once
from openmirror.stores.local.moving import move
from openmirror.stores.local.mutex import locked
from openmirror.stores.local.paths import (
    OURS,
    etag_of,
    in_our_words,
    make_folders,
    opened,
    opened_file,
    place,
    sync,
)
from openmirror.stores.local.still_folders import StillFolders
from openmirror.stores.local.streaming import LocalStream, begin
from openmirror.stores.local.trash import throw_away
from openmirror.stores.local.writing import replace
from openmirror.table.layout import LAKE, StorePath

_TRIES = 5


class LocalStore:
    """Files below one folder; an ETag is (inode, size, modification time).

    Every method raises WrongRequest for a path that is not one below the root, and AccessDenied
    for one that this process may not use, or that a symbolic link leads out of the root.
    """

    def __init__(self, root: Path, steps: Steps = no_steps, *, lock: Path | None = None) -> None:
        """`lock` is the file that conditional writes lock; everybody who writes takes the same."""
        root = root.resolve()
        self._place = partial(place, root)
        self._lock = lock or root / LAKE / f"{OURS}lock"
        self._steps = steps
        self._still = StillFolders()

    def list_folder(self, folder: StorePath) -> Listing:
        """All direct children, by name.

        Raises NotThere without such a folder, ConditionFailed when it is replaced all the time.
        """
        return self._listed(folder, all_names)

    def list_from(self, folder: StorePath, start: str) -> tuple[Entry, ...]:
        """All direct children from the name `start` on; raises what `list_folder` does."""
        return self._listed(folder, lambda fd: self._still.names_from(fd, start)).entries

    def _listed(self, folder: StorePath, names: Callable[[int], Iterable[str]]) -> Listing:
        there = self._place(folder)
        with in_our_words(folder):
            for still in (True, True, False):
                if listing := list_once(there, still=still, names=names):
                    return listing
        raise ConditionFailed(f"{folder} was replaced again and again while it was listed")

    def incarnation(self, folder: StorePath) -> Incarnation | None:
        """The identity written in the folder, written now if there is none; never makes a folder.

        Raises ConditionFailed when it is replaced all the time, AccessDenied or OSError when it
        cannot be written.
        """
        there = self._place(folder)
        for _ in range(_TRIES):
            with in_our_words(folder):
                try:
                    if identity := identify_once(there, self._lock):
                        return identity
                except (FileNotFoundError, NotADirectoryError):
                    # Deleted under our hands; what is here now, if anything, is another.
                    if not there.is_dir():
                        return None
        raise ConditionFailed(f"{folder} was replaced again and again while it was identified")

    def read(self, path: StorePath, offset: int = 0, length: int | None = None) -> Content:
        """A range of one content; a range past the end is cut short.

        Raises NotThere without such a file, ConditionFailed when it does not stop changing.
        """
        if offset < 0 or (length is not None and length < 0):
            raise ValueError(f"no such range: offset {offset}, length {length}")
        there = self._place(path)
        for _ in range(_TRIES):
            with in_our_words(path), opened_file(there) as fd:
                before = os.fstat(fd)
                end = before.st_size if length is None else min(before.st_size, offset + length)
                data = _read(fd, offset, end)
                if etag_of(os.fstat(fd)) == etag_of(before):
                    return Content(data, etag_of(before), before.st_size)
        raise ConditionFailed(f"{path} changes faster than it can be read")

    def write(self, path: StorePath, data: bytes, only_if: ETag | Absent | None = None) -> ETag:
        """Replace a file's content at once and durably, making folders as needed.

        Raises ConditionFailed unless `only_if` holds, among all that write through a LocalStore;
        AlreadyThere when a folder has this name, or a file the name of a folder above.
        """
        there = self._place(path)
        for _ in range(_TRIES):
            # The inner one first: a folder that is deleted meanwhile is made once more.
            with in_our_words(path), suppress(FileNotFoundError):
                make_folders(there.parent)
                with opened(there.parent) as folder:
                    return replace(there, folder, data, only_if, self._lock)
        raise NotThere(f"the folder of {path} is deleted again and again")

    def stream(self, path: StorePath) -> StreamedFile:
        """Begin a file that is sent in parts; its name has it from the beginning on.

        Raises AlreadyThere when a folder has this name, or a file the name of a folder above.
        """
        there = self._place(path)
        for _ in range(_TRIES):
            # The inner one first: a folder that is deleted meanwhile is made once more.
            with in_our_words(path), suppress(FileNotFoundError):
                make_folders(there.parent)
                return LocalStream(path, there, begin(there))
        raise NotThere(f"the folder of {path} is deleted again and again")

    def move_file(self, source: StorePath, destination: StorePath, etag: ETag) -> None:
        """Rename a file whose content is still the one of `etag`.

        Raises NotThere without such a file, ConditionFailed when it has another content or
        another process is moving it, AlreadyThere when the destination is another file,
        OpenmirrorError where there are no hard links.
        """
        start, end = self._place(source), self._place(destination)
        with in_our_words(source):
            move(start, end, etag, self._steps)

    def move_folder(self, source: StorePath, destination: StorePath) -> None:
        """Rename a folder with all it holds.

        Raises NotThere without such a folder, AlreadyThere when the destination exists, even
        as an empty folder, WrongRequest when the destination lies inside the source.
        """
        start, end = self._place(source), self._place(destination)
        with in_our_words(source):
            is_folder = start.is_dir()
        if not is_folder:
            raise NotThere(f"there is no folder {source}")
        if start in end.parents:
            raise WrongRequest(f"{source} cannot be moved into itself, to {destination}")
        with in_our_words(destination):
            make_folders(end.parent)
        # rename(2) would silently take the place of an empty folder.
        with locked(self._lock), in_our_words(source):
            if os.path.lexists(end):
                raise AlreadyThere(f"{destination} already exists")
            try:
                start.rename(end)
            except OSError as error:
                # Another program's folder came between: it does not take our lock.
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                raise AlreadyThere(f"{destination} already exists") from error
        sync(end.parent)
        sync(start.parent)

    def delete_file(self, path: StorePath) -> None:
        """Remove one file; raises NotThere without such a file."""
        there = self._place(path)
        with in_our_words(path), opened(there.parent) as folder:
            # A conditional write must not find its condition undone between check and rename.
            with locked(self._lock):
                if stat.S_ISDIR(os.lstat(there.name, dir_fd=folder).st_mode):
                    raise NotThere(f"{path} is a folder, not a file")
                os.unlink(there.name, dir_fd=folder)
            os.fsync(folder)

    def delete_folder(self, folder: StorePath) -> None:
        """Remove a folder with all it holds; it disappears at once, then its space is freed.

        Raises NotThere without such a folder, OSError when something in it cannot be removed.
        """
        there = self._place(folder)
        with in_our_words(folder):
            if not there.is_dir():
                raise NotThere(f"there is no folder {folder}")
            throw_away(there)


def _read(fd: int, start: int, end: int) -> bytes:
    pieces = []
    while start < end and (piece := os.pread(fd, end - start, start)):
        pieces.append(piece)
        start += len(piece)
    return b"".join(pieces)
