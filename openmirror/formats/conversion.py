"""The Converter: rows that Python reads, written as Parquet parts that Spark reads."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import suppress

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.errors import OpenmirrorError
from openmirror.formats.arrow_types import arrow_type
from openmirror.formats.broken_rows import RowsBroken
from openmirror.formats.parquet.conversion import read_parquet
from openmirror.formats.read_rows import ReadRows
from openmirror.formats.text.rows import read_text
from openmirror.plan.facts import FileFacts, LandedFile
from openmirror.plan.read_rules import ReadRules
from openmirror.ports import Converted, FileStore, Part
from openmirror.protocol.rules import Broken
from openmirror.stores.stored_file import open_stored
from openmirror.table.layout import StorePath, converted_part

_MOST_ROWS = 1_000_000
_MOST_BYTES = 64 << 20
"""Of one part in memory, before it is compressed."""


class FileConverter:
    """Reads change files in a stream and writes them as parts; safe to share between threads.

    A conversion holds one part's rows in memory, at most `most_rows` or `most_bytes` whichever
    comes first, besides what its reader holds.
    """

    def __init__(
        self, store: FileStore, most_rows: int = _MOST_ROWS, most_bytes: int = _MOST_BYTES
    ) -> None:
        self._store = store
        self._most_rows = most_rows
        self._most_bytes = most_bytes

    def convert(self, file: LandedFile, rules: ReadRules, into: StorePath) -> Converted | Broken:
        """Write every row of a file as parts, or say which rule a row breaks.

        Raises NotThere, ConditionFailed for a file that was replaced, and what the store raises.
        """
        facts = file.facts
        if facts is None:
            raise ValueError(f"{file.path} was planned without its facts")
        schema = _schema(facts)
        content, raw = open_stored(self._store, file.path, facts.etag)
        parts: list[Part] = []
        try:
            first_row = 0
            rows = (
                read_parquet(content, facts, rules)
                if rules.text is None
                else read_text(content, rules, facts.schema, facts.marker)
            )
            noted = _Noted(rows)
            for piece in _pieces(noted.batches(), schema, self._most_rows, self._most_bytes):
                path = converted_part(into, file.sequence, first_row)
                self._store.write(path, _parquet(piece))
                parts.append(Part(path, first_row))
                first_row += piece.num_rows
        except RowsBroken as error:
            if raw.failure is not None:
                # What the reader took for damage was the store's own trouble.
                raise raw.failure from error
            return error.broken
        return Converted(tuple(parts), noted.truncated, raw.checksum)

    def discard(self, into: StorePath) -> None:
        """Remove all parts; what cannot be removed now, cleanup removes a day later."""
        with suppress(OpenmirrorError):
            self._store.delete_folder(into)


class _Noted:
    """The batches of some rows, and what happened to their values on the way."""

    def __init__(self, rows: Iterator[ReadRows]) -> None:
        self._rows = rows
        self.truncated: str | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        for rows in self._rows:
            self.truncated = self.truncated or rows.truncated
            yield rows.batch


def _schema(facts: FileFacts) -> pa.Schema:
    fields = [(column.name, arrow_type(column.type)) for column in facts.schema.columns]
    if facts.marker is not None and facts.marker_type is not None:
        fields.append((facts.marker, arrow_type(facts.marker_type)))
    # Parquet counts the rows of columns: without any there would be no rows.
    return pa.schema(fields or [("_", pa.null())])


def _pieces(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, most_rows: int, most_bytes: int
) -> Iterator[pa.Table]:
    """The same rows in tables of bounded size; one without rows when there are none."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    none_yet = True
    for batch in batches:
        for piece in _split(batch, most_rows, most_bytes):
            if held and (rows + piece.num_rows > most_rows or size + piece.nbytes > most_bytes):
                yield _table(held, schema)
                none_yet, held, rows, size = False, [], 0, 0
            held.append(piece)
            rows += piece.num_rows
            size += piece.nbytes
    if held or none_yet:
        yield _table(held, schema)


def _split(batch: pa.RecordBatch, most_rows: int, most_bytes: int) -> Iterator[pa.RecordBatch]:
    """Slices of which each is small enough, if rows are about as large as each other."""
    step = most_rows
    if batch.nbytes > most_bytes:
        step = min(step, max(1, batch.num_rows * most_bytes // batch.nbytes))
    for start in range(0, batch.num_rows, step):
        yield batch.slice(start, step)


def _table(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Batches as a part has them: the columns of the facts and no others, in their order."""
    if not batches:
        return schema.empty_table()
    table = pa.Table.from_batches(batches)
    columns = [
        table.column(field.name) if field.name in table.column_names else _absent(table, field)
        for field in schema
    ]
    # Exactly these types, or it raises: nothing is cast in silence.
    return pa.Table.from_arrays(columns, schema=schema)


def _absent(table: pa.Table, field: pa.Field) -> pa.Array:
    return pa.nulls(table.num_rows, field.type)


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(
        table, sink, compression="zstd", compression_level=1, store_schema=False, version="2.6"
    )
    return sink.getvalue()
