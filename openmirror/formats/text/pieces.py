"""A file of delimited text in pieces of whole rows, each with as many values as the header."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NoReturn

from openmirror.errors import TEXT_REMEDY
from openmirror.formats.broken_rows import RowsBroken
from openmirror.formats.text.cutting import cut_at_once, cut_columns
from openmirror.formats.text.decoding import line_ends
from openmirror.formats.text.dialect import Dialect, MalformedText
from openmirror.formats.text.source import TextSource
from openmirror.protocol.rules import Broken, Code

_PIECE = 1 << 22
"""Characters that are cut and converted at once."""
LONGEST_ROW = 1 << 26
"""Characters: above it, a quote was left open rather than a value meant."""


@dataclass(frozen=True)
class TextPiece:
    """Rows that are converted at once."""

    text: str
    line: int
    """Of the file, where the text begins."""
    rows: tuple[slice, ...]
    """Where there are rows in it that follow each other."""
    columns: list[Any] | None
    """Cut into strings, where that proved the rows to be rows; None where the grammar did."""

    def cut(self, dialect: Dialect, count: int) -> list[Any]:
        """String arrays of its rows; NULL is NULL in them already."""
        if self.columns is not None:
            return self.columns
        return cut_columns("".join(self.text[part] for part in self.rows), dialect, count)

    def line_of(self, row: int, dialect: Dialect, count: int) -> int:
        """The line where a row begins, which only a mistake makes worth looking for."""
        pattern = dialect.row(count)
        for part in self.rows:
            matches = pattern.finditer(self.text, *part.indices(len(self.text))[:2])
            starts = [match.start() for match in islice(matches, row + 1)]
            if len(starts) > row:
                return self.line + line_ends(self.text[: starts[row]])
            row -= len(starts)
        raise ValueError("the piece has fewer rows")


def header_of(source: TextSource, dialect: Dialect) -> tuple[list[str], int]:
    """The header as written, and the line after it; takes it from the source."""
    while True:
        source.fill(max(_PIECE, 2 * len(source.text)))
        text = source.ended()
        try:
            found = dialect.split(text)
        except MalformedText as wrong:
            refuse(f"line {1 + line_ends(text[: wrong.at])}: {wrong.why}")
        if found:
            written, end = found
            source.text = text[end:]
            return written, 1 + line_ends(text[:end])
        if source.is_ended or len(text) > LONGEST_ROW:
            refuse(source.failure(line=1) or "the header, line 1, has no end")


def pieces_of(source: TextSource, dialect: Dialect, count: int, line: int) -> Iterator[TextPiece]:
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


def _piece(text: str, dialect: Dialect, count: int, line: int) -> tuple[TextPiece, int]:
    """All whole rows of a text that begins on this line, and where they and blank lines end."""
    cut = cut_at_once(text, dialect, count)
    if cut is not None:
        more, end = _rows(text, cut.end, dialect, count)
        if not more:
            return TextPiece(text, line, (slice(cut.end),), cut.columns), end
    rows, end = _rows(text, 0, dialect, count)
    return TextPiece(text, line, rows, None), end


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
        refuse(f"line {line + line_ends(rest[: wrong.at])}: {wrong.why}")
    if row is not None:
        found = len(row[0])
        refuse(f"line {line} has {found} value{'s'[: found != 1]}; the header has {count}")
    if failure := source.failure(line):
        refuse(failure)
    if source.is_ended or len(rest) > LONGEST_ROW:
        quote = dialect.open_quote(rest)
        if quote is not None:
            begins = line + line_ends(rest[:quote])
            refuse(f"the quote that begins in line {begins} is never closed")
        refuse(f"the row of line {line} has more than {LONGEST_ROW} characters")


def refuse(detail: str) -> NoReturn:
    """Raise RowsBroken for text that cannot be cut."""
    raise RowsBroken(Broken(Code.FILE_UNREADABLE, detail, TEXT_REMEDY))
