"""Whole rows of text into columns of strings, with NULL where the protocol says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv as pc  # type: ignore[import-untyped]

from openmirror.formats.text.dialect import Dialect
from openmirror.formats.text.ways import CuttingWay, last_row_end, way_to_cut


@dataclass(frozen=True)
class CutRows:
    """Rows from the front of a text."""

    end: int
    """Behind the last of them."""
    columns: list[Any]
    """String arrays, as `cut_columns` makes them."""


def cut_at_once(text: str, dialect: Dialect, count: int) -> CutRows | None:
    """All whole rows of a text, each with exactly so many values.

    None where any of it is in doubt, or there are none: the own grammar says then which rows there
    are, or what is wrong with them.
    """
    end = last_row_end(text, dialect)
    rows = text[:end]
    way = way_to_cut(dialect, rows) if end else CuttingWay.OWN
    if way is CuttingWay.OWN:
        return None
    try:
        columns = _by_pyarrow(rows, dialect, count, way)
    except pa.ArrowInvalid:
        return None
    return CutRows(end, columns) if len(columns[0]) else None


def cut_columns(rows: str, dialect: Dialect, count: int) -> list[Any]:
    """String arrays of whole rows, none of them blank, each with exactly so many values.

    An unquoted value that is the NullValue is NULL.
    """
    way = way_to_cut(dialect, rows, are_matched=True)
    if way is not CuttingWay.OWN:
        return _by_pyarrow(rows, dialect, count, way)
    written = dialect.values.findall(rows)
    null = dialect.text.null
    columns = []
    for number in range(count):
        values = [
            dialect.unquoted(value)
            if dialect.is_quoted(value)
            else None
            if value == null
            else value
            for value in written[number::count]
        ]
        columns.append(pa.array(values, pa.string()))
    return columns


def _by_pyarrow(rows: str, dialect: Dialect, count: int, way: CuttingWay) -> list[Any]:
    """Raises ArrowInvalid where a row has another number of values."""
    data = rows.encode()
    names = [str(number) for number in range(count)]
    table = pc.read_csv(
        pa.BufferReader(data),
        read_options=pc.ReadOptions(
            column_names=names,
            block_size=len(data) + 1,
            use_threads=False,
        ),
        parse_options=pc.ParseOptions(
            delimiter=dialect.text.separator,
            quote_char=dialect.text.quote or False,
            double_quote=True,
            escape_char=dialect.escape if way is CuttingWay.ESCAPED else False,
            newlines_in_values=True,
            ignore_empty_lines=count > 1,
        ),
        convert_options=pc.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[dialect.text.null],
            check_utf8=False,
        ),
    )
    return [column.combine_chunks() for column in table.columns]
