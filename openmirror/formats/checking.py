"""The RowReader port: the rows of a change file, read only to see whether they are right."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.formats.broken_rows import RowsBroken
from openmirror.formats.parquet.conversion import read_parquet
from openmirror.formats.text.rows import read_text
from openmirror.plan.facts import FileFacts
from openmirror.ports import FileStore
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.text_format import TextFormat
from openmirror.stores.stored_file import open_stored
from openmirror.table.layout import StorePath


class ChangeFileRows:
    """Reads a batch of rows at a time, however large the file is."""

    def __init__(self, store: FileStore) -> None:
        self._store = store

    def markers(
        self, path: StorePath, facts: FileFacts, text: TextFormat | None
    ) -> Iterator[object]:
        """Every row's marker in row order, None for NULL; raises ValueError on damaged Parquet."""
        assert facts.marker is not None
        if text is not None:
            # Where the text itself is wrong, `first_broken` says so.
            with suppress(RowsBroken):
                for batch in self._batches(path, facts, text):
                    yield from batch.column(facts.marker).to_pylist()
            return
        content, _ = open_stored(self._store, path, facts.etag)
        try:
            with closing(content), pq.ParquetFile(content) as file:
                for batch in file.iter_batches(columns=[facts.marker]):
                    yield from batch.column(0).to_pylist()
        except (pa.ArrowException, OSError) as error:
            raise ValueError(str(error)) from error

    def first_broken(
        self, path: StorePath, facts: FileFacts, text: TextFormat | None
    ) -> Broken | None:
        """The first rule that the values of a file break, all its pages read as the engine does."""
        if not facts.needs_conversion:
            return self._damaged(path, facts)
        try:
            for _ in self._batches(path, facts, text):
                pass
        except RowsBroken as error:
            return error.broken
        return None

    def _damaged(self, path: StorePath, facts: FileFacts) -> Broken | None:
        """Parquet that Spark reads itself: only its data pages can be damaged."""
        content, _ = open_stored(self._store, path, facts.etag)
        try:
            with closing(content), pq.ParquetFile(content) as file:
                for _ in file.iter_batches():
                    pass
        except pa.ArrowNotImplementedError:
            return None  # not damaged; Spark reads more than this reader
        except (pa.ArrowException, OSError) as error:
            reason = str(error).partition("\n")[0]
            return Broken(Code.FILE_UNREADABLE, f"its data cannot be read: {reason}")
        return None

    def _batches(
        self, path: StorePath, facts: FileFacts, text: TextFormat | None
    ) -> Iterator[pa.RecordBatch]:
        content, _ = open_stored(self._store, path, facts.etag)
        with closing(content):
            if text is None:
                yield from read_parquet(content, facts)
            else:
                yield from read_text(content, text, facts.schema, facts.marker)
