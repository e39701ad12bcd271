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
from openmirror.formats.text.cutting import cut_at_once, cut_columns
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
class _Piece:
    """Rows that are converted at once."""

    text: str
    line: int
    """Of the file, where the text begins."""
    rows: tuple[slice, ...]
    """Where there are rows in it that follow each other."""
    columns: list[Any] | None
    """Cut into strings, where that proved the rows to be rows; None where the grammar did."""

    def cut(self, dialect: Dialect, count: int) -> list[Any]:
        if self.columns is not None:
            return self.columns
        return cut_columns("".join(self.text[part] for part in self.rows), dialect, count)


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
            _refuse(source.failure(line=1) or "the header, line 1, has no end")


def _pieces(source: TextSource, dialect: Dialect, count: int, line: int) -> Iterator[_Piece]:
    """Rows of exactly so many values, in pieces; raises RowsBroken at the first other one."""
    while True:
        source.fill(max(_PIECE, 2 * len(source.text)))
        text = source.ended()
        piece, at = _piece(text, dialect, count, line)
        if piece.rows:
            yield piece
        line += line_ends(text[:at])
        source.text = text[at:]
        if not source.text and source.is_ended and not source.has_failed:
            return
        _check_rest(source, dialect, count, line)


def _piece(text: str, dialect: Dialect, count: int, line: int) -> tuple[_Piece, int]:
    """All whole rows of a text that begins on this line, and where they and blank lines end."""
    cut = cut_at_once(text, dialect, count)
    if cut is not None:
        more, end = _rows(text, cut.end, dialect, count)
        if not more:
            return _Piece(text, line, (slice(cut.end),), cut.columns), end
    rows, end = _rows(text, 0, dialect, count)
    return _Piece(text, line, rows, None), end


def _rows(text: str, at: int, dialect: Dialect, count: int) -> tuple[tuple[slice, ...], int]:
    """The rows that the grammar finds from here on, and where they and blank lines end."""
    pattern = dialect.rows(count)
    rows: list[slice] = []
    while True:
        match = pattern.match(text, at)
        if match and match.end() > at:
            rows.append(slice(at, match.end()))
            at = match.end()
        # In a file of one column these are rows, and were matched above.
        blanks = dialect.blanks.match(text, at)
        if blanks is None:
            return tuple(rows), at
        at = blanks.end()


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
    if failure := source.failure(line):
        _refuse(failure)
    if source.is_ended or len(rest) > LONGEST_ROW:
        quote = dialect.open_quote(rest)
        if quote is not None:
            begins = line + line_ends(rest[:quote])
            _refuse(f"the quote that begins in line {begins} is never closed")
        _refuse(f"the row of line {line} has more than {LONGEST_ROW} characters")


def _batch(piece: _Piece, dialect: Dialect, columns: tuple[_Column, ...], count: int) -> ReadRows:
    cut = piece.cut(dialect, count)
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


def _must_be_empty(strings: Any, piece: _Piece, dialect: Dialect, count: int) -> None:
    """Behind the last name there is a separator, and behind each last value nothing but one."""
    is_null = pc.is_null(strings)
    is_wrong = (
        pc.or_kleene(is_null, pc.not_equal(strings, ""))
        if dialect.text.null
        else pc.invert(is_null)
    )
    row = pc.index(is_wrong, pa.scalar(True)).as_py()
    if row >= 0:
        line = _line(piece, dialect, count, row)
        value = strings[row].as_py()
        text = shown(dialect.text.null if value is None else value)
        _refuse(f"line {line} has {text} in column {count}, which the header gives no name")


def _line(piece: _Piece, dialect: Dialect, count: int, row: int) -> int:
    """The line where a row begins, which only a mistake makes worth looking for."""
    pattern = dialect.row(count)
    for part in piece.rows:
        matches = pattern.finditer(piece.text, *part.indices(len(piece.text))[:2])
        starts = [match.start() for match in islice(matches, row + 1)]
        if len(starts) > row:
            return piece.line + line_ends(piece.text[: starts[row]])
        row -= len(starts)
    raise ValueError("the piece has fewer rows")


def _refuse(detail: str) -> NoReturn:
    raise RowsBroken(Broken(Code.FILE_UNREADABLE, detail, TEXT_REMEDY))
