"""Whole rows of text into columns of strings, with NULL where the protocol says so."""

from __future__ import annotations

from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv as pc  # type: ignore[import-untyped]

from openmirror.formats.text.dialect import Dialect


def cut_columns(text: str, dialect: Dialect, count: int) -> list[Any]:
    """String arrays of whole rows, none of them blank, each with exactly so many values.

    An unquoted value that is the NullValue is NULL.
    """
    if _is_plain(text, dialect):
        return _by_pyarrow(text, dialect, count)
    written = dialect.values.findall(text)
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


def _is_plain(text: str, dialect: Dialect) -> bool:
    """Whether pyarrow's own reader, which is faster, cuts these rows as the protocol says.

    It would let an escape change any character, inside quotes and outside. Malformed quotes it
    would let pass, but they never come here.
    """
    separator, quote, escape = dialect.text.separator, dialect.text.quote, dialect.escape
    if not (separator.isascii() and (separator.isprintable() or separator == "\t")):
        return False
    if text.startswith("\ufeff"):
        return False  # it would be taken for a byte order mark
    return not escape or escape not in text or quote not in text


def _by_pyarrow(text: str, dialect: Dialect, count: int) -> list[Any]:
    data = text.encode()
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
            escape_char=False,
            newlines_in_values=True,
            ignore_empty_lines=False,
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
