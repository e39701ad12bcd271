"""Data files of Delta tables, read and written whole in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.columnar.statistics import Statistics
from openmirror.formats.arrow_types import arrow_type
from openmirror.formats.parquet import footer
from openmirror.formats.parquet.batches import storage_types
from openmirror.formats.parquet.calendars import WRITTEN_BY, may_count_otherwise
from openmirror.formats.parquet.unpacked import unpacked_bytes
from openmirror.ports.merge_rows import positional
from openmirror.ports.new_files import Codec, NewFile
from openmirror.protocol.schema import TableSchema

_PROLEPTIC = {WRITTEN_BY.decode(): "4.0.0"}
"""Spark 3 takes a file without a version of Spark for one that may count days before 1582 by
another calendar, and refuses to read such days. Ours count as Spark does from version 3 on."""
_ROW_GROUP = 16 << 20
"""Bytes in memory of a row group, about, where rows come some at a time."""
_WRITING = {"store_schema": False, "write_page_checksum": True, "store_decimal_as_integer": True}


class NotForHere(Exception):
    """A data file that is better read by Spark, or only by it."""


def read_data_file(path: Path, schema: TableSchema, most: int) -> pa.Table:
    """The rows of a table's data file, by position, in the types of its schema.

    Raises NotForHere above `most` bytes in memory, and for a file whose types or calendar are
    others; FileNotFoundError, and what pyarrow raises for a file that is broken.
    """
    with path.open("rb") as content:
        metadata = footer.footer_of(content)
        is_of_spark = WRITTEN_BY in (metadata.metadata or {})
        if not is_of_spark or may_count_otherwise(metadata):
            raise NotForHere(f"{path.name} does not say that it counts days as we do")
        if not all(kind.simple for _, kind in footer.columns(metadata)):
            raise NotForHere(f"{path.name} has nested values")
        if unpacked_bytes(content, metadata, most) > most:
            raise NotForHere(f"{path.name} is larger than {most} bytes in memory")
    # A path, and not what it holds: read so, nothing is made of the names of its folders.
    with pq.ParquetFile(path, metadata=metadata, **_reading()) as file:
        found = file.read()
    if not set(found.column_names) <= set(schema.names):
        raise NotForHere(f"{path.name} has columns that the table does not have so")
    names = positional(len(schema.columns))
    columns = [_column(found, column.name, arrow_type(column.type)) for column in schema.columns]
    return pa.table(columns, names=names)


def write_data_file(rows: pa.Table, schema: TableSchema, codec: Codec, path: Path) -> NewFile:
    """Write rows, which are given by position, as a new data file of a table.

    Raises FileNotFoundError where the folder has gone; of no rows there
    is no file.
    """
    if not len(rows):
        return NewFile(name=path.name, rows=0, bytes=0, statistics="{}")
    with new_data_file(schema, codec, path) as new:
        new.add(rows.columns)
    return new.as_written()


@contextmanager
def new_data_file(schema: TableSchema, codec: Codec, path: Path) -> Iterator[NewDataFile]:
    """A new data file of a table, which rows are added to until the end.

    Raises FileNotFoundError where the folder has gone. What an error ends, and what has no rows,
    leaves no file.
    """
    fields = pa.schema([(column.name, arrow_type(column.type)) for column in schema.columns])
    # NaN is larger than any number, and Arrow leaves it out of the bounds that it writes: whoever
    # goes by them passes over rows with it.
    bounded = [c.name for c in schema.columns if c.type not in ("float", "double")]
    options = {**_WRITING, "compression": codec.value, "write_statistics": bounded}
    try:
        with pq.ParquetWriter(path, fields, **options) as to:
            new = NewDataFile(path, to)
            yield new
            new.flush()
            to.add_key_value_metadata(_PROLEPTIC)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    if not new.statistics.rows:
        path.unlink()


class NewDataFile:
    """A data file that is being written; `new_data_file` begins and ends it."""

    def __init__(self, path: Path, to: pq.ParquetWriter) -> None:
        self.statistics = Statistics()
        self._path = path
        self._to = to
        self._waiting: list[pa.Table] = []
        self._held = 0

    def add(self, columns: Sequence[pa.ChunkedArray]) -> None:
        """More rows; they are held until they fill a row group."""
        fields = self._to.schema
        typed = [column.cast(f.type) for column, f in zip(columns, fields, strict=True)]
        rows = pa.table(typed, schema=fields)
        self._waiting.append(rows)
        self._held += rows.nbytes
        if self._held >= _ROW_GROUP:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are held."""
        if not self._waiting:
            return
        rows = pa.concat_tables(self._waiting)
        self._waiting, self._held = [], 0
        self._to.write_table(rows)
        self.statistics.add(rows)

    def as_written(self) -> NewFile:
        """The file, once it has ended."""
        rows = self.statistics.rows
        return NewFile(
            name=self._path.name,
            rows=rows,
            bytes=self._path.stat().st_size if rows else 0,
            statistics=self.statistics.as_json(),
        )


def _reading() -> dict[str, Any]:
    return {
        "coerce_int96_timestamp_unit": "us",
        "page_checksum_verification": True,
        **storage_types(),
    }


def _column(found: pa.Table, name: str, kind: pa.DataType) -> pa.ChunkedArray:
    at = found.schema.get_field_index(name)
    if at < 0:
        # Written before the column came.
        return pa.chunked_array([pa.nulls(len(found), kind)])
    column = found.column(at)
    if column.type == kind:
        return column
    if pa.types.is_timestamp(kind) and column.type == pa.timestamp("us"):
        # Of a time that is stored as INT96, where nothing says whether it has a zone.
        return pa.chunked_array([chunk.view(kind) for chunk in column.chunks], kind)
    raise NotForHere(f"{name} is stored as {column.type}, and is {kind} in the table")
