"""From a store's paths to open files and folders, and what identifies a file's content."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from openmirror.errors import AlreadyThere, NotThere, WrongRequest
from openmirror.protocol.names import ETag
from openmirror.table.layout import StorePath

OURS = ".openmirror-"
"""What temporary files, the lock and folders being deleted are called; listings never show them."""


def place(root: Path, path: StorePath) -> Path:
    """Where a path of the store lies; raises WrongRequest unless that is below the root."""
    if "\0" in path or any(part in ("", ".", "..") for part in path.split("/")):
        raise WrongRequest(f"{path!r} is not a path below the root")
    found = root / path
    try:
        inside = found.resolve().is_relative_to(root)
    except RuntimeError as error:
        raise WrongRequest(f"{path} leads through a loop of symbolic links") from error
    if not inside:
        raise WrongRequest(
            f"{path} leads out of the root through a symbolic link: mount or copy the files"
        )
    return found


@contextmanager
def not_there(path: StorePath) -> Iterator[None]:
    """Say that this path is missing when the system says that of something."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotThere(f"there is no {path}") from error


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
