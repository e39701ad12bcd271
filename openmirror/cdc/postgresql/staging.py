"""Rows that wait in the landing zone until they can land as one change file.

They lie as Parquet parts outside of the table's folder, so that a mirror does not read them, and so
that they outlive the process: `_streams/_loads/<stream>/<number>/`. A load of a table has its
document, `load.json`, beside its parts. A transaction larger than memory is staged in the same
way, without a document: its log is read again if the process ends before it lands.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from threading import Lock
from uuid import uuid4

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.cdc.postgresql.load_state import LoadState
from openmirror.errors import DocumentUnreadable, NotThere
from openmirror.ports import ABSENT, Absent, FileStore
from openmirror.protocol.names import ETag
from openmirror.protocol.streams import STREAMS_FOLDER
from openmirror.publishing.encoding import LARGE_FILE
from openmirror.table.layout import StorePath, join

LOADS_FOLDER = "_loads"
_DOCUMENT = "load.json"
_ABANDONED_AFTER = timedelta(days=1)
_MOST_ROWS_IN_GROUP = 128 * 1024
"""Rows that a part gives back at once."""


class StagedPieces:
    """Parquet parts below one folder of a landing zone.

    Every method raises what the store raises. Parts can be written by several threads.
    """

    def __init__(self, store: FileStore, folder: StorePath) -> None:
        self._store = store
        self._folder = folder

    @property
    def folder(self) -> StorePath:
        """Where the parts lie."""
        return self._folder

    def write(self, kind: str, rows: pa.Table) -> str:
        """Write one part, and return its name, which no part had before.

        Args:
            kind: What the name begins with, such as `rows`.
            rows: All rows of the part.
        """
        name = f"{kind}-{uuid4().hex}.parquet"
        sink = pa.BufferOutputStream()
        pq.write_table(rows, sink, row_group_size=_MOST_ROWS_IN_GROUP, **LARGE_FILE)
        self._store.write(join(self._folder, name), sink.getvalue().to_pybytes())
        return name

    def read(self, name: str, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the rows of one part in pieces, in their order.

        Args:
            name: What `write` returned.
            columns: The columns to read; None for all.
        """
        content = self._store.read(join(self._folder, name)).data
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group, columns=columns)

    def remove(self, names: Collection[str]) -> None:
        """Remove parts; a part that is gone already is no error."""
        for name in names:
            with suppress(NotThere):
                self._store.delete_file(join(self._folder, name))

    def remove_all(self) -> None:
        """Remove the folder with all that it holds."""
        with suppress(NotThere):
            self._store.delete_folder(self._folder)


class StagedLoad:
    """The document and the parts of one load. Threads may share it."""

    def __init__(self, store: FileStore, folder: StorePath, state: LoadState, etag: ETag) -> None:
        self._store = store
        self._etag = etag
        self._state = state
        self._lock = Lock()
        self.pieces = StagedPieces(store, folder)

    @property
    def state(self) -> LoadState:
        """How far the load has come, as its document says."""
        return self._state

    def change(self, step: Callable[[LoadState], LoadState]) -> LoadState:
        """Write the document anew, and return the new state.

        Raises:
            ConditionFailed: Another process has written the document.
        """
        with self._lock:
            state = step(self._state)
            if state != self._state:
                path = join(self.pieces.folder, _DOCUMENT)
                self._etag = self._store.write(path, state.as_json(), self._etag)
                self._state = state
            return state

    def remove_unneeded(self) -> None:
        """Remove every part that the document does not name, such as an unconfirmed range."""
        entries = self._store.list_folder(self.pieces.folder).entries
        found = {entry.name for entry in entries if not entry.is_folder} - {_DOCUMENT}
        self.pieces.remove(found - self._state.files)

    def remove(self) -> None:
        """Remove the load with all its parts, because it has landed or is given up."""
        self.pieces.remove_all()


class StreamStaging:
    """The staged loads and transactions of one stream. All methods raise what the store raises."""

    def __init__(self, store: FileStore, zone: StorePath, stream: str) -> None:
        self._store = store
        self._folder = join(zone, STREAMS_FOLDER, LOADS_FOLDER, stream)

    def pieces(self, number: str) -> StagedPieces:
        """Return the parts of a transaction that is larger than memory."""
        return StagedPieces(self._store, join(self._folder, number))

    def begin(self, state: LoadState) -> StagedLoad:
        """Write the document of a new load.

        Raises:
            ConditionFailed: The load has a document.
        """
        return self._written(state, ABSENT)

    def open(self, number: str) -> StagedLoad | None:
        """Return a load as its document says; None where there is no document.

        Parts that the document does not name are removed, such as an unconfirmed range.

        Raises:
            DocumentUnreadable: Another version has written the document.
        """
        folder = join(self._folder, number)
        path = join(folder, _DOCUMENT)
        try:
            content = self._store.read(path)
        except NotThere:
            return None
        try:
            state = LoadState.from_json(content.data)
        except ValueError as error:
            raise DocumentUnreadable(f"{path}: {error}") from error
        load = StagedLoad(self._store, folder, state, content.etag)
        load.remove_unneeded()
        return load

    def remove(self, number: str) -> None:
        """Remove whatever is staged under a number."""
        self.pieces(number).remove_all()

    def remove_abandoned(self, owned: Collection[str]) -> list[StorePath]:
        """Remove what is staged under numbers that nobody owns, a day after its last change.

        Args:
            owned: The numbers that the stream's document names, and those of this process.

        Returns:
            The folders that were removed.
        """
        removed = []
        for folder in self.unowned(owned):
            newest, now = self._newest(folder)
            if now - newest > _ABANDONED_AFTER:
                with suppress(NotThere):
                    self._store.delete_folder(folder)
                    removed.append(folder)
        return removed

    def unowned(self, owned: Collection[str]) -> list[StorePath]:
        """Return the folders of everything that is staged under numbers that nobody owns."""
        try:
            entries = self._store.list_folder(self._folder).entries
        except NotThere:
            return []
        return [
            join(self._folder, entry.name)
            for entry in entries
            if entry.is_folder and entry.name not in owned
        ]

    def _newest(self, folder: StorePath) -> tuple[datetime, datetime]:
        """Return when anything in a folder changed last, and the time now, by the store's clock."""
        above = self._store.list_folder(self._folder)
        times = [e.modified for e in above.entries if join(self._folder, e.name) == folder]
        with suppress(NotThere):
            times += [entry.modified for entry in self._store.list_folder(folder).entries]
        return max(times, default=above.at), above.at

    def _written(self, state: LoadState, only_if: ETag | Absent) -> StagedLoad:
        folder = join(self._folder, state.number)
        etag = self._store.write(join(folder, _DOCUMENT), state.as_json(), only_if)
        return StagedLoad(self._store, folder, state, etag)
