"""The rows of one file of delimited text, in file order, as typed record batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO, NoReturn

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.errors import TEXT_REMEDY
from openmirror.formats.broken_rows import RowsBroken
from openmirror.formats.read_rows import ReadRows
from openmirror.formats.text.columns import Misfit, arrow_type, converted, shown, truncated
from openmirror.formats.text.cutting import cut_columns
from openmirror.formats.text.decoding import line_ends
from openmirror.formats.text.dialect import Dialect, MalformedText
from openmirror.formats.text.source import TextSource
from openmirror.formats.text.values import BLANKS
from openmirror.plan.read_rules import ReadRules
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.text_format import TextFormat

_PIECE = 1 << 22
"""Characters that are cut and converted at once."""
LONGEST_ROW = 1 << 26
"""Characters: above it, a quote was left open rather than a value meant."""


def read_text(
    content: BinaryIO, rules: ReadRules, facts_schema: TableSchema, marker: str | None
) -> Iterator[ReadRows]:
    """Read a whole file in a stream (PROTOCOL §4.6).

    Columns are named and ordered as in the header. Their types are those of `facts_schema`, which
    the inspector made of this header; the marker column is text. `content` is read once, forward,
    and may be compressed.

    Raises RowsBroken, whose detail names line, column and value; what `content.read` raises.
    """
    text = rules.text
    if text is None:
        raise ValueError("these rules are not those of text")
    source = TextSource(content, text.encoding)
    dialect = Dialect(text)
    header, line = _header(source, dialect)
    names, count = dialect.names(header), len(header)
    columns = tuple(_Column(name, name == marker, text, rules, facts_schema) for name in names)
    for piece in _pieces(source, dialect, count, line):
        yield _batch(piece, dialect, columns, count)


@dataclass(frozen=True)
class _Column:
    """One column of the header."""

    name: str
    is_marker: bool
    text: TextFormat
    rules: ReadRules
    facts_schema: TableSchema

    @property
    def type(self) -> Any:
        of_table = self.facts_schema.find(self.name)
        if of_table is not None and of_table.type == "timestamp_ntz":
            return pa.timestamp("us")
        return pa.string() if self.is_marker else arrow_type(self.text.column(self.name))

    def of(self, strings: Any) -> Any:
        """The column in its type; raises Misfit."""
        if self.is_marker:
            return pc.utf8_trim(strings, BLANKS)
        declared, null = self.text.column(self.name), self.text.null
        return converted(strings, declared, null, self.rules.binary).cast(self.type)

    def truncated(self, strings: Any) -> tuple[Any, int | None]:
        """The values with no more digits than tables hold, and the first row that lost some."""
        if self.is_marker or not self.rules.truncates(self.name):
            return strings, None
        return truncated(strings, self.text.column(self.name))


@dataclass(frozen=True)
class _Segment:
    """Whole rows that follow each other, and the line of the file where the first begins."""

    text: str
    line: int


def _header(source: TextSource, dialect: Dialect) -> tuple[list[str], int]:
    """The header as written, and the line after it; takes it from the source."""
    while True:
        source.fill(max(_PIECE, 2 * len(source.text)))
        text = source.ended()
        try:
            found = dialect.split(text)
        except MalformedText as wrong:
            _refuse(f"line {1 + line_ends(text[: wrong.at])}: {wrong.why}")
        if found:
            written, end = found
            source.text = text[end:]
            return written, 1 + line_ends(text[:end])
        if source.is_ended or len(text) > LONGEST_ROW:
            _refuse(source.failure or "the header, line 1, has no end")


def _pieces(
    source: TextSource, dialect: Dialect, count: int, line: int
) -> Iterator[tuple[_Segment, ...]]:
    """Rows of exactly so many values, in pieces; raises RowsBroken at the first other one."""
    rows = dialect.rows(count)
    while True:
        source.fill(max(_PIECE, 2 * len(source.text)))
        text = source.ended()
        segments: list[_Segment] = []
        at = 0
        while True:
            match = rows.match(text, at)
            if match and match.end() > at:
                segments.append(_Segment(match[0], line))
                line += line_ends(match[0])
                at = match.end()
            blanks = dialect.blanks.match(text, at)
            if blanks is None:
                break
            # In a file of one column these are rows, and were matched above.
            line += line_ends(blanks[0])
            at = blanks.end()
        if segments:
            yield tuple(segments)
        source.text = text[at:]
        if not source.text and source.is_ended and source.failure is None:
            return
        _check_rest(source, dialect, count, line)


def _check_rest(source: TextSource, dialect: Dialect, count: int, line: int) -> None:
    """Refuse what is left where it is no row, or the beginning of one."""
    rest = source.text
    try:
        row = dialect.split(rest)
    except MalformedText as wrong:
        _refuse(f"line {line + line_ends(rest[: wrong.at])}: {wrong.why}")
    if row is not None:
        found = len(row[0])
        _refuse(f"line {line} has {found} value{'s'[: found != 1]}; the header has {count}")
    if source.failure is not None:
        _refuse(source.failure)
    if source.is_ended or len(rest) > LONGEST_ROW:
        quote = dialect.open_quote(rest)
        if quote is not None:
            begins = line + line_ends(rest[:quote])
            _refuse(f"the quote that begins in line {begins} is never closed")
        _refuse(f"the row of line {line} has more than {LONGEST_ROW} characters")


def _batch(
    piece: tuple[_Segment, ...], dialect: Dialect, columns: tuple[_Column, ...], count: int
) -> ReadRows:
    text = "".join(segment.text for segment in piece) if len(piece) > 1 else piece[0].text
    cut = cut_columns(text, dialect, count)
    if len(columns) < count:
        _must_be_empty(cut.pop(), piece, dialect, count)
    arrays: list[Any] = []
    misfits: list[tuple[Misfit, int]] = []
    losses: list[tuple[int, int]] = []
    for number, (column, strings) in enumerate(zip(columns, cut, strict=True)):
        shortened, row = column.truncated(strings)
        if row is not None:
            losses.append((row, number))
        try:
            arrays.append(column.of(shortened))
        except Misfit as wrong:
            misfits.append((wrong, number))
    if misfits:
        misfit, number = min(misfits, key=lambda found: (found[0].row, found[1]))
        kind = dialect.text.column(columns[number].name).type
        line = _line(piece, dialect, count, misfit.row)
        place = _place(line, columns[number], cut[number][misfit.row].as_py())
        detail = f"{place} does not fit {kind}: {misfit.why}"
        raise RowsBroken(Broken(Code.VALUE_INVALID, detail))
    fields = [pa.field(column.name, column.type) for column in columns]
    batch = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
    if not losses:
        return ReadRows(batch)
    row, number = min(losses)
    line = _line(piece, dialect, count, row)
    place = _place(line, columns[number], cut[number][row].as_py())
    return ReadRows(batch, f"{place} is finer than a microsecond, and lost what is finer")


def _place(line: int, column: _Column, value: object) -> str:
    return f"line {line}, column {column.name!r}: {shown(value)}"


def _must_be_empty(strings: Any, piece: tuple[_Segment, ...], dialect: Dialect, count: int) -> None:
    """Behind the last name there is a separator, and behind each last value nothing but one."""
    empty = "" if dialect.text.null else None
    row = next((row for row, value in enumerate(strings.to_pylist()) if value != empty), None)
    if row is not None:
        line = _line(piece, dialect, count, row)
        value = strings[row].as_py()
        text = shown(dialect.text.null if value is None else value)
        _refuse(f"line {line} has {text} in column {count}, which the header gives no name")


def _line(piece: tuple[_Segment, ...], dialect: Dialect, count: int, row: int) -> int:
    """The line where a row begins, which only a mistake makes worth looking for."""
    pattern = dialect.row(count)
    for segment in piece:
        starts = [match.start() for match in islice(pattern.finditer(segment.text), row + 1)]
        if len(starts) > row:
            return segment.line + line_ends(segment.text[: starts[row]])
        row -= len(starts)
    raise ValueError("the piece has fewer rows")


def _refuse(detail: str) -> NoReturn:
    raise RowsBroken(Broken(Code.FILE_UNREADABLE, detail, TEXT_REMEDY))
