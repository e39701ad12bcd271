"""One input, whatever it is written in, as typed Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.errors import WrongRequest
from openmirror.formats.broken_rows import RowsBroken
from openmirror.protocol.schema import TableSchema, duplicate_column
from openmirror.publishing.reading.column_types import ColumnTypes
from openmirror.publishing.reading.delimited import open_delimited
from openmirror.publishing.reading.inputs import InputFile, InputKind, TextOptions
from openmirror.publishing.reading.json_lines import open_json_lines
from openmirror.publishing.reading.parquet import Batches, open_parquet


@dataclass(frozen=True)
class OpenInput:
    """An input whose columns are known."""

    name: str
    columns: TableSchema
    """In the file's order, without those that have no type because all their values are NULL."""
    read: Batches
    """Reads its rows from the first one on, in these columns and the Arrow types of theirs."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Rows in file order; raises WrongRequest, which names file, place and value."""
        try:
            yield from self.read()
        except RowsBroken as error:
            raise WrongRequest(f"{self.name}: {error.broken.detail}") from error


def open_input(given: InputFile, types: ColumnTypes, options: TextOptions) -> OpenInput:
    """Find out a file's columns; raises WrongRequest, which names the file, for what is no rows.

    Types of Parquet are its own. Those of text are text but for what `types` says; those of JSON
    are what its values are, unless `types` says another.
    """
    try:
        columns, read = _opened(given, types, options)
    except RowsBroken as error:
        raise WrongRequest(f"{given.name}: {error.broken.detail}") from error
    if broken := duplicate_column(columns.names):
        raise WrongRequest(f"{given.name}: {broken.detail} (PROTOCOL §6.1)")
    return OpenInput(given.name, columns, read)


def _opened(
    given: InputFile, types: ColumnTypes, options: TextOptions
) -> tuple[TableSchema, Batches]:
    if given.kind is InputKind.PARQUET:
        return open_parquet(given.path)
    if given.kind is InputKind.CSV:
        return open_delimited(given.path, types, options)
    return open_json_lines(given.path, types)
