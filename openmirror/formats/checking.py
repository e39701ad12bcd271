"""The RowReader port: the rows of a change file, read only to see whether they are right."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.formats.broken_rows import RowsBroken
from openmirror.formats.marker_values import marker_values
from openmirror.formats.parquet.conversion import read_parquet
from openmirror.formats.read_rows import ReadRows
from openmirror.formats.text.rows import read_text
from openmirror.plan.facts import FileFacts
from openmirror.plan.read_rules import ReadRules
from openmirror.ports import FileStore
from openmirror.protocol.rules import Broken, Code
from openmirror.stores.stored_file import open_stored
from openmirror.table.layout import StorePath


class ChangeFileRows:
    """Reads a batch of rows at a time, however large the file is."""

    def __init__(self, store: FileStore) -> None:
        self._store = store

    def markers(self, path: StorePath, facts: FileFacts, rules: ReadRules) -> Iterator[object]:
        """Every row's marker in row order, None for NULL; raises ValueError on damaged Parquet."""
        assert facts.marker is not None
        if rules.text is not None:
            # Where the text itself is wrong, `findings` says so.
            with suppress(RowsBroken):
                for rows in self._rows(path, facts, rules):
                    yield from marker_values(rows.batch.column(facts.marker))
            return
        content, _ = open_stored(self._store, path, facts.etag)
        try:
            with closing(content), pq.ParquetFile(content) as file:
                for batch in file.iter_batches(columns=[facts.marker]):
                    yield from marker_values(batch.column(0))
        except (pa.ArrowException, OSError) as error:
            raise ValueError(str(error)) from error

    def findings(self, path: StorePath, facts: FileFacts, rules: ReadRules) -> Iterator[Broken]:
        """The first rule that values break, and before it the first warning that they give."""
        if not (facts.needs_conversion or rules.reads_exactly(facts.int96)):
            yield from self._damage(path, facts)
            return
        is_to_warn = rules.fractions is None
        try:
            for rows in self._rows(path, facts, rules):
                if rows.truncated and is_to_warn:
                    yield Broken(Code.FRACTIONS_TRUNCATED, rows.truncated)
                    is_to_warn = False
        except RowsBroken as error:
            yield error.broken

    def _damage(self, path: StorePath, facts: FileFacts) -> Iterator[Broken]:
        """What is wrong with Parquet that Spark reads itself: only its pages can be damaged."""
        content, _ = open_stored(self._store, path, facts.etag)
        try:
            with closing(content), pq.ParquetFile(content) as file:
                for _ in file.iter_batches():
                    pass
        except pa.ArrowNotImplementedError:
            return  # not damaged; Spark reads more than this reader
        except (pa.ArrowException, OSError) as error:
            reason = str(error).partition("\n")[0]
            yield Broken(Code.FILE_UNREADABLE, f"its data cannot be read: {reason}")

    def _rows(self, path: StorePath, facts: FileFacts, rules: ReadRules) -> Iterator[ReadRows]:
        content, _ = open_stored(self._store, path, facts.etag)
        with closing(content):
            if rules.text is None:
                yield from read_parquet(content, facts, rules)
            else:
                yield from read_text(content, rules, facts.schema, facts.marker)
