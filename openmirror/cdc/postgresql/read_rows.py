"""Lines that COPY sent, as rows of a load, and keys as the server writes them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.cdc.postgresql.copied import copied_rows
from openmirror.cdc.postgresql.encodings import encoded
from openmirror.cdc.postgresql.load_state import KeyTexts
from openmirror.cdc.postgresql.partial_rows import RowKey, key_rows
from openmirror.cdc.postgresql.pgoutput import MalformedMessage
from openmirror.cdc.postgresql.placed_rows import COMMIT_COLUMN, NUMBER_COLUMN
from openmirror.cdc.postgresql.places import LogPlace
from openmirror.cdc.postgresql.ranges import SourceRows
from openmirror.cdc.postgresql.shapes import TableShape
from openmirror.cdc.postgresql.types import TextForm
from openmirror.cdc.postgresql.value_stops import key_title, value_invalid
from openmirror.cdc.postgresql.values import ValueRefused
from openmirror.cdc.stops import GIVE_WHOLE_ROWS
from openmirror.protocol.streams import StopCode, StopReason

_QUOTE, _COMMA = b'"', b","


class UnreadableRow(Exception):
    """A row that stops its table."""

    def __init__(self, stop: StopReason) -> None:
        super().__init__(stop.detail)
        self.stop = stop


def copied_tables(
    pieces: Iterable[bytes], shape: TableShape, source: SourceRows, *, name_keys: bool
) -> pa.Table:
    """Return lines of COPY as rows with the shape's columns.

    Raises:
        UnreadableRow: A value does not fit its column's type.
    """
    tables = []
    for piece in pieces:
        try:
            tables.append(copied_rows(piece, shape, source.encoding))
        except MalformedMessage as error:
            raise UnreadableRow(_undecodable(shape, error)) from error
        except ValueRefused as refused:
            line = _line(piece, refused.row)
            raise UnreadableRow(_invalid(line, refused, shape, source, name_keys)) from refused
    return pa.concat_tables(tables or [copied_rows(b"", shape, source.encoding)])


def key_of_line(line: bytes, places: Sequence[int]) -> KeyTexts:
    """Return the server's text of a line's key columns.

    Args:
        line: A line of CSV as the server writes it.
        places: Where the key columns stand, from 0.
    """
    fields = list(_fields(line, max(places) + 1))
    return tuple(fields[place] for place in places)


def reread_rows(rows: pa.Table, keys: Sequence[str], needed: Mapping[RowKey, LogPlace]) -> pa.Table:
    """Return the rows whose keys were asked for, each with the place that it stands for.

    The database may find a row of another text, such as `A` for `a` by `citext`; it is no answer.
    """
    found = [needed.get(key) for key in key_rows(rows, keys)]
    kept = rows.filter(pa.array([place is not None for place in found], pa.bool_()))
    places = [place for place in found if place is not None]
    commits = pa.array([place.commit for place in places], pa.int64())
    numbers = pa.array([place.number for place in places], pa.int64())
    return kept.append_column(COMMIT_COLUMN, commits).append_column(NUMBER_COLUMN, numbers)


def server_keys(keys: Sequence[RowKey], shape: TableShape, source: SourceRows) -> list[KeyTexts]:
    """Return keys as the server writes them, or reads them as the same.

    Args:
        keys: Values in the order of the shape's key columns.
        shape: The table's shape.
        source: The table's rows, which say the order of the key's index.

    Raises:
        UnreadableRow: A key column is an array, whose value is not written as the server does.
    """
    readings = {column.name: column.reading for column in shape.columns}
    if any(readings[name].form is TextForm.ARRAY for name in shape.keys):
        detail = (
            f"a row of table {shape.title} changed its key while the table was read, and the log "
            "leaves out its unchanged values"
        )
        raise UnreadableRow(StopReason(StopCode.VALUE_UNAVAILABLE, detail, GIVE_WHOLE_ROWS))
    order = [shape.keys.index(key.name) for key in source.keys]
    return [
        tuple(encoded(_text(key[at]), source.encoding, "replace") for at in order) for key in keys
    ]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return rf"\x{value.hex()}"
    # A float's shortest text is read as the same float again, also one of 32 bits.
    return str(value)


def _fields(line: bytes, count: int) -> Iterator[bytes]:
    """Yield the first fields of a line; NULL as an empty one."""
    at = 0
    for _ in range(count):
        if line[at : at + 1] == _QUOTE:
            end = line.index(_QUOTE, at + 1)
            while line[end + 1 : end + 2] == _QUOTE:
                end = line.index(_QUOTE, end + 2)
            yield line[at + 1 : end].replace(b'""', _QUOTE)
            at = end + 2
        else:
            end = line.find(_COMMA, at)
            end = len(line.rstrip(b"\n")) if end < 0 else end
            yield line[at:end]
            at = end + 1


def _line(piece: bytes, row: int) -> bytes:
    """Return one line of a piece; a line end within quotes ends none."""
    line, count = b"", 0
    for part in re.findall(rb"[^\n]*\n", piece):
        line += part
        if line.count(_QUOTE) % 2 == 0:
            if count == row:
                break
            line, count = b"", count + 1
    return line


def _undecodable(shape: TableShape, error: MalformedMessage) -> StopReason:
    detail = f"rows of table {shape.title} cannot be read: {error}"
    return StopReason(
        StopCode.RECORD_UNDECODABLE, detail, f"`openmirror cdc resnapshot {shape.title}`"
    )


def _invalid(
    line: bytes, refused: ValueRefused, shape: TableShape, source: SourceRows, name_keys: bool
) -> StopReason:
    places = [source.columns.index(key.name) for key in source.keys]
    texts = key_of_line(line, places)
    names = [key.name for key in source.keys]
    key = key_title(dict(zip(names, texts, strict=True)), source.encoding) if name_keys else None
    return value_invalid(shape, refused.column, refused.why, key)
