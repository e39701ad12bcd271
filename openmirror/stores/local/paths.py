"""From a store's paths to open files and folders, and what identifies a file's content."""

from __future__ import annotations

import errno
import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from openmirror.errors import AccessDenied, AlreadyThere, NotThere, WrongRequest
from openmirror.protocol.names import ETag
from openmirror.table.layout import StorePath

OURS = ".openmirror-"
"""What temporary files, the lock and folders being deleted are called; listings never show them."""


def place(root: Path, path: StorePath) -> Path:
    """Where a path of the store lies.

    Raises WrongRequest for what is no path below the root, AccessDenied for one that leads out of
    it, or nowhere, by a symbolic link.
    """
    if "\0" in path or any(part in ("", ".", "..") for part in path.split("/")):
        raise WrongRequest(f"{path!r} is not a path below the root")
    found = root / path
    if not _passes_link(root, path):
        return found
    try:
        inside = found.resolve().is_relative_to(root)
    except RuntimeError as error:
        loop = f"{path}: access is denied: it leads through a loop of symbolic links"
        raise AccessDenied(loop, path) from error
    if not inside:
        raise AccessDenied(
            f"{path}: access is denied: it leads out of the root through a symbolic link, and "
            f"{this_user()} reads nothing outside",
            path,
        )
    return found


def _passes_link(root: Path, path: StorePath) -> bool:
    """Whether any name on the way from the root is a symbolic link, which few roots have.

    To resolve a path asks for those above the root as well, at each of a thousand calls.
    """
    at = str(root)
    for name in path.split("/"):
        at = f"{at}/{name}"
        try:
            if stat.S_ISLNK(os.lstat(at).st_mode):
                return True
        except OSError:
            return False  # and so nothing below it can be reached
    return False


@contextmanager
def in_our_words(path: StorePath) -> Iterator[None]:
    """Say that this path is missing, or refused, when the system says that of something."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotThere(f"there is no {path}") from error
    except PermissionError as error:
        # Often a folder above, or the lock, and not what was asked for.
        culprit = str(error.filename or "")
        where = f" ({culprit})" if culprit.startswith("/") and not culprit.endswith(path) else ""
        why = f"{path}: access is denied to {this_user()}: {error.strerror}{where}"
        raise AccessDenied(why, path) from error


def this_user() -> str:
    """Whom the system takes this process for."""
    user = os.geteuid()
    try:
        name = pwd.getpwuid(user).pw_name
    except KeyError:
        return f"this process (uid {user})"
    return f"this process ({name}, uid {user})"


@contextmanager
def opened(folder: Path | str, parent: int | None = None) -> Iterator[int]:
    """A folder, which stays the same one whatever becomes of its name."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def opened_file(file: Path | str, folder: int | None = None) -> Iterator[int]:
    """A file for reading; raises FileNotFoundError for anything else."""
    # Without O_NONBLOCK a named pipe would hang us until somebody writes into it.
    fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise FileNotFoundError(errno.ENOENT, "not a file", str(file))
        yield fd
    finally:
        os.close(fd)


def make_folders(folder: Path) -> None:
    """Make a folder and those above it, durably; raises AlreadyThere when a file is in the way."""
    try:
        folder.mkdir()
    except FileNotFoundError:
        make_folders(folder.parent)
        with suppress(FileNotFoundError):
            folder.mkdir(exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        if not folder.is_dir():
            raise AlreadyThere(f"{folder} is not a folder, so nothing can be put there") from error
        return
    sync(folder.parent)


def sync(folder: Path) -> None:
    """Make a change of names in a folder durable."""
    with suppress(FileNotFoundError), opened(folder) as fd:
        os.fsync(fd)


def facts_of(name: str, folder: int) -> os.stat_result | None:
    """What the system knows of a name; None when there is no such name."""
    try:
        return os.stat(name, dir_fd=folder)
    except FileNotFoundError:
        return None


def etag_of(facts: os.stat_result) -> ETag:
    """Changes with every content that a file gets."""
    return ETag(f"{facts.st_ino}-{facts.st_size}-{facts.st_mtime_ns}")
