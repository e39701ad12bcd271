"""Row messages of one table, decoded into Arrow columns. Pure.

All messages of a call are read at once: numpy finds where each value lies, and each column is
gathered from there and converted as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.postgresql.pgoutput import row_message
from openmirror.cdc.postgresql.row_spans import (
    DELETE,
    INSERT,
    NULL,
    TRUNCATE,
    UNCHANGED,
    UPDATE,
    Flags,
    Numbers,
    RowSpans,
    ValueSpans,
    row_spans,
)
from openmirror.cdc.postgresql.shapes import ShapeColumn, TableShape
from openmirror.cdc.postgresql.value_stops import (
    key_is_null,
    key_title,
    value_invalid,
    value_unavailable,
)
from openmirror.cdc.postgresql.values import ValueRefused, to_arrow
from openmirror.protocol.names import ROW_MARKER_COLUMN
from openmirror.protocol.partial_updates import marker_of_partial_update
from openmirror.protocol.streams import StopReason

_UPSERT, _DELETE, _TRUNCATE = 4, 2, 100
_OPS: Final = ("c", "u", "d", "t")
_CREATED, _UPDATED, _DELETED, _TRUNCATED = range(4)
_PIECE_BYTES = 24 << 20
"""Messages that are decoded at once; one message may be larger by itself."""
_BESIDE = 48
"""Bytes that count for each message beside its own: what numpy has of a message without values."""


@dataclass(frozen=True)
class ChangeRows:
    """The rows that messages of one table become."""

    table: pa.Table
    """The shape's columns, then the marker. It is text where a row is a partial update."""
    source_row: pa.Array
    """The index of the message that each row comes from (int64)."""
    ops: pa.Array
    """The operation of each row: `c`, `u`, `d` or `t` (string)."""
    stop: tuple[int, StopReason] | None
    """The index of the first message that cannot be read, and why. Rows end before it."""


def change_rows(
    messages: Sequence[bytes],
    shape: TableShape,
    encoding: str,
    *,
    while_loading: bool,
    name_keys: bool = False,
) -> ChangeRows:
    """Return the rows of messages, up to the first message that cannot be read.

    An update that changes its row's key becomes two rows, a delete and an upsert.

    Args:
        messages: I, U and D messages of one table, in order, and `b"T"` for each truncate.
        shape: The shape of the Relation message before them.
        encoding: The server's encoding as `SHOW server_encoding` names it.
        while_loading: Whether an update may change the key and leave values out. Its rows then
            are a delete and a partial update, and the table's load finds the values.
        name_keys: Whether a reason names the key of the row that cannot be read.

    Raises:
        MalformedMessage: Bytes that contradict the protocol or the shape.
    """
    reader = _Reader(shape, encoding, while_loading, name_keys)
    found: list[ChangeRows] = []
    for first, piece in _pieces(messages):
        found.append(reader.read(piece, first))
        if found[-1].stop is not None:
            break
    return _joined(found or [reader.read((), 0)])


def _pieces(messages: Sequence[bytes]) -> Iterator[tuple[int, Sequence[bytes]]]:
    """Yield pieces of bounded size, each with the index of its first message."""
    if messages and sum(map(len, messages)) + _BESIDE * len(messages) <= _PIECE_BYTES:
        yield 0, messages
        return
    first, size = 0, 0
    for at, message in enumerate(messages):
        size += len(message) + _BESIDE
        if size > _PIECE_BYTES and at > first:
            yield first, messages[first:at]
            first, size = at, len(message) + _BESIDE
    if first < len(messages):
        yield first, messages[first:]


def _joined(parts: Sequence[ChangeRows]) -> ChangeRows:
    if len(parts) == 1:
        return parts[0]
    tables = [part.table for part in parts]
    if any(pa.types.is_string(t.schema.field(ROW_MARKER_COLUMN).type) for t in tables):
        tables = [_with_text_markers(table) for table in tables]
    return ChangeRows(
        pa.concat_tables(tables),
        pa.concat_arrays([part.source_row for part in parts]),
        pa.concat_arrays([part.ops for part in parts]),
        parts[-1].stop,
    )


def _with_text_markers(table: pa.Table) -> pa.Table:
    at = table.num_columns - 1
    return table.set_column(at, ROW_MARKER_COLUMN, table.column(at).cast(pa.string()))


@dataclass
class _Output:
    """Rows that messages become, before their values are read."""

    source: Numbers
    """The message of each row."""
    is_old: Flags
    """Whether a row removes an old key."""
    stop: tuple[int, StopReason] | None = None

    def stop_at(self, message: int, reason: StopReason) -> None:
        """Keep only the rows of messages before this one."""
        kept = int(np.searchsorted(self.source, message))
        self.source, self.is_old = self.source[:kept], self.is_old[:kept]
        self.stop = message, reason

    @property
    def is_plain(self) -> bool:
        """Whether each message has exactly one row."""
        count = len(self.source)
        return count == 0 or int(self.source[-1]) == count - 1


@dataclass(frozen=True)
class _Reader:
    shape: TableShape
    encoding: str
    while_loading: bool
    name_keys: bool

    def read(self, messages: Sequence[bytes], first: int) -> ChangeRows:
        """Return the rows of some messages, the first of which has this index."""
        spans = row_spans(messages, self.shape)
        new = self._filled(spans)
        is_changed = self._changed_keys(spans, new)
        output = _rows(spans, is_changed)
        absent = [(c, s.kind == UNCHANGED) for c, s in zip(self.shape.columns, new, strict=True)]
        absent = [(column, flags) for column, flags in absent if flags.any()]
        self._stop_at_unavailable(messages, spans, is_changed, absent, output)
        old = spans.old or (None,) * len(new)
        columns = [
            self._column(messages, column, values, before, spans, output)
            for column, values, before in zip(self.shape.columns, new, old, strict=True)
        ]
        # A later column may have stopped before rows that an earlier one has.
        columns = [column.slice(0, len(output.source)) for column in columns]
        names = [*(column.name for column in self.shape.columns), ROW_MARKER_COLUMN]
        table = pa.table([*columns, _markers(spans, output, absent)], names=names)
        stop = None if output.stop is None else (output.stop[0] + first, output.stop[1])
        return ChangeRows(table, pa.array(output.source + first), _ops(spans, output), stop)

    def _filled(self, spans: RowSpans) -> Sequence[ValueSpans]:
        """Return the new rows, with what they leave out taken from their old rows."""
        if not spans.old:
            return spans.new
        filled = []
        for column, new, old in zip(self.shape.columns, spans.new, spans.old, strict=True):
            # An old row that is not whole has NULL in every column that is not of the key.
            if self.shape.is_full or column.is_key:
                is_kept = (new.kind == UNCHANGED) & spans.has_old
                filled.append(old.where(is_kept, new) if is_kept.any() else new)
            else:
                filled.append(new)
        return filled

    def _changed_keys(self, spans: RowSpans, new: Sequence[ValueSpans]) -> Flags:
        """Return which messages are updates that change the text of a key."""
        changed = np.zeros(len(spans.operation), np.bool_)
        rows = np.flatnonzero(spans.has_old & (spans.operation == UPDATE))
        if len(rows):
            for column, after, before in zip(self.shape.columns, new, spans.old, strict=True):
                if column.is_key:
                    texts = [_gathered(spans, one.taken(rows)) for one in (before, after)]
                    differs = pc.fill_null(pc.not_equal(*texts), True)
                    changed[rows] |= differs.to_numpy(zero_copy_only=False)
        return changed

    def _stop_at_unavailable(
        self,
        messages: Sequence[bytes],
        spans: RowSpans,
        is_changed: Flags,
        absent: Sequence[tuple[ShapeColumn, Flags]],
        output: _Output,
    ) -> None:
        """Stop at the first message that leaves out a value that its rows cannot be without."""
        may = (spans.operation == UPDATE) & (self.while_loading | ~is_changed)
        found: list[tuple[int, ShapeColumn]] = []
        for column, is_absent in absent:
            wrong = is_absent if column.is_key else is_absent & ~may
            if wrong.any():
                found.append((int(np.argmax(wrong)), column))
        if found:
            row, column = min(found, key=lambda one: one[0])
            key = self._key(messages[row])
            output.stop_at(row, value_unavailable(self.shape, column.name, key))

    def _column(
        self,
        messages: Sequence[bytes],
        column: ShapeColumn,
        new: ValueSpans,
        old: ValueSpans | None,
        spans: RowSpans,
        output: _Output,
    ) -> pa.Array:
        """Return a column's values. The output stops at the first value that cannot be read."""
        while True:
            texts = _gathered(spans, _in_rows(column, new, old, output))
            if column.is_key and texts.null_count:
                is_row = pa.array((spans.operation != TRUNCATE)[output.source])
                keyless = pc.and_(is_row, pc.is_null(texts))
                row = pc.index(keyless, True).as_py()
                if row >= 0:
                    stop = key_is_null(self.shape, column.name)
                    output.stop_at(int(output.source[row]), stop)
                    continue
            try:
                return to_arrow(texts, column.reading, self.encoding)
            except ValueRefused as refused:
                row = int(output.source[refused.row])
                key = self._key(messages[row])
                output.stop_at(row, value_invalid(self.shape, column.name, refused.why, key))

    def _key(self, message: bytes) -> str | None:
        """Return the key of a message's row for people; None where no reason may name it."""
        if not self.name_keys:
            return None
        parsed = row_message(message)
        values = parsed.new or parsed.old or ()
        keys = {column.name: values[column.at] for column in self.shape.columns if column.is_key}
        return key_title(keys, self.encoding)


def _rows(spans: RowSpans, is_changed: Flags) -> _Output:
    """Return the rows of messages: two for an update that changes the key, else one."""
    is_deleted = spans.operation == DELETE
    if not is_changed.any():
        return _Output(np.arange(len(is_changed)), is_deleted)
    counts = 1 + is_changed
    source = np.repeat(np.arange(len(counts)), counts)
    is_old = is_deleted[source]
    is_old[(np.cumsum(counts) - counts)[is_changed]] = True
    return _Output(source, is_old)


def _in_rows(
    column: ShapeColumn, new: ValueSpans, old: ValueSpans | None, output: _Output
) -> ValueSpans:
    """Return where the values of a column's rows lie."""
    rows, is_old = output.source, output.is_old
    found = new if output.is_plain and len(rows) == len(new.kind) else new.taken(rows)
    if old is None or not is_old.any():
        return found
    if column.is_key:
        return old.taken(rows).where(is_old, found)
    return ValueSpans(np.where(is_old, NULL, found.kind), found.begin, found.end)


def _gathered(spans: RowSpans, values: ValueSpans) -> pa.Array:
    """Return texts that lie anywhere in the messages, as one binary array."""
    count = len(values.kind)
    if count == 0:
        return pa.array([], pa.binary())
    # Every second element of this array is a value; between two values lies what separates them.
    offsets = np.empty(2 * count, np.int32)
    offsets[0::2], offsets[1::2] = values.begin, values.end
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(spans.content)]
    every = pa.Array.from_buffers(pa.binary(), 2 * count - 1, buffers)
    is_text = values.is_text()
    wanted = np.arange(0, 2 * count, 2)
    return every.take(pa.array(wanted, mask=None if is_text.all() else ~is_text))


def _markers(
    spans: RowSpans, output: _Output, absent: Sequence[tuple[ShapeColumn, Flags]]
) -> pa.Array:
    """Return what each row does: integers, or texts where a row is a partial update."""
    is_truncate = (spans.operation == TRUNCATE)[output.source]
    codes = np.where(output.is_old, _DELETE, np.where(is_truncate, _TRUNCATE, _UPSERT))
    left_out = np.array([flags[output.source] & ~output.is_old for _, flags in absent])
    if not left_out.any():
        return pa.array(codes.astype(np.int32))
    patterns, which = np.unique(left_out, axis=1, return_inverse=True)
    texts = [
        marker_of_partial_update(
            column.name for (column, _), is_absent in zip(absent, pattern, strict=True) if is_absent
        )
        if pattern.any()
        else ""
        for pattern in patterns.T
    ]
    partial = pa.array(texts).take(pa.array(which.reshape(-1)))
    return pc.if_else(pa.array(left_out.any(axis=0)), partial, pa.array(codes).cast(pa.string()))


def _ops(spans: RowSpans, output: _Output) -> pa.Array:
    operation = spans.operation[output.source]
    codes = np.select(
        [output.is_old, operation == INSERT, operation == UPDATE],
        [_DELETED, _CREATED, _UPDATED],
        _TRUNCATED,
    )
    return pa.array(_OPS).take(pa.array(codes))
