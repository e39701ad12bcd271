"""The rows of one file of delimited text, in file order, as typed record batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.formats.broken_rows import RowsBroken
from openmirror.formats.read_rows import ReadRows
from openmirror.formats.text.columns import Misfit, arrow_type, converted, shown, truncated
from openmirror.formats.text.dialect import Dialect
from openmirror.formats.text.pieces import TextPiece, header_of, pieces_of, refuse
from openmirror.formats.text.source import TextSource
from openmirror.formats.text.values import BLANKS
from openmirror.plan.read_rules import ReadRules
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.text_format import TextColumn, TextFormat


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
    header, line = header_of(source, dialect)
    names, count = dialect.names(header), len(header)
    columns = tuple(_Column(name, name == marker, text, rules, facts_schema) for name in names)
    for piece in pieces_of(source, dialect, count, line):
        yield _batch(piece, dialect, columns, count)


@dataclass(frozen=True)
class _Column:
    """One column of the header."""

    name: str
    is_marker: bool
    text: TextFormat
    rules: ReadRules
    facts_schema: TableSchema

    @cached_property
    def declared(self) -> TextColumn:
        return self.text.column(self.name)

    @cached_property
    def type(self) -> Any:
        of_table = self.facts_schema.find(self.name)
        if of_table is not None and of_table.type == "timestamp_ntz":
            return pa.timestamp("us")
        return pa.string() if self.is_marker else arrow_type(self.declared)

    def of(self, strings: Any) -> Any:
        """The column in its type; raises Misfit."""
        if self.is_marker:
            return pc.utf8_trim(strings, BLANKS)
        values = converted(strings, self.declared, self.text.null, self.rules.binary)
        return values.cast(self.type)

    def truncated(self, strings: Any) -> tuple[Any, int | None]:
        """The values with no more digits than tables hold, and the first row that lost some."""
        if self.is_marker or not self.rules.truncates(self.name):
            return strings, None
        return truncated(strings, self.declared)


def _batch(
    piece: TextPiece, dialect: Dialect, columns: tuple[_Column, ...], count: int
) -> ReadRows:
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
        kind = columns[number].declared.type
        line = piece.line_of(misfit.row, dialect, count)
        place = _place(line, columns[number], cut[number][misfit.row].as_py())
        detail = f"{place} does not fit {kind}: {misfit.why}"
        raise RowsBroken(Broken(Code.VALUE_INVALID, detail))
    fields = [pa.field(column.name, column.type) for column in columns]
    batch = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
    if not losses:
        return ReadRows(batch)
    row, number = min(losses)
    line = piece.line_of(row, dialect, count)
    place = _place(line, columns[number], cut[number][row].as_py())
    return ReadRows(batch, f"{place} is finer than a microsecond, and lost what is finer")


def _place(line: int, column: _Column, value: object) -> str:
    return f"line {line}, column {column.name!r}: {shown(value)}"


def _must_be_empty(strings: Any, piece: TextPiece, dialect: Dialect, count: int) -> None:
    """Behind the last name there is a separator, and behind each last value nothing but one."""
    is_null = pc.is_null(strings)
    is_wrong = (
        pc.or_kleene(is_null, pc.not_equal(strings, ""))
        if dialect.text.null
        else pc.invert(is_null)
    )
    row = pc.index(is_wrong, pa.scalar(True)).as_py()
    if row >= 0:
        line = piece.line_of(row, dialect, count)
        value = strings[row].as_py()
        text = shown(dialect.text.null if value is None else value)
        refuse(f"line {line} has {text} in column {count}, which the header gives no name")
