"""One generated file: its bytes, and the rows that were drawn, as which it must be read."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from openmirror.protocol.schema import ColumnType
from openmirror.protocol.text_format import TextColumn, TextType
from tests.text.dialects import LINE_ENDS, Dialect, dialect
from tests.text.packing import packed
from tests.text.values import Value, spelled

_NAMES = (
    "id",
    "Name",
    "a b",
    "größe",
    "x.y",
    "a,b",
    "a;b|c",
    'say "hi"',
    "it's",
    "new\nline",
    "名前",
)
_MARKER_NAMES = ("__rowMarker__", "__ROWMARKER__", "__rowmarker__")
_MARKERS = ("0", "1", "2", "4")
_COLUMN_TYPES = {
    TextType.DOUBLE: "double",
    TextType.SINGLE: "float",
    TextType.INT16: "short",
    TextType.INT32: "integer",
    TextType.INT64: "long",
    # Without a zone; whether that is UTC in the table is the policy of the table.
    TextType.DATE_TIME: "timestamp_ntz",
    TextType.DATE: "date",
    TextType.TIME: "string",
    TextType.STRING: "string",
    TextType.BOOLEAN: "boolean",
    TextType.BYTES: "binary",
}
_EMPTY: dict[TextType, Value] = {TextType.STRING: "", TextType.BYTES: b""}
_TRIES = 100
_LINE_END = re.compile("\r\n|\r|\n")


@dataclass(frozen=True)
class FileColumn:
    """One column in the file's order."""

    name: str
    type: TextType
    declared: TextColumn | None
    is_marker: bool = False

    @property
    def column_type(self) -> ColumnType:
        """The type that it has in a table (PROTOCOL §4.6)."""
        return ColumnType(_COLUMN_TYPES[self.type])


@dataclass(frozen=True)
class Cell:
    """One value, as it is written and as it must be read; `text` is what csv must read."""

    written: str
    value: Value
    text: str


@dataclass(frozen=True)
class TextFile:
    """A file, and everything that is known of it because it was drawn."""

    name: str
    dialect: Dialect
    declared: tuple[TextColumn, ...]
    columns: tuple[FileColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    first_lines: tuple[int, ...]
    """On which line of the file, from 1, each row begins: newlines in values count too."""
    content: bytes
    decoded: str

    @property
    def document(self) -> dict[str, Any]:
        """Its `_metadata.json`."""
        return self.dialect.document(self.declared)

    @property
    def values(self) -> list[dict[str, Value]]:
        """The rows by column name, without the row marker."""
        return [
            {
                column.name: cell.value
                for column, cell in zip(self.columns, row, strict=True)
                if not column.is_marker
            }
            for row in self.rows
        ]

    @property
    def marker(self) -> FileColumn | None:
        """The row marker column."""
        return next((column for column in self.columns if column.is_marker), None)

    @property
    def markers(self) -> list[str] | None:
        """Every row's marker as it is written."""
        places = [i for i, column in enumerate(self.columns) if column.is_marker]
        return [row[places[0]].text for row in self.rows] if places else None

    @property
    def texts(self) -> list[list[str]]:
        """Header and rows with their quotes taken off."""
        header = [column.name for column in self.columns]
        return [header, *([cell.text for cell in row] for row in self.rows)]


def generated(seed: int, number: int) -> TextFile:
    """The file of this seed and number; the number alone decides most of its dialect."""
    draw = random.Random(f"{seed}/{number}")
    return drawn_file(f"generated({seed}, {number})", dialect(number, draw), draw)


def drawn_file(name: str, of: Dialect, draw: random.Random) -> TextFile:
    """A file of random columns and rows in this dialect."""
    columns = tuple(_columns(of, draw))
    count = 0 if draw.random() < 0.03 else draw.randint(1, 300 if draw.random() < 0.02 else 14)
    rows = tuple(tuple(drawn_cell(c, of, draw) for c in columns) for _ in range(count))
    declared = [column.declared for column in columns if column.declared]
    if declared:
        # Neither the order nor every column need be that of the file.
        draw.shuffle(declared)
        if draw.random() < 0.2:
            declared.append(TextColumn("not in this file", TextType.INT32))
    return made(name, of, tuple(declared), columns, rows, draw)


def made(
    name: str,
    of: Dialect,
    declared: Sequence[TextColumn],
    columns: Sequence[FileColumn],
    rows: Sequence[Sequence[Cell]],
    draw: random.Random,
) -> TextFile:
    """A file of these cells."""
    lines = [of.separator.join(_header(column.name, of, draw) for column in columns)]
    blanks = draw.random() < 0.1 and len(columns) > 1
    first_lines = []
    here = 1 + _height(lines[0])
    for row in rows:
        if blanks and draw.random() < 0.3:
            lines.append("")  # a line of nothing, not even a row of NULL
            here += 1
        first_lines.append(here)
        lines.append(of.separator.join(cell.written for cell in row))
        here += _height(lines[-1])
    ends = [of.line_end] * len(lines)
    if len(columns) > 1 and not blanks and draw.random() < 0.1:
        ends = draw.choices(LINE_ENDS, k=len(lines))  # as in files that several programs wrote
    # Without its end, a last line of nothing would not be there.
    if not of.ended and lines[-1]:
        ends[-1] = ""
    decoded = "".join(line + end for line, end in zip(lines, ends, strict=True))
    decoded += 2 * of.line_end if blanks else ""
    data = of.encoding.mark + decoded.encode(of.encoding.codec)
    return TextFile(
        name=name,
        dialect=of,
        declared=tuple(declared),
        columns=tuple(columns),
        rows=tuple(tuple(row) for row in rows),
        first_lines=tuple(first_lines),
        content=packed(data, of.compression, draw),
        decoded=decoded,
    )


def _height(row: str) -> int:
    """How many lines a row takes."""
    return len(_LINE_END.findall(row)) + 1


def written(text: str, of: Dialect, draw: random.Random) -> str | None:
    """A text, not NULL, in this dialect; None when the dialect has no way to write it."""
    forms = []
    if _stands_bare(text, of):
        forms.append(text)
    if of.quote:
        forms.append(_quoted(text, of))
    return draw.choice(forms) if forms else None


def _stands_bare(text: str, of: Dialect) -> bool:
    if text == of.null or of.separator in text or _LINE_END.search(text):
        return False
    return not (of.quote and text.startswith(of.quote))


def _quoted(text: str, of: Dialect) -> str:
    if of.escape and of.escape != of.quote:
        escape = re.escape(of.escape)
        # Before anything else than a quote, an escape or the end, it may be written once.
        needs = f"(?=[{escape}{re.escape(of.quote)}]|\\Z)" if of.spares else ""
        text = re.sub(escape + needs, lambda match: 2 * match[0], text)
    before = of.quote if of.doubles else of.escape
    return of.quote + text.replace(of.quote, before + of.quote) + of.quote


def _header(name: str, of: Dialect, draw: random.Random) -> str:
    found = written(name, of, draw)
    assert found is not None, f"{name!r} was drawn for a dialect that cannot write it"
    return found


def drawn_cell(column: FileColumn, of: Dialect, draw: random.Random) -> Cell:
    """A value of this column, NULL now and then where that is allowed."""
    if column.is_marker:
        marker = draw.choice([m for m in _MARKERS if written(m, of, draw) is not None])
        return Cell(written(marker, of, draw) or "", marker, marker)
    nullable = column.declared is None or column.declared.nullable
    if draw.random() < (0.15 if nullable else 0.05):
        # IsNullable forbids nothing: deletes carry only their keys. But where an empty value may be
        # meant, it is no NULL.
        is_empty = not nullable and not of.null
        value = _EMPTY.get(column.type) if is_empty else None
        return Cell(of.null, value, of.null)
    for _ in range(_TRIES):
        value, text = spelled(column.type, draw, of.encoding.characters)
        found = written(text, of, draw)
        if found is not None:
            return Cell(found, value, text)
    # No time of day can be written without quotes where a colon separates.
    return Cell(of.null, _EMPTY.get(column.type) if not nullable and not of.null else None, of.null)


def _columns(of: Dialect, draw: random.Random) -> Iterator[FileColumn]:
    names = [name for name in _NAMES if _can_be_named(name, of, draw)]
    draw.shuffle(names)
    names = names[: 1 if draw.random() < 0.04 else draw.randint(2, 7)]
    has_schema = draw.random() < 0.85
    marker = draw.randint(0, len(names)) if draw.random() < 0.6 else None
    for place, name in enumerate(names):
        if place == marker:
            yield _marker(draw)
        if has_schema and draw.random() < 0.92:
            kind = draw.choice((TextType.STRING, *TextType))
            spelling = draw.choice((name, name, name.upper(), name.lower()))
            if len(spelling) != len(name):
                spelling = name
            declared = TextColumn(spelling, kind, draw.random() < 0.8)
            yield FileColumn(name, kind, declared)
        else:
            yield FileColumn(name, TextType.STRING, None)
    if marker == len(names):
        yield _marker(draw)


def _marker(draw: random.Random) -> FileColumn:
    return FileColumn(draw.choice(_MARKER_NAMES), TextType.STRING, None, is_marker=True)


def _can_be_named(name: str, of: Dialect, draw: random.Random) -> bool:
    try:
        name.encode(of.encoding.codec)
    except UnicodeEncodeError:
        return False
    return written(name, of, draw) is not None
