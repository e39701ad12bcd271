"""Parquet files as rows in the types of tables (PROTOCOL §6.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.formats.broken_rows import RowsBroken
from openmirror.formats.parquet import footer
from openmirror.formats.parquet.batches import batches
from openmirror.formats.parquet.types import ParquetType, column_type
from openmirror.formats.parquet.values import Unfit, to_column
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import Column, ColumnType, TableSchema

Batches = Callable[[], Iterator[pa.RecordBatch]]


class _Read(NamedTuple):
    """A column that is read: its place in the file, and what it becomes."""

    number: int
    name: str
    kind: ParquetType
    type: ColumnType


def open_parquet(path: Path) -> tuple[TableSchema, Batches]:
    """A file's columns, without those of the Null type, and what reads its rows.

    Raises RowsBroken for a footer that cannot be read and for a type that tables cannot have.
    """
    try:
        with path.open("rb") as content:
            metadata = footer.footer_of(content)
            found = footer.columns(metadata)
    except (pa.ArrowException, OSError, ValueError) as error:
        _refuse(f"it cannot be read as Parquet: {_first_line(error)}")
    reads = []
    for number, (name, kind) in enumerate(found):
        if kind.is_null:
            continue
        typed = column_type(kind)
        if typed is None:
            detail = f"column {name!r} has the type {kind}, which tables cannot hold"
            raise RowsBroken(Broken(Code.COLUMN_TYPE_UNSUPPORTED, f"{detail} (PROTOCOL §6.5)"))
        reads.append(_Read(number, name, kind, typed))
    columns = TableSchema(tuple(Column(read.name, read.type) for read in reads))
    return columns, lambda: _rows(path, metadata, found, reads)


def _rows(
    path: Path, metadata: Any, found: list[tuple[str, ParquetType]], reads: list[_Read]
) -> Iterator[pa.RecordBatch]:
    first_row = 0
    try:
        with path.open("rb") as content:
            for batch in batches(content, metadata, found):
                yield _batch(batch, reads, first_row)
                first_row += batch.num_rows
    except (pa.ArrowException, OSError, ValueError) as error:
        _refuse(f"its footer is valid, but its data cannot be read: {_first_line(error)}")


def _batch(batch: pa.RecordBatch, reads: list[_Read], first_row: int) -> pa.RecordBatch:
    arrays = []
    for number, name, kind, of_table in reads:
        try:
            array = to_column(batch.column(number), kind, of_table)
            _need_text(array)
        except Unfit as unfit:
            where = f"row {first_row + unfit.row + 1}, column {name!r}"
            broken = Broken(Code.VALUE_INVALID, f"{where}: {unfit.why} (PROTOCOL §6.5)")
            raise RowsBroken(broken) from unfit
        arrays.append(array)
    return pa.record_batch(arrays, names=[read.name for read in reads])


def _need_text(array: pa.Array) -> None:
    """Raise Unfit for text that is not UTF-8, which Parquet allows nobody to write."""
    if not pa.types.is_string(array.type):
        return
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        for row, value in enumerate(array.cast(pa.binary()).to_pylist()):
            try:
                (value or b"").decode()
            except UnicodeDecodeError:
                raise Unfit(row, f"{value[:16]!r} is declared text, and is not UTF-8") from None
        raise


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _refuse(detail: str) -> NoReturn:
    raise RowsBroken(Broken(Code.FILE_UNREADABLE, detail))
