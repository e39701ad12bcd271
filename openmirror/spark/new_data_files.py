"""Where this process writes new data files of a table, and reads old ones.

On this machine that is the table's folder itself; elsewhere a folder of our own, between which and
the table Hadoop copies. A table's folder is never made.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from openmirror.spark.room import no_room
from openmirror.spark.scala import class_of

_THIS_MACHINE = "file"


class DataFolder:
    """A table's folder of data files, for as long as one commit takes."""

    def __init__(self, session: SparkSession, folder: Any, settings: Any) -> None:
        """`folder` is the table's, as a path of Hadoop's, which `settings` of Hadoop lead to."""
        self._path_of: Any = class_of(session, "org.apache.hadoop.fs.Path")
        self._copy = class_of(session, "org.apache.hadoop.fs.FileUtil").copy
        self._folder, self._settings = folder, settings
        self._files = folder.getFileSystem(settings)
        self._own: tempfile.TemporaryDirectory[str] | None = None
        self._here = self._files.getUri().getScheme() == _THIS_MACHINE

    def __enter__(self) -> DataFolder:
        """Raises Unavailable where there is no room for a folder of our own."""
        if not self._here:
            try:
                self._own = tempfile.TemporaryDirectory(prefix="openmirror-table-")
            except OSError as error:
                if full := no_room(tempfile.gettempdir(), error):
                    raise full from error
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        """Raises Unavailable where a folder of our own was too small for this commit's files."""
        if self._own is None:
            return
        self._own.cleanup()
        if full := no_room(self._own.name, error):
            raise full from error

    def path(self, name: str) -> Path:
        """Where this process writes a new file of this name."""
        return self._home / name

    def fetched(self, name: str) -> Path:
        """A data file of the table, by its path below that, as one that this process can read."""
        if self._here:
            return self._home / name
        copy = self._home / f"{len(list(self._home.iterdir()))}.parquet"
        self._copied(self._in_table(name), self._on_this_machine(copy))
        return copy

    def put(self, *paths: Path) -> bool:
        """Bring files that were written to where the table has its own, all or none; False where
        the table has gone, whose folder Hadoop would make again. Raises what the place raises.
        """
        put = False
        try:
            put = all(self._put(path) for path in paths)
        finally:
            if not put:
                self.take_back(paths)
        return put

    def take_back(self, paths: Sequence[Path]) -> None:
        """Delete what was put, which no version names. What cannot be deleted now stays, as what a
        killed writer left."""
        for path in paths:
            with suppress(OSError, Py4JError):
                if self._here:
                    (self._home / path.name).unlink(missing_ok=True)
                else:
                    self._files.delete(self._in_table(path.name), False)

    def _put(self, path: Path) -> bool:
        if not self._here:
            if not self._files.exists(self._in_table("_delta_log")):
                return False
            self._copied(self._on_this_machine(path), self._in_table(path.name))
        elif path.parent != self._home:
            if not self._home.is_dir():
                return False
            # A file that moves keeps the group and the rights that it has elsewhere.
            shutil.copyfile(path, self._home / path.name)
        return True

    @property
    def _home(self) -> Path:
        return Path(self._own.name if self._own else self._folder.toUri().getPath())

    def _in_table(self, name: str) -> Any:
        return self._path_of(self._folder, name)

    def _on_this_machine(self, path: Path) -> Any:
        return self._path_of(f"{_THIS_MACHINE}:{path}")

    def _copied(self, source: Any, to: Any) -> None:
        """Between file systems; what is copied stays, and nothing is there to be overwritten."""
        settings = self._settings
        own, other = source.getFileSystem(settings), to.getFileSystem(settings)
        self._copy(own, source, other, to, False, False, settings)
