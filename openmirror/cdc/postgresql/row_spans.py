"""Where the values of many row messages lie in their bytes, found by numpy. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from openmirror.cdc.postgresql.pgoutput import MalformedMessage, row_message
from openmirror.cdc.postgresql.shapes import TableShape

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
TEXT, NULL, UNCHANGED = ord("t"), ord("n"), ord("u")
INSERT, UPDATE, DELETE, TRUNCATE = ord("I"), ord("U"), ord("D"), ord("T")
_KEY, _OLD, _NEW = ord("K"), ord("O"), ord("N")
_HEAD = 6
"""Bytes before the first row of a message: operation, relation, kind of the row."""
_BEHIND = 8
"""Bytes that are read beyond the last message, before its end is compared."""


class ValueSpans(NamedTuple):
    """Where one column's values lie, of as many messages as there are."""

    kind: npt.NDArray[np.uint8]
    """`t` for a text, `n` for NULL, `u` for an unchanged large value."""
    begin: Numbers
    end: Numbers

    def taken(self, rows: Numbers) -> ValueSpans:
        """Return the spans of some messages."""
        return ValueSpans(self.kind[rows], self.begin[rows], self.end[rows])

    def where(self, wanted: Flags, other: ValueSpans) -> ValueSpans:
        """Return these spans where wanted, and another column's elsewhere."""
        return ValueSpans(
            np.where(wanted, self.kind, other.kind),
            np.where(wanted, self.begin, other.begin),
            np.where(wanted, self.end, other.end),
        )

    def is_text(self) -> Flags:
        """Return which values have a text."""
        flags: Flags = self.kind == TEXT
        return flags


@dataclass(frozen=True)
class RowSpans:
    """Row messages of one table and shape, taken apart."""

    content: bytes
    """All messages, one after the other, and some bytes behind them."""
    operation: npt.NDArray[np.uint8]
    """`I`, `U`, `D` or `T` of each message."""
    has_old: Flags
    """Whether a message has an old row, or an old key."""
    new: tuple[ValueSpans, ...]
    """For each column of the shape; all NULL in messages without a new row."""
    old: tuple[ValueSpans, ...]
    """Likewise; empty where no message has an old row."""


def row_spans(messages: Sequence[bytes], shape: TableShape) -> RowSpans:
    """Take row messages apart; together they are shorter than 2 GiB.

    Args:
        messages: I, U and D messages of the shape, and `b"T"` for a truncate.
        shape: How their rows are sent.

    Raises:
        MalformedMessage: A message is no such message, or contradicts the shape.
    """
    content = b"".join([*messages, bytes(_BEHIND)])
    lengths = np.fromiter(map(len, messages), np.int64, len(messages))
    ends = np.cumsum(lengths)
    begins = ends - lengths
    walker = _Walker(messages, content, shape)
    operation = walker.byte(begins)
    walker.check((lengths > _HEAD) | ((operation == TRUNCATE) & (lengths == 1)))
    kind = walker.byte(begins + (_HEAD - 1))
    is_row = operation != TRUNCATE
    has_old = is_row & (kind == (_OLD if shape.is_full else _KEY))
    has_new = (operation == INSERT) | (operation == UPDATE)
    walker.check(~is_row | (walker.word(begins + 1) == shape.relation))
    walker.check(
        np.where(operation == INSERT, kind == _NEW, True)
        & np.where(operation == UPDATE, has_old | (kind == _NEW), True)
        & np.where(operation == DELETE, has_old, True)
        & np.isin(operation, (INSERT, UPDATE, DELETE, TRUNCATE))
    )
    starts = begins + _HEAD
    old: tuple[ValueSpans, ...] = ()
    if has_old.any():
        old, after = walker.walk(np.flatnonzero(has_old), starts, ends)
        is_update = operation == UPDATE
        walker.check(~has_old | np.where(is_update, walker.byte(after) == _NEW, after == ends))
        starts = np.where(has_old, after + 1, starts)
    new, after = walker.walk(np.flatnonzero(has_new), starts, ends)
    walker.check(~has_new | (after == ends))
    return RowSpans(content, operation, has_old, new, old)


class _Walker:
    """Reads at one position of each message at once."""

    def __init__(self, messages: Sequence[bytes], content: bytes, shape: TableShape) -> None:
        self._messages = messages
        self._bytes = np.frombuffer(content, np.uint8)
        # Words of four bytes that begin at every byte.
        self._words = np.ndarray((len(content) - 3,), ">u4", content, 0, (1,))
        self._shape = shape

    def byte(self, at: Numbers) -> npt.NDArray[np.uint8]:
        return self._bytes[at]

    def word(self, at: Numbers) -> Numbers:
        return self._words[at].astype(np.int64)

    def check(self, is_sound: Flags) -> None:
        """Raise for the first message that is not sound."""
        if not is_sound.all():
            self._refuse(int(np.argmin(is_sound)))

    def walk(
        self, rows: Numbers, starts: Numbers, ends: Numbers
    ) -> tuple[tuple[ValueSpans, ...], Numbers]:
        """Return the spans of the row that begins in some messages, and where each row ends.

        Spans and ends are those of all messages: in others, values are NULL.
        """
        is_all = len(rows) == len(starts)
        at, limit = (starts, ends) if is_all else (starts[rows], ends[rows])
        counts = self.word(at) >> 16
        self._check_some(counts == self._shape.sent, rows)
        at = at + 2
        wanted = {column.at for column in self._shape.columns}
        found = []
        for number in range(self._shape.sent):
            spans = self._value(at, limit, rows)
            at = spans.end
            if number in wanted:
                found.append(spans if is_all else _spread(spans, rows, starts))
        self._check_some(at <= limit, rows)
        if is_all:
            return tuple(found), at
        after = starts.copy()
        after[rows] = at
        return tuple(found), after

    def _value(self, at: Numbers, limit: Numbers, rows: Numbers) -> ValueSpans:
        # Nothing is read beyond a message's end but the bytes that stand behind the last one.
        self._check_some(at < limit, rows)
        kind = self._bytes[at]
        is_text = kind == TEXT
        if is_text.all():
            begin = at + 5
            end = begin + self._words[at + 1]
        else:
            self._check_some(is_text | (kind == NULL) | (kind == UNCHANGED), rows)
            begin = np.where(is_text, at + 5, at + 1)
            end = np.where(is_text, begin + self._words[at + 1], begin)
        self._check_some(end <= limit, rows)
        return ValueSpans(kind, begin, end)

    def _check_some(self, is_sound: Flags, rows: Numbers) -> None:
        if not is_sound.all():
            self._refuse(int(rows[np.argmin(is_sound)]))

    def _refuse(self, row: int) -> None:
        message, shape = self._messages[row], self._shape
        what = f"message {row} of {shape.title}"
        try:
            parsed = row_message(message)
        except MalformedMessage as error:
            raise MalformedMessage(f"{what}: {error}") from None
        counts = [len(values) for values in (parsed.old, parsed.new) if values is not None]
        raise MalformedMessage(
            f"{what}: {parsed.operation} of relation {parsed.relation} with {counts} columns and "
            f"old row {parsed.old_kind}; its Relation message was of relation {shape.relation} "
            f"with {shape.sent} columns, {'' if shape.is_full else 'not '}FULL"
        )


def _spread(spans: ValueSpans, rows: Numbers, starts: Numbers) -> ValueSpans:
    kind = np.full(len(starts), NULL, np.uint8)
    # Arrow wants offsets that never descend, also those of values that are NULL.
    begin, end = starts.copy(), starts.copy()
    kind[rows], begin[rows], end[rows] = spans
    return ValueSpans(kind, begin, end)
