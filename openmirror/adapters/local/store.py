"""The FileStore port over a local folder.

Files that publishers write are outside every lock of ours, so moves and reads compare what they
did with what they meant to do. Files that only we write (control documents, status) change under
a lock between processes, which makes their conditions exact.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from uuid import uuid4

from openmirror.errors import (
    AlreadyThere,
    ConditionFailed,
    NotThere,
    OpenmirrorError,
    WrongRequest,
)
from openmirror.layout import LAKE, StorePath
from openmirror.ports import ABSENT, Absent, Content, Entry, Listing, Step, Steps, no_steps
from openmirror.protocol.names import ETag, Incarnation

INCARNATION_FILE = "_openmirror"
"""Holds the identity of one life of a table folder; dies with the folder."""

_OURS = ".openmirror-"
"""What temporary files, locks and folders being deleted are called; listings never show them."""

_TRASH = f"{_OURS}trash-"
_TRIES = 5
_IDENTITY = re.compile(rb"[0-9a-f]{32}")
_MOST_BYTES_A_READ = 1 << 30
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EXDEV, errno.EMLINK}


class LocalStore:
    """Files below one folder; an ETag is (inode, size, modification time).

    Every method raises WrongRequest for a path that is not one below the root.
    """

    def __init__(self, root: Path, steps: Steps = no_steps) -> None:
        self._root = root.resolve()
        self._locks = self._root / LAKE / f"{_OURS}locks"
        self._steps = steps

    def list_folder(self, folder: StorePath) -> Listing:
        """All direct children, by name.

        Raises NotThere without such a folder, ConditionFailed when it is replaced all the time.
        """
        place = self._place(folder)
        for last in (False, False, True):
            with _not_there(folder), _opened(place) as fd:
                # Taken first, so that no file ever looks older than it is.
                at = datetime.now(UTC)
                before = os.fstat(fd)
                entries = _entries(fd)
                # A folder that was deleted meanwhile lists as if it had been half empty.
                if not os.path.samestat(place.stat(), before):
                    continue
                # While names come and go, some file systems may miss one that was there all along.
                if last or os.fstat(fd).st_mtime_ns == before.st_mtime_ns:
                    return Listing(at, entries)
        raise ConditionFailed(f"{folder} was replaced again and again while it was listed")

    def incarnation(self, folder: StorePath) -> Incarnation | None:
        """The identity written in the folder, written now if there is none; never makes a folder.

        Raises ConditionFailed when it is replaced all the time, OSError when it cannot be written.
        """
        place = self._place(folder)
        for _ in range(_TRIES):
            try:
                with _opened(place) as fd:
                    identity = _identity(fd) or self._new_identity(fd)
                    # A folder that is being deleted may have lost its file before its place.
                    if os.path.samestat(place.stat(), os.fstat(fd)):
                        return identity
            except (FileNotFoundError, NotADirectoryError):
                # Deleted under our hands; what stands here now, if anything, is another life.
                if not place.is_dir():
                    return None
        raise ConditionFailed(f"{folder} was replaced again and again while it was identified")

    def read(self, path: StorePath, offset: int = 0, length: int | None = None) -> Content:
        """A range of one content; a range past the end is cut short.

        Raises NotThere without such a file, ConditionFailed when it does not stop changing.
        """
        if offset < 0 or (length is not None and length < 0):
            raise ValueError(f"no such range: offset {offset}, length {length}")
        place = self._place(path)
        for _ in range(_TRIES):
            with _not_there(path), _opened_file(place.name, place.parent) as fd:
                before = os.fstat(fd)
                end = before.st_size if length is None else min(before.st_size, offset + length)
                data = _read(fd, offset, end)
                if _etag(os.fstat(fd)) == _etag(before):
                    return Content(data, _etag(before), before.st_size)
        raise ConditionFailed(f"{path} changes faster than it can be read")

    def write(self, path: StorePath, data: bytes, only_if: ETag | Absent | None = None) -> ETag:
        """Replace a file's content at once and durably, making folders as needed.

        Raises ConditionFailed unless `only_if` holds, among all that write through a LocalStore;
        AlreadyThere when a folder has this name, or a file the name of a folder above.
        """
        place = self._place(path)
        for _ in range(_TRIES):
            _make_folders(place.parent)
            with suppress(FileNotFoundError), _opened(place.parent) as fd:
                return self._replace(fd, path, data, only_if)
        raise NotThere(f"the folder of {path} is deleted again and again")

    def move_file(self, source: StorePath, destination: StorePath, etag: ETag) -> None:
        """Rename a file whose content is still the one of `etag`: link, compare, unlink.

        Raises NotThere without such a file, ConditionFailed when it has another content or
        another process is moving it, AlreadyThere when the destination is another file,
        OpenmirrorError where there are no hard links.
        """
        start, end = self._place(source), self._place(destination)
        changed = f"{source} no longer has the content that was to be moved"
        with ExitStack() as open_files, _not_there(source):
            here = open_files.enter_context(_opened(start.parent))
            # As long as it is open, no other file can get its inode, so comparing inodes is safe.
            file = open_files.enter_context(_opened_file(start.name, here))
            # Two movers of one file could each undo the other's name for it. The loser does not
            # wait: it has to look again anyway.
            if not open_files.enter_context(_tried_lock(file)):
                raise ConditionFailed(f"{source} is being moved by another process")
            if _etag(os.stat(start.name, dir_fd=here)) != etag:
                raise ConditionFailed(changed)
            there = open_files.enter_context(_destination(start.parent, here, end))
            if start.name == end.name and os.path.sameopenfile(here, there):
                raise AlreadyThere(f"{destination} is the very file that was to be moved there")
            _link(start.name, here, end.name, there, os.fstat(file))
            self._steps(Step.LINKED)
            linked = _stat(end.name, there)
            # The link must be on disk before the name that it replaces may go.
            os.fsync(there)
            if linked is None or _etag(linked) != etag or not _take_away(start.name, here, etag):
                with suppress(FileNotFoundError):
                    os.unlink(end.name, dir_fd=there)
                raise ConditionFailed(changed)

    def move_folder(self, source: StorePath, destination: StorePath) -> None:
        """Rename a folder with all it holds.

        Raises NotThere without such a folder, AlreadyThere when the destination exists, even
        as an empty folder, WrongRequest when the destination lies inside the source.
        """
        start, end = self._place(source), self._place(destination)
        if not start.is_dir():
            raise NotThere(f"there is no folder {source}")
        if start in end.parents:
            raise WrongRequest(f"{source} cannot be moved into itself, to {destination}")
        _make_folders(end.parent)
        # rename(2) would silently take the place of an empty folder.
        with self._locked(f"folder {end}"):
            if os.path.lexists(end):
                raise AlreadyThere(f"{destination} already exists")
            try:
                start.rename(end)
            except OSError as error:
                if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                    raise AlreadyThere(f"{destination} already exists") from error
                if error.errno == errno.ENOENT:
                    raise NotThere(f"there is no folder {source}") from error
                raise
        for parent in (end.parent, start.parent):
            with suppress(FileNotFoundError), _opened(parent) as fd:
                os.fsync(fd)

    def delete_file(self, path: StorePath) -> None:
        """Remove one file; raises NotThere without such a file."""
        place = self._place(path)
        with _not_there(path), _opened(place.parent) as fd:
            # A conditional write must not find its condition undone between check and rename.
            with self._locked(_key(fd, place.name)):
                if stat.S_ISDIR(os.lstat(place.name, dir_fd=fd).st_mode):
                    raise NotThere(f"{path} is a folder, not a file")
                os.unlink(place.name, dir_fd=fd)
            os.fsync(fd)

    def delete_folder(self, folder: StorePath) -> None:
        """Remove a folder with all it holds; it disappears at once, then its space is freed.

        Raises NotThere without such a folder, OSError when something in it cannot be removed.
        """
        place = self._place(folder)
        if not place.is_dir():
            raise NotThere(f"there is no folder {folder}")
        trash = place.with_name(f"{_TRASH}{uuid4().hex}")
        with _not_there(folder):
            place.rename(trash)
        if trash.is_symlink():
            trash.unlink()
            return
        # Whoever still has the folder open may put files into it while it is being emptied.
        for _ in range(_TRIES):
            shutil.rmtree(trash, ignore_errors=True)
        if trash.exists():
            with suppress(FileNotFoundError):
                shutil.rmtree(trash)
        # What a process that died here has left would use space that nobody sees.
        for left in place.parent.glob(f"{_TRASH}*"):
            shutil.rmtree(left, ignore_errors=True)

    def _place(self, path: StorePath) -> Path:
        if "\0" in path or any(part in ("", ".", "..") for part in path.split("/")):
            raise WrongRequest(f"{path!r} is not a path below the root")
        place = self._root / path
        try:
            inside = place.resolve().is_relative_to(self._root)
        except RuntimeError as error:
            raise WrongRequest(f"{path} leads through a loop of symbolic links") from error
        if not inside:
            raise WrongRequest(
                f"{path} leads out of the root through a symbolic link: mount or copy the files"
            )
        return place

    def _new_identity(self, fd: int) -> Incarnation:
        with self._locked(_key(fd, INCARNATION_FILE)):
            found = _identity(fd)
            if found is not None:
                return found
            identity = Incarnation(uuid4().hex)
            with _temporary(fd, identity.encode()) as temporary:
                # Replaces a damaged file as well; under the lock it can only be one.
                os.rename(temporary, INCARNATION_FILE, src_dir_fd=fd, dst_dir_fd=fd)
            os.fsync(fd)
            return identity

    def _replace(
        self, fd: int, path: StorePath, data: bytes, only_if: ETag | Absent | None
    ) -> ETag:
        name = path.rpartition("/")[2]
        with _temporary(fd, data) as temporary:
            with self._locked(_key(fd, name)):
                old = _stat(name, fd)
                is_file = old is not None and not stat.S_ISDIR(old.st_mode)
                if only_if is ABSENT:
                    holds = not is_file
                else:
                    holds = only_if is None or (old is not None and _etag(old) == only_if)
                if not holds:
                    raise ConditionFailed(f"{path} is no longer as it was when it was looked at")
                if old is not None and not is_file:
                    raise AlreadyThere(f"{path} is a folder")
                # Inodes are reused at once and the kernel's file times stand still for some
                # milliseconds: only a time that always grows keeps an ETag from coming back.
                modified = max(time.time_ns(), old.st_mtime_ns + 1 if old else 0)
                os.utime(temporary, ns=(modified, modified), dir_fd=fd)
                etag = _etag(os.stat(temporary, dir_fd=fd))
                os.rename(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)
            os.fsync(fd)
        return etag

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        """Keep out every other thread and process that asks for the same key."""
        bucket = self._locks / blake2b(os.fsencode(key), digest_size=1).hexdigest()
        fd = self._take(bucket)
        try:
            yield
        finally:
            # A child that was forked meanwhile has the file open too: closing would not unlock.
            fcntl.flock(fd, fcntl.LOCK_UN)
            os.close(fd)

    def _take(self, lock: Path) -> int:
        while True:
            try:
                fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            except FileNotFoundError:
                self._locks.mkdir(parents=True, exist_ok=True)
                continue
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)
                with suppress(FileNotFoundError):
                    # Whoever deletes lock files must not make two holders of one lock.
                    if os.path.samestat(os.fstat(fd), lock.stat()):
                        return fd
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)


@contextmanager
def _not_there(path: StorePath) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotThere(f"there is no {path}") from error


@contextmanager
def _opened(folder: Path | str, parent: int | None = None) -> Iterator[int]:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def _opened_file(name: str, folder: int | Path) -> Iterator[int]:
    # Without O_NONBLOCK a named pipe would hang us until somebody writes into it.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    if isinstance(folder, int):
        fd = os.open(name, flags, dir_fd=folder)
    else:
        fd = os.open(folder / name, flags)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise FileNotFoundError(errno.ENOENT, "not a file", name)
        yield fd
    finally:
        os.close(fd)


@contextmanager
def _tried_lock(fd: int) -> Iterator[bool]:
    """Whether this open file could be locked at once."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
        return
    try:
        yield True
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)


@contextmanager
def _temporary(fd: int, data: bytes) -> Iterator[str]:
    """A durable file with this content, which goes away again unless it is renamed."""
    name = f"{_OURS}{uuid4().hex}"
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=fd)
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
            os.unlink(name, dir_fd=fd)


@contextmanager
def _destination(source_folder: Path, source_fd: int, end: Path) -> Iterator[int]:
    """The opened folder of a destination, made if missing.

    Below the source's folder it is reached through that very folder: the path may by now lead
    into another life of it.
    """
    if not end.parent.is_relative_to(source_folder):
        _make_folders(end.parent)
        with _opened(end.parent) as fd:
            yield fd
        return
    with ExitStack() as folders:
        fd = source_fd
        for part in end.parent.relative_to(source_folder).parts:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=fd)
                os.fsync(fd)
            try:
                fd = folders.enter_context(_opened(part, fd))
            except NotADirectoryError as error:
                raise AlreadyThere(f"{end.parent} is not a folder") from error
        yield fd


def _link(name: str, here: int, new_name: str, there: int, file: os.stat_result) -> None:
    try:
        os.link(name, new_name, src_dir_fd=here, dst_dir_fd=there)
    except FileExistsError as error:
        taken = _stat(new_name, there)
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


def _take_away(name: str, fd: int, etag: ETag) -> bool:
    """Remove a name whose content is kept elsewhere; False when it has another content by now.

    unlink(2) cannot compare, so the name is first put aside: what came in between is put back.
    """
    now = _stat(name, fd)
    if now is None:
        return True
    if _etag(now) != etag:
        return False
    aside = f"{_OURS}{uuid4().hex}"
    try:
        os.rename(name, aside, src_dir_fd=fd, dst_dir_fd=fd)
    except FileNotFoundError:
        return True
    taken = os.stat(aside, dir_fd=fd)
    if stat.S_ISDIR(taken.st_mode):
        os.rename(aside, name, src_dir_fd=fd, dst_dir_fd=fd)
        return False
    if _etag(taken) != etag:
        # Unless something still newer has taken the name.
        with suppress(FileExistsError):
            os.link(aside, name, src_dir_fd=fd, dst_dir_fd=fd)
    os.unlink(aside, dir_fd=fd)
    return _etag(taken) == etag


def _make_folders(folder: Path) -> None:
    try:
        folder.mkdir()
    except FileNotFoundError:
        _make_folders(folder.parent)
        with suppress(FileNotFoundError):
            folder.mkdir(exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        if not folder.is_dir():
            raise AlreadyThere(f"{folder} is not a folder, so nothing can be put there") from error
        return
    with suppress(FileNotFoundError), _opened(folder.parent) as fd:
        os.fsync(fd)


def _entries(fd: int) -> tuple[Entry, ...]:
    found = []
    for name in sorted(os.listdir(fd)):
        try:
            facts = os.stat(name, dir_fd=fd)
        except OSError as error:
            # Gone since, or a symbolic link that leads nowhere.
            if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENOTDIR):
                continue
            raise
        is_folder = stat.S_ISDIR(facts.st_mode)
        if not _hidden(name, is_folder):
            size = 0 if is_folder else facts.st_size
            modified = datetime.fromtimestamp(facts.st_mtime, UTC)
            # A folder's own time and size change with its children; its ETag shall not.
            etag = ETag(f"folder-{facts.st_ino}") if is_folder else _etag(facts)
            found.append(Entry(name, is_folder, size, modified, etag))
    return tuple(found)


def _hidden(name: str, is_folder: bool) -> bool:
    if name.startswith(_OURS):
        return True
    # Hadoop's local file system writes a checksum beside every file.
    return not is_folder and (
        name == INCARNATION_FILE or (name.startswith(".") and name.endswith(".crc"))
    )


def _identity(fd: int) -> Incarnation | None:
    """What the incarnation file says; None when there is none, or none that makes sense."""
    try:
        with _opened_file(INCARNATION_FILE, fd) as file:
            text = os.read(file, 64).strip()
    except FileNotFoundError:
        return None
    return Incarnation(text.decode()) if _IDENTITY.fullmatch(text) else None


def _read(fd: int, start: int, end: int) -> bytes:
    pieces = []
    while start < end:
        piece = os.pread(fd, min(end - start, _MOST_BYTES_A_READ), start)
        if not piece:
            break
        pieces.append(piece)
        start += len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _stat(name: str, fd: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=fd)
    except FileNotFoundError:
        return None


def _etag(facts: os.stat_result) -> ETag:
    return ETag(f"{facts.st_ino}-{facts.st_size}-{facts.st_mtime_ns}")


def _key(fd: int, name: str) -> str:
    """A file's name for locks: the same through whatever path its folder was reached."""
    folder = os.fstat(fd)
    return f"{folder.st_dev}-{folder.st_ino}/{name}"
