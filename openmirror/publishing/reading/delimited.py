"""Delimited text as rows: CSV, tab-separated text, and what spreadsheets export as either.

Read as PROTOCOL §4.6 reads text, with what an export says of itself: its byte order mark, Excel's
`sep=;` line, the separator that its header has. Only doubling escapes a quote, as in exports.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, NoReturn

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.formats.arrow_types import arrow_type
from openmirror.formats.broken_rows import RowsBroken
from openmirror.formats.text.columns import shown
from openmirror.formats.text.dialect import Dialect, MalformedText
from openmirror.formats.text.rows import read_text
from openmirror.formats.text.source import TextSource
from openmirror.formats.text.values import BLANKS
from openmirror.plan.read_rules import Fractions, ReadRules
from openmirror.protocol.encodings import text_encoding
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.protocol.text_format import TextColumn, TextFormat, TextType
from openmirror.publishing.reading.column_types import ColumnTypes
from openmirror.publishing.reading.inputs import TextOptions
from openmirror.publishing.reading.parquet import Batches

SEPARATORS = ",;\t|"
_HEAD = 1 << 16
_EXCEL_LINE = re.compile(r"sep=(.)(?:\r\n|\n|\r)", re.IGNORECASE)
_REAL_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)$"
_TEXT_TYPES: dict[str, TextType] = {
    "boolean": TextType.BOOLEAN,
    "byte": TextType.INT16,
    "short": TextType.INT16,
    "integer": TextType.INT32,
    "long": TextType.INT64,
    "float": TextType.SINGLE,
    "double": TextType.DOUBLE,
    "string": TextType.STRING,
    "binary": TextType.BYTES,
    "date": TextType.DATE,
    "timestamp": TextType.DATE_TIME,
    "timestamp_ntz": TextType.DATE_TIME,
}


class _Beginning(NamedTuple):
    """What the first bytes of a file say."""

    skipped: int
    """Bytes before the header: Excel's own line, and the mark before it."""
    encoding: str
    separator: str
    header: list[str]


def open_delimited(
    path: Path, types: ColumnTypes, options: TextOptions
) -> tuple[TableSchema, Batches]:
    """A text's columns, in the header's order, and what reads its rows.

    Raises RowsBroken, whose detail has the line, for text that has two readings, that is not in its
    encoding, or that has no header.
    """
    begins = _beginning(path, options)
    typed = tuple(Column(name, types.of(name) or ColumnType("string")) for name in begins.header)
    text = TextFormat(
        separator=begins.separator,
        escape="",
        null=options.null,
        encoding=begins.encoding,
        columns=tuple(TextColumn(column.name, _text_type(column)) for column in typed),
    )
    columns = TableSchema(typed)
    return columns, lambda: _rows(path, begins.skipped, text, columns, types)


def _text_type(column: Column) -> TextType:
    # Decimals have no type of text: they are read as text, and converted.
    return _TEXT_TYPES.get(column.type, TextType.STRING)


def _beginning(path: Path, options: TextOptions) -> _Beginning:
    encoding = text_encoding(options.encoding)
    if encoding is None:
        _refuse(f"there is no encoding {options.encoding!r}")
    with path.open("rb") as content:
        head = content.read(_HEAD)
        content.seek(0)
        source = TextSource(content, encoding)
        source.fill(_HEAD)
    failure = source.failure(line=1)
    if failure and not source.text:
        _refuse(_with_encoding(failure))
    text, skipped, separator = source.ended(), 0, options.separator
    if line := _EXCEL_LINE.match(text):
        separator = separator or line[1]
        skipped, encoding = _bytes_of(line[0], head, encoding)
        text = text[line.end() :]
    if not text.strip():
        _refuse("it is empty: there is no header that names the columns")
    separator = separator or _separator(text)
    dialect = Dialect(TextFormat(separator=separator, escape=""))
    try:
        found = dialect.split(text)
    except MalformedText as wrong:
        _refuse(f"line 1: {wrong.why}")
    if not found:
        _refuse(failure or "the header, line 1, has no end: a quote is never closed")
    names = list(dialect.names(found[0]))
    if blank := [number for number, name in enumerate(names, start=1) if not name.strip()]:
        _refuse(f"line 1: column {blank[0]} has no name")
    return _Beginning(skipped, encoding, separator, names)


def _bytes_of(line: str, head: bytes, encoding: str) -> tuple[int, str]:
    """The bytes of Excel's own line with the mark before it, and the encoding of what follows."""
    marks = (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    )
    mark, found = next(((m, name) for m, name in marks if head.startswith(m)), (b"", encoding))
    found = {"utf-16": "utf-16-le"}.get(found, found)
    written = mark + line.encode(found)
    if not head.startswith(written):
        _refuse(f"line 1 is {line.strip()!r} in a compressed file: unpack it first")
    return len(written), found


def _separator(text: str) -> str:
    """The one separator that the header has outside of quotes; a comma where there is none."""
    quoted = False
    found = set()
    for character in text:
        if character == '"':
            quoted = not quoted
        elif not quoted and character in "\r\n":
            break
        elif not quoted and character in SEPARATORS:
            found.add(character)
    if len(found) > 1:
        seen = " and ".join(sorted(map(repr, found)))
        _refuse(f"line 1 has {seen}: say with --separator which one stands between columns")
    return found.pop() if found else ","


def _rows(
    path: Path, skipped: int, text: TextFormat, columns: TableSchema, types: ColumnTypes
) -> Iterator[pa.RecordBatch]:
    rules = ReadRules(text=text, binary=types.binary, fractions=Fractions.REFUSE)
    first_row = 0
    with path.open("rb") as content:
        content.seek(skipped)
        try:
            for rows in read_text(content, rules, columns, None):
                yield _typed(rows.batch, columns, first_row)
                first_row += rows.batch.num_rows
        except RowsBroken as error:
            detail = _with_encoding(error.broken.detail)
            if skipped:
                detail += " (lines are counted without the first, sep=)"
            raise RowsBroken(replace(error.broken, detail=detail)) from error


def _typed(batch: pa.RecordBatch, columns: TableSchema, first_row: int) -> pa.RecordBatch:
    arrays = []
    for array, column in zip(batch.columns, columns.columns, strict=True):
        target = arrow_type(column.type)
        if array.type != target:
            array = _converted(array, target, column, first_row)
        arrays.append(array)
    return pa.record_batch(arrays, names=[column.name for column in columns.columns])


def _converted(array: pa.Array, target: pa.DataType, column: Column, first_row: int) -> pa.Array:
    """Decimals from text, and bytes from wider whole numbers."""
    if pa.types.is_string(array.type):
        array = pc.utf8_trim(array, BLANKS)
        array = pc.if_else(pc.equal(array, ""), pa.scalar(None, pa.string()), array)
        fits = pc.match_substring_regex(array, _REAL_NUMBER)
        if (row := pc.index(fits, False).as_py()) >= 0:
            _misfit(array, row, column, first_row, "it is no number")
    try:
        return array.cast(target)
    except pa.ArrowInvalid:
        for row in range(len(array)):
            try:
                array.slice(row, 1).cast(target)
            except pa.ArrowInvalid:
                _misfit(array, row, column, first_row, "it has more digits")
        raise


def _misfit(array: pa.Array, row: int, column: Column, first_row: int, why: str) -> NoReturn:
    value = shown(array[row].as_py())
    where = f"row {first_row + row + 1} below the header, column {column.name!r}"
    detail = f"{where}: {value} does not fit {column.type}: {why}"
    raise RowsBroken(Broken(Code.VALUE_INVALID, detail))


def _with_encoding(detail: str) -> str:
    if " are not utf-8" in detail:
        return f"{detail}: say with --encoding what it is, such as windows-1252"
    return detail


def _refuse(detail: str) -> NoReturn:
    raise RowsBroken(Broken(Code.FILE_UNREADABLE, detail))
