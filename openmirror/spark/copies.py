"""Copies of change files on this machine, which Spark reads whatever becomes of the files.

A publisher may replace a file between a batch's first reading and its commit. Where Spark runs in
this process' machine alone, the bytes of the planned ETag are copied, and every reading is of the
copy. Elsewhere Spark holds the rows, which costs more than to read them twice.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from openmirror.errors import Unavailable
from openmirror.plan.facts import LandedFile
from openmirror.ports import FileStore
from openmirror.protocol.checksums import Checksum
from openmirror.protocol.sequence import Sequence as Number
from openmirror.spark.room import NEED_ROOM, no_room
from openmirror.stores.stored_file import open_stored

_PREFIX = "openmirror-copies-"
_AT_ONCE = 4 << 20
_YOUNG = 60.0
"""Seconds: a folder that was made just now may not be locked yet."""


@dataclass(frozen=True)
class CopiedFiles:
    """Where the copies of some files are, and what was seen on the way."""

    paths: Mapping[Number, str]
    checksums: Mapping[Number, Checksum]
    """Those of their bytes."""


class Copies:
    """A folder of this process below `$TMPDIR`; safe to use from several threads.

    It goes with this value or its process; what a killed process left is removed by the next.
    """

    def __init__(self, store: FileStore, threads: int = 2) -> None:
        """`threads` files of a batch are copied at a time."""
        self._store = store
        self._threads = threads
        self._making = threading.Lock()
        self._folder, self._end = self._made()
        _remove_others(self._folder)

    def _made(self) -> tuple[Path, Callable[[], object]]:
        """A folder that is locked for as long as it is ours, and what ends that. Cleaners of
        temporary files may heed the lock, and other processes of ours do."""
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        end = weakref.finalize(self, _remove, folder, lock)
        fcntl.flock(lock, fcntl.LOCK_EX)
        return folder, end

    @contextmanager
    def of(self, files: Sequence[LandedFile]) -> Iterator[CopiedFiles]:
        """Copies of these files under their planned ETags, until the end.

        Raises NotThere and ConditionFailed for a file that is another by now, what its store
        raises, and Unavailable where there is no room.
        """
        with self.folder() as folder:
            yield self._copied(files, folder)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """An empty folder, for copies or for what is written in their place, until the end.

        Raises Unavailable where there is no room in it.
        """
        folder: Path | None = None
        try:
            with self._making:
                if not self._folder.exists():
                    # Some cleaner thought it was old.
                    self._end()
                    self._folder, self._end = self._made()
                folder = Path(tempfile.mkdtemp(dir=self._folder))
            yield folder
        except OSError as error:
            if full := no_room(self._folder, error):
                raise full from error
            raise
        finally:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)

    def _copied(self, files: Sequence[LandedFile], folder: Path) -> CopiedFiles:
        paths = {file.sequence: folder / f"{file.sequence:020d}.parquet" for file in files}
        checksums: dict[Number, Checksum] = {}
        with ThreadPoolExecutor(self._threads, thread_name_prefix="copies") as pool:
            work = [pool.submit(self._copy, file, paths[file.sequence]) for file in files]
            try:
                for file, future in zip(files, work, strict=True):
                    if checksum := future.result():
                        checksums[file.sequence] = checksum
            finally:
                pool.shutdown(cancel_futures=True)
        return CopiedFiles({number: str(path) for number, path in paths.items()}, checksums)

    def _copy(self, file: LandedFile, to: Path) -> Checksum | None:
        assert file.facts is not None  # or it would be in no batch
        _, content = open_stored(self._store, file.path, file.facts.etag)
        try:
            with to.open("xb") as sink:
                shutil.copyfileobj(content, sink, _AT_ONCE)
            return content.checksum
        except OSError as error:
            if content.failure is not None:
                raise
            raise Unavailable(
                f"{file.path} cannot be copied to {self._folder} ({error.strerror}). {NEED_ROOM}"
            ) from error


def _remove(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def _remove_others(own: Path) -> None:
    """Remove folders of processes that have ended, by the lock that each of them held."""
    for folder in own.parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            found = folder.lstat()
            if folder == own or found.st_uid != os.getuid() or folder.is_symlink():
                continue
            if time.time() - found.st_mtime > _YOUNG and _is_left(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_left(folder: Path) -> bool:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
